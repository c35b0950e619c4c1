/* A session's journal as a notebook. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_H
#define HEARTH_NOTEBOOKS_RECORDING_H

#include "base/fault.h"
#include "notebooks/notebook.h"

#include <stdint.h>

typedef struct {
    const uint8_t *key; /* the journal's, 32 bytes, or NULL */
} recording_options_t;

/* All of it in memory: for replay and comparison. -EBADMSG: the journal is
 * damaged; the notebook holds what stands before the damage, and is to be
 * cleared. After any other failure nothing is. */
int recording_notebook(const char *journal_folder,
                       const recording_options_t *options,
                       notebook_t *ret_notebook, fault_t *fault);

#endif
