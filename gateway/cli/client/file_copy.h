/* A file between this machine and a session's workspace, piece by piece by the
 * gateway's management socket. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_FILE_COPY_H
#define HEARTH_GATEWAY_CLI_CLIENT_FILE_COPY_H

#include "gateway/cli/client/management_client.h"

#include <stdbool.h>

/* Returns a path from the command line as UTF-8 text, the caller's. Other
 * bytes, which JSON cannot carry, are escaped; escapes are unchanged. NULL: it
 * cannot be a path, and why was printed. */
char *file_copy_path(const char *operand);

/* Copies a file out of a workspace. `path` is a text (workspace/name.h).
 * `local` is a file, which appears when it is complete, or "-" for standard
 * output. With `may_grow`, bytes that are appended meanwhile are left out.
 * Prints errors. */
gateway_exit_t file_copy_out(management_client_t *management,
                             const char *session, const char *path,
                             const char *local, bool may_grow);
/* Copies a file into a workspace. `local` is a file, or "-" for standard input.
 * `replaces` permits to replace a file at `path`. Prints errors. */
gateway_exit_t file_copy_in(management_client_t *management,
                            const char *session, const char *local,
                            const char *path, bool replaces);

#endif
