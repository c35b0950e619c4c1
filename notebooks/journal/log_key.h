/* The secrets by which what is only ever appended to is chained, so that a
 * change shows: one for all journals, one for the audit log. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_LOG_KEY_H
#define HEARTH_NOTEBOOKS_JOURNAL_LOG_KEY_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_KEY_SIZE 32

/* Reads a key from its file. If there is no file and `makes` is set, a random
 * key is written to a new one of mode 0600. -ENOENT if there is no file
 * otherwise. -EINVAL if the file has another size than a key. */
int log_key_read(const char *path, bool makes, uint8_t ret_key[LOG_KEY_SIZE],
                 fault_t *fault);

#endif
