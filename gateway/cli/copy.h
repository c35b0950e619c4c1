/* A file between this machine and a session's workspace, piece by piece by the
 * gateway's management socket. */
#ifndef HEARTH_GATEWAY_CLI_COPY_H
#define HEARTH_GATEWAY_CLI_COPY_H

#include "gateway/cli/mgmt.h"

#include <stdbool.h>

/* `path` is a text (workspace/name.h). `local`: a file, which appears when all
 * of it is there; "-": standard output. `may_grow`: what is appended meanwhile
 * is left out. Prints what failed. */
gateway_exit_t copy_out(mgmt_t *mgmt, const char *session, const char *path,
                        const char *local, bool may_grow);
/* `local` "-": standard input. */
gateway_exit_t copy_in(mgmt_t *mgmt, const char *session, const char *local,
                       const char *path, bool replaces);

#endif
