/* The outputs of one cell: messages folded into nbformat 4 outputs. Streams are
 * merged, clear_output is applied, and a display has its last form in the
 * newest DISPLAY_PLACES_MAX of its places. Content comes from kernels, which
 * may send any JSON. Members that nbformat does not permit are left out here,
 * so that later steps need not check. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_OUTPUT_LIST_H
#define HEARTH_NOTEBOOKS_FORMATS_OUTPUT_LIST_H

#include "base/buffer.h"
#include "notebooks/formats/display_places.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    json_t *list;              /* owned; the outputs */
    char *stream;              /* owned; name of the stream that `text` is of */
    buffer_t text;             /* owned; stream text not yet in `list` */
    display_places_t displays; /* owned; where they are in `list` */
    bool is_clear_waiting;     /* clear_output(wait=True) came last */
    uint64_t bytes;            /* about: of what is kept */
    uint64_t bytes_max;        /* more is not kept; 0: no bound */
    uint64_t cut_count;        /* outputs that were not */
    uint64_t cut_bytes;        /* of them */
    uint64_t cut_seq;          /* the first one's record */
} output_list_t;

void output_list_clear(output_list_t *self);

/* Adds the output of one message in the record `seq`; its content has `size`
 * bytes. Messages of types that are no outputs are ignored. */
void output_list_add(output_list_t *self, uint64_t seq, const char *type,
                     json_t *content, size_t size);
/* Says that the journal gave up outputs here. */
void output_list_add_gap(output_list_t *self, long long records,
                         long long bytes);
/* Ends the list. Returns the array, which the caller owns. */
json_t *output_list_finish(output_list_t *self);

/* Returns the members of an output that an update of its display changes. */
json_t *output_list_form(const json_t *content);
/* Returns the last output, lent; NULL without outputs. A stream counts once
 * another output follows it. */
json_t *output_list_last(const output_list_t *self);

/* Returns true if nbformat permits any JSON as a value of the type. */
bool is_json_type(const char *mime);

#endif
