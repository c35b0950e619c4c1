/* Runs another program and reads its output. */
#ifndef HEARTH_GATEWAY_CLI_CORE_SUBPROCESS_H
#define HEARTH_GATEWAY_CLI_CORE_SUBPROCESS_H

#include "base/buffer.h"
#include "base/fault.h"

/* Runs argv[0] (a path, or a name to be found in PATH) without input. Its
 * stdout goes to `ret_output` (1 MiB at most, followed by a NUL); its stderr is
 * dropped. Returns its exit status, -ETIMEDOUT if it was killed, or why it
 * could not be started. */
int subprocess_run(const char *const *argv, int timeout_ms,
                   buffer_t *ret_output, fault_t *fault);
/* Returns the path of an executable, to be freed: in `folder` (may be NULL),
 * else in PATH; NULL if it is in neither. */
char *subprocess_find(const char *folder, const char *name);

#endif
