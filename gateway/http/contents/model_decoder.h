/* The content of a model that a client sent, as the bytes of its file: text is
 * unescaped, base64 decoded, a notebook written with a line for each value, as
 * nbformat does. Piece by piece: memory does not grow with it. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_MODEL_DECODER_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_MODEL_DECODER_H

/* Before jansson.h: both have a json_is_integer, there a macro. */
#include "protocol/json.h"

#include "base/buffer.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CONTENT_NOTHING,
    CONTENT_TEXT,
    CONTENT_BASE64,
    CONTENT_NOTEBOOK,
} content_kind_t;

/* All zero but for the kind and where it is at the beginning. */
typedef struct {
    content_kind_t kind;
    json_span_t span;   /* of checked JSON: a string, or a notebook's object */
    bool has_file;      /* it is the whole of a file instead ... */
    int file;           /* ... this one; borrowed */
    uint64_t file_size; /* bytes of it */
    buffer_t window;    /* what was read of it last, the span then ... */
    uint64_t before;    /* ... and how many bytes stand before that */
    size_t at;          /* in the span */
    unsigned depth;     /* of the notebook's open arrays and objects */
    bool is_fresh;      /* the innermost one is empty as yet */
    bool is_string;     /* within a string of it */
    uint8_t quad[4];    /* of base64 */
    unsigned count;     /* of them */
    unsigned padding;   /* '=' among them */
} content_t;

#define CONTENT_PIECE (256u << 10)

/* Appends about so many bytes, one at least while there are more. 1: there
 * are; 0: that was all; -EINVAL: it is no such content, and the fault says
 * why; others: the file cannot be read. */
int content_next(content_t *self, buffer_t *out, fault_t *fault);
/* Frees what was read of a file. */
void content_reset(content_t *self);

#endif
