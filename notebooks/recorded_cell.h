/* A cell while its records come in: one execute_request and what came of it,
 * a note, or a gap. */
#ifndef HEARTH_NOTEBOOKS_RECORDED_CELL_H
#define HEARTH_NOTEBOOKS_RECORDED_CELL_H

#include "notebooks/journal/writer.h"
#include "notebooks/notebook.h"
#include "notebooks/output_list.h"

typedef struct {
    notebook_cell_t cell;  /* what is known of it */
    output_list_t outputs; /* so far */
    json_t *timing;        /* owned; Jupyter's "execution" */
    json_t *notes;         /* owned; our own metadata */
    int64_t began_us;      /* when it began to run, else when it was asked */
} recorded_cell_t;

/* Of the record that begins it. */
recorded_cell_t *recorded_cell_new(const journal_record_t *record,
                                   json_t *content);
void recorded_cell_destroy(recorded_cell_t **self_p);
#define cleanup_recorded_cell CLEANUP(recorded_cell_destroy)

/* A further record of it; `content` is its own, parsed. */
void recorded_cell_add(recorded_cell_t *self, const journal_record_t *record,
                       json_t *content);
/* What somebody answered to its input(); `content` of the journal's state. */
void recorded_cell_answer(recorded_cell_t *self, const json_t *content);
/* No more comes: the cell is the caller's. */
void recorded_cell_finish(recorded_cell_t *self, notebook_cell_t *ret_cell);

/* The part as a JSON object; NULL when it is none. The caller's. */
json_t *record_object(journal_part_t part);
/* A time of day as Jupyter writes it. The caller's. */
json_t *record_time(int64_t wall_us);

#endif
