/* A file in memory, for a text that another process reads by its descriptor: no
 * list of processes and no folder shows it, and a message need not hold it. */
#ifndef HEARTH_BASE_MEMORY_FILE_H
#define HEARTH_BASE_MEMORY_FILE_H

#include "base/fault.h"

#include <stddef.h>

/* Returns the descriptor of a file that has these bytes, and that no process
 * can change any more. Its offset is the end. `name` is for /proc. */
int memory_file_new(const char *name, const void *bytes, size_t size,
                    fault_t *fault);

#endif
