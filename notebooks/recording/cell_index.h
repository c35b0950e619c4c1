/* Which cells a journal holds, their order, and the record that completes each.
 * They are found by a first reading, so that a second one can write every cell
 * as soon as nothing can change it any more. It is small: the numbers of each
 * cell, and the place of each display's last form. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_CELL_INDEX_H
#define HEARTH_NOTEBOOKS_RECORDING_CELL_INDEX_H

#include "base/cleanup.h"
#include "notebooks/formats/display_places.h"
#include "notebooks/journal/reader.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct {
    uint64_t seq;      /* of the record that begins it */
    uint64_t request;  /* its number; 0: a note, or a gap */
    uint64_t before;   /* a note: the request that it belongs to; 0: none */
    uint64_t last_seq; /* of the last record that adds to it */
    uint64_t begun;    /* seq of the record that a kernel began it; 0: none */
    bool is_call;      /* a note of what a client got from outside */
} cell_index_cell_t;

/* The last form of a display that is shown under an id. */
typedef struct {
    uint64_t seq; /* of the record that has it */
    journal_mark_t mark;
    uint64_t
        places[DISPLAY_PLACES_MAX]; /* seqs of the newest outputs; a ring */
    size_t place_count;             /* of all its outputs */
} cell_index_display_t;

typedef struct {
    cell_index_cell_t *cells; /* owned; by seq, and by request */
    size_t count;             /* of them */
    size_t capacity;          /* room */
    size_t *order;            /* owned; indexes in the order of the notebook */
    uint64_t request_last;    /* the highest number so far */
    uint64_t seq_last;        /* of the last record */
    uint64_t cut_from;        /* of the first records that were lost, as a */
    uint64_t cut_to;          /* gateway found when it came back; 0: none */
    json_t *display_ids;      /* owned; id -> index */
    cell_index_display_t *displays; /* owned */
    size_t display_count;           /* of them */
} cell_index_t;

void cell_index_clear(cell_index_t *self);
#define cleanup_cell_index CLEANUP(cell_index_clear)

/* Reads the whole journal. Returns -EBADMSG if it is damaged; the index then
 * has the cells before the damage. */
int cell_index_make(cell_index_t *self, journal_reader_t *reader,
                    fault_t *fault);

/* Returns the index of the cell that the record begins, or that the request
 * made; -1 if it is of no cell. */
long cell_index_at(const cell_index_t *self, uint64_t seq);
long cell_index_of(const cell_index_t *self, uint64_t request);
/* Returns where the display's last form is; NULL if it was shown once. */
const cell_index_display_t *cell_index_display(const cell_index_t *self,
                                               const char *id);
/* Returns true if the output of the record shows the display's last form: it is
 * one of the newest outputs under its id. */
bool cell_index_shows_last(const cell_index_display_t *display, uint64_t seq);

#endif
