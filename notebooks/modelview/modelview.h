/* A cell's outputs as a language model reads them. They are one block of text,
 * which begins with a line about the cell and the session's state, and the
 * images. Terminal sequences are resolved, repeated lines folded, tracebacks
 * folded to the frames that matter, and the rest is cut to a budget of tokens.
 * The error is never cut. docs/reference/model-view.md is the contract with
 * models. Pure functions on memory: time and memory are linear in the
 * outputs. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_MODELVIEW_H
#define HEARTH_NOTEBOOKS_MODELVIEW_MODELVIEW_H

#include "base/buffer.h"
#include "notebooks/modelview/read_hint.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODELVIEW_TOKENS     4000   /* of the text, unless asked otherwise */
#define MODELVIEW_TOKENS_MAX 100000 /* more is not given at once */
#define MODELVIEW_REF_SIZE   48     /* "out:C.N" and a NUL */
#define MODELVIEW_IMAGE_MAX                                                    \
    (256u << 10)                         /* bytes of one image that is given   \
                                          */
#define MODELVIEW_IMAGES_MAX  4          /* images that are given at once */
#define MODELVIEW_IMAGE_BYTES (1u << 20) /* of them together */
#define MODELVIEW_SIDE_MAX    1568       /* pixels of an image's longer side */

typedef enum {
    MODELVIEW_OK,      /* it ended */
    MODELVIEW_ERROR,   /* it raised */
    MODELVIEW_QUEUED,  /* it has not begun */
    MODELVIEW_RUNNING, /* it goes on */
    MODELVIEW_ASKING,  /* it waits for input */
    MODELVIEW_TIMEOUT, /* it was interrupted at its time limit */
    MODELVIEW_LOST,    /* its kernel ended before it, or there is no session */
} modelview_status_t;

/* A loss of the session's variables. */
typedef struct {
    int64_t wall_us;     /* when; 0: not known */
    const char *cause;   /* borrowed; a part of a sentence; or NULL */
    const json_t *names; /* borrowed; list of the variables; or NULL */
    size_t more;         /* variables beyond those */
    bool is_incomplete;  /* there may be others: the journal is damaged */
    bool is_reviving;    /* a client restores them */
    bool are_files_kept;
} modelview_loss_t;

/* Returns the loss that a session reports (loss_notice_write), borrowed from
 * there. Members of another type are left out. */
modelview_loss_t modelview_read_loss(const json_t *lost);

/* A cell and what came of it. Whatever is borrowed must live as long as the
 * view that is made from it. */
typedef struct {
    modelview_status_t status;
    long long cell;          /* its number, as in Out[N]; 0: none yet */
    int64_t duration_us;     /* that it took, or takes so far; < 0: not known */
    read_hint_t reading;     /* the session, and how more of it is read */
    bool is_new_session;     /* it was made for this cell */
    const json_t *outputs;   /* borrowed; list of nbformat 4 outputs, or NULL */
    const json_t *reply;     /* borrowed; content of the reply, or NULL */
    const json_t *namespace; /* borrowed; difference of variables, or NULL */
    const modelview_loss_t *loss; /* borrowed; NULL: nothing is lost */
    const char *hint;  /* borrowed; what to do next, ends the header; or NULL */
    size_t tokens_max; /* about; 0: MODELVIEW_TOKENS */
} modelview_cell_t;

typedef struct {
    char ref[MODELVIEW_REF_SIZE];
    const char *mime;       /* borrowed from the outputs */
    const char *base64;     /* borrowed from the outputs */
    size_t base64_size;     /* characters */
    size_t size;            /* bytes, decoded */
    unsigned width, height; /* 0: not known */
    bool is_inline;         /* to be given with the text; else by a link */
} modelview_image_t;

typedef struct {
    buffer_t text;             /* owned; UTF-8 without a newline at its end */
    modelview_image_t *images; /* owned; in the order in which they came */
    size_t image_count;        /* of them */
    bool is_error;             /* it raised, timed out or was lost */
} modelview_t;

void modelview_clear(modelview_t *self);
#define cleanup_modelview CLEANUP(modelview_clear)

/* Makes the view; what *ret_view had is not freed. */
void modelview_make(const modelview_cell_t *cell, modelview_t *ret_view);

/* --- More of an output that was cut --- */

typedef struct {
    unsigned long long from_line; /* 1 is the first; 0: the first */
    unsigned long long lines;     /* at most; 0: what fits */
    const char *grep;    /* borrowed; only lines that match; NULL: all lines */
    size_t tokens_max;   /* about; 0: MODELVIEW_TOKENS */
    read_hint_way_t way; /* of its client, which names the next line */
} modelview_range_t;

/* Sentences about a reference that is not valid, and about a missing cell. */
#define MODELVIEW_NO_REF                                                       \
    "%.60s is not a reference; one looks like out:7.2, or process:3"
#define MODELVIEW_NO_CELL                                                      \
    "the session has no cell %lld, or its outputs are no longer kept"

/* Reads "out:C.N", also without "out:"; false if it is no reference. */
bool modelview_read_ref(const char *text, long long *ret_cell,
                        size_t *ret_output);
/* Reads "process:N", which names the output of a program beside the kernel;
 * false if it is something else. */
bool modelview_read_process_ref(const char *text, uint64_t *ret_number);

/* Appends the lines of one output (1 is the first of `outputs`) to *out. A
 * first line says which lines they are and how to go on. Returns -ENOENT if
 * there is no such output, -EINVAL if the pattern is wrong; then *out has the
 * sentence. */
int modelview_read_output(const json_t *outputs, long long cell, size_t output,
                          const modelview_range_t *range, buffer_t *out);

/* Does the same with the text of the program `number` beside the kernel. `gone`
 * has lines about bytes that are gone and is appended first, unless the pattern
 * is wrong. Then this returns -EINVAL. */
int modelview_read_process(uint64_t number, bytes_t text, bytes_t gone,
                           const modelview_range_t *range, buffer_t *out);

/* Finds the image of an output, whatever its size; false if it has none. */
bool modelview_image(const json_t *outputs, long long cell, size_t output,
                     modelview_image_t *ret_image);
/* Appends the image's bytes to *out. Returns false if it is not valid base64.
 */
bool modelview_image_bytes(const modelview_image_t *image, buffer_t *out);

#endif
