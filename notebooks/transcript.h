/* A journal folded into cells: what a notebook would show after everything has
 * run. Streams are merged, clear_output and display updates applied. */
#ifndef HEARTH_NOTEBOOKS_TRANSCRIPT_H
#define HEARTH_NOTEBOOKS_TRANSCRIPT_H

#include "base/buffer.h"
#include "notebooks/journal.h"

#include <jansson.h>

/* One execute_request and what came of it. */
typedef struct {
    uint64_t request;      /* its number; 0: a gap where requests are missing */
    uint64_t seq;          /* of its record */
    char *source;          /* owned; the code, or what the gap says */
    json_t *outputs;       /* owned; nbformat 4 outputs, text in one string */
    int64_t count;         /* execution_count; 0: none */
    int64_t asked_us;      /* wall clock: when the request came ... */
    int64_t ended_us;      /* ... and its reply was made; 0: not yet */
    char *started;         /* owned; ISO, when it began to run; NULL unknown */
    char *status;          /* owned; the reply's, NULL: none yet */
    char *stream;          /* owned; name of the stream that `text` is of */
    buffer_t text;         /* owned; stream text not yet in `outputs` */
    bool is_clear_waiting; /* clear_output(wait=True) came last */
} cell_t;

typedef struct {
    cell_t *cells;    /* owned */
    size_t count;     /* of them */
    size_t capacity;  /* room */
    json_t *displays; /* owned; by display_id: the outputs that show it */
    json_t *language; /* owned; language_info of the kernel, or NULL */
    char *end_state;  /* owned; why the session is gone, or NULL */
    int64_t end_us;   /* when */
} transcript_t;

void transcript_clear(transcript_t *self);
#define cleanup_transcript CLEANUP(transcript_clear)

/* Folds one record. Content that is not as it should be is left out. */
void transcript_add(transcript_t *self, const journal_record_t *record);
/* Puts what is still open into the cells' outputs. */
void transcript_finish(transcript_t *self);

#endif
