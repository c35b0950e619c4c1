/* Another program's answer. */
#ifndef HEARTH_GATEWAY_CLI_PROGRAM_H
#define HEARTH_GATEWAY_CLI_PROGRAM_H

#include "base/buffer.h"
#include "base/fault.h"

/* Runs argv[0] (a path, or a name to be found in PATH) with nothing to read;
 * what it prints goes to `ret_output` (1 MiB at most, a NUL behind it), what it
 * complains about nowhere. Returns its exit status, -ETIMEDOUT (it was killed),
 * or why it could not be started. */
int program_run(const char *const *argv, int timeout_ms, buffer_t *ret_output,
                fault_t *fault);
/* The path of an executable: in `folder` when it is there (may be NULL), else
 * in PATH; NULL when in neither. The caller frees it. */
char *program_find(const char *folder, const char *name);

#endif
