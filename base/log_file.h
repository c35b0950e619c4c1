/* The file that the log goes to, if this process was started with its output in
 * a file. */
#ifndef HEARTH_BASE_LOG_FILE_H
#define HEARTH_BASE_LOG_FILE_H

#include "base/fault.h"

#include <stdbool.h>

/* Returns true if standard error is the file of that path. */
bool log_file_is(const char *path);
/* Redirects standard output and standard error to the file of that path, which
 * is made if it does not exist: a log rotation has moved the other file away.
 */
int log_file_reopen(const char *path, fault_t *fault);

#endif
