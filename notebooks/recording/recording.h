/* A session's journal as a notebook, cell by cell. The journal is read twice
 * (cell_index.h), so that memory holds only cells that are not complete.
 * Finished ones that wait for an earlier one go to a temporary file. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_RECORDING_H
#define HEARTH_NOTEBOOKS_RECORDING_RECORDING_H

#include "base/fault.h"
#include "notebooks/formats/notebook.h"
#include "notebooks/formats/redact.h"
#include "notebooks/journal/record.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const uint8_t *key;   /* the journal's, 32 bytes, or NULL */
    const redact_t *mask; /* what is hidden; NULL: nothing */
    const char *session;  /* its id, for the notebook's metadata; or NULL */
    bool is_whole;        /* with what a notebook does not show, for a replay */
} recording_options_t;

/* Takes each cell, in the notebook's order; what is left of it is freed. */
typedef int recording_sink_fn(notebook_cell_t *cell, void *arg, fault_t *fault);

/* Data that is known after the last cell. */
typedef struct {
    json_t *metadata;    /* owned; of the notebook */
    journal_head_t head; /* of the journal, as far as it was read */
} recording_end_t;

void recording_end_clear(recording_end_t *self);
#define cleanup_recording_end CLEANUP(recording_end_clear)

/* Passes every cell to `sink`. Returns -EBADMSG if the journal is damaged or
 * cut off; the cells before were passed, *ret_end is set, and its metadata says
 * so. */
int recording_read(const char *journal_folder,
                   const recording_options_t *options, recording_sink_fn *sink,
                   void *arg, recording_end_t *ret_end, fault_t *fault);

/* Reads a recording into memory, for replay and comparison. Returns -EBADMSG if
 * the journal is damaged; the notebook then has the cells before the damage,
 * and the caller clears it. After any other failure there is nothing to clear.
 */
int recording_notebook(const char *journal_folder,
                       const recording_options_t *options,
                       notebook_t *ret_notebook, fault_t *fault);

#endif
