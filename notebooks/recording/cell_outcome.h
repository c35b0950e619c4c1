/* The outputs and the reply of one cell, read from its session's journal. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_CELL_OUTCOME_H
#define HEARTH_NOTEBOOKS_RECORDING_CELL_OUTCOME_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    json_t *outputs;  /* owned; list of nbformat 4 outputs */
    json_t *reply;    /* owned; its content, NULL without one */
    json_t *metadata; /* owned; of the reply, NULL without one */
    json_t *lost;     /* owned; the loss of variables that its client got with
                         it, {"cause","at","names","more"}; or NULL */
    int64_t began_us; /* wall clock; when it began, 0: it has not */
    int64_t ended_us; /* of its reply; 0: it has none */
    long long count;  /* its number, as in Out[N]; 0: none yet */
} cell_outcome_t;

void cell_outcome_clear(cell_outcome_t *self);
#define cleanup_cell_outcome CLEANUP(cell_outcome_clear)

/* Where a cell's records are. */
typedef struct {
    const char *folder;  /* borrowed; the journal's */
    const uint8_t *key;  /* borrowed; the journal's, LOG_KEY_SIZE bytes */
    uint64_t request;    /* the request's number */
    journal_mark_t mark; /* a record of it that comes early; segment 0: none */
} cell_outcome_place_t;

/* Finds the newest cell with that number. Sets the request and the mark of
 * *place, whose journal is given. Returns -ENOENT if no cell has the number,
 * and another failure if the journal cannot be read. */
int cell_outcome_find(cell_outcome_place_t *place, long long count,
                      fault_t *fault);
/* Reads the records of a cell, as far as there are any. Returns -ENOENT if none
 * is kept any more, also not its reply if `must_have_reply`. */
int cell_outcome_read(const cell_outcome_place_t *place, bool must_have_reply,
                      cell_outcome_t *ret_outcome);

/* Appends the pages in a reply's content, such as the help of `print?`, to the
 * outputs, where a view shows them. `reply` may be NULL. */
void cell_outcome_add_pages(json_t *outputs, const json_t *reply);

#endif
