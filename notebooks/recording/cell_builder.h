/* Builds a cell while its records come in: one execute_request and its results,
 * a note, or a gap. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_CELL_BUILDER_H
#define HEARTH_NOTEBOOKS_RECORDING_CELL_BUILDER_H

#include "notebooks/formats/notebook.h"
#include "notebooks/formats/output_list.h"
#include "notebooks/journal/record.h"

typedef struct {
    notebook_cell_t cell;  /* what is known so far */
    output_list_t outputs; /* so far */
    json_t *timing;        /* owned; Jupyter's "execution" */
    json_t *notes;         /* owned; hearth's own metadata */
    int64_t began_us;      /* start of its run, or of the request */
} cell_builder_t;

/* Begins a cell with its first record. */
cell_builder_t *cell_builder_new(const journal_record_t *record,
                                 json_t *content);
void cell_builder_destroy(cell_builder_t **self_p);
#define cleanup_cell_builder CLEANUP(cell_builder_destroy)

/* Adds a further record; `content` is its content, parsed, of `size` bytes: of
 * a display it may have a later form. */
void cell_builder_add(cell_builder_t *self, const journal_record_t *record,
                      json_t *content, size_t size);
/* Adds a client's answer to the cell's input(); `content` is the content of the
 * journal's state record. */
void cell_builder_answer(cell_builder_t *self, const json_t *content);
/* Adds a call of a host tool, or the answer to one, by the journal's state
 * record and its content. */
void cell_builder_call(cell_builder_t *self, const journal_record_t *record,
                       const json_t *content);
void cell_builder_called(cell_builder_t *self, const journal_record_t *record,
                         const json_t *content);
/* Ends the cell, which is then the caller's. */
void cell_builder_finish(cell_builder_t *self, notebook_cell_t *ret_cell);

/* Returns the part as a JSON object, for the caller to free; NULL if it is not
 * an object. */
json_t *record_object(bytes_t part);
/* Returns a time as Jupyter writes it, for the caller to free. */
json_t *record_time(int64_t wall_us);

#endif
