/* The secrets by which what is only ever appended to is chained, so that a
 * change shows: one for all journals, one for the audit log. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_LOG_KEY_H
#define HEARTH_NOTEBOOKS_JOURNAL_LOG_KEY_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_KEY_SIZE 32

/* Out of a file of mode 0600; `makes` it, at random, when there is none.
 * -EINVAL: the file holds something else. */
int log_key_read(const char *path, bool makes, uint8_t ret_key[LOG_KEY_SIZE],
                 fault_t *fault);

#endif
