/* The content of a model that a client sent, as the bytes of its file: text is
 * unescaped, base64 decoded, a notebook written with a line for each value, as
 * nbformat does. Piece by piece: memory does not grow with it. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENT_H
#define HEARTH_GATEWAY_HTTP_CONTENT_H

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

/* All zero but for the first two at the beginning. */
typedef struct {
    content_kind_t kind;
    json_span_t span; /* of checked JSON: a string, or a notebook's object */
    size_t at;        /* in the span */
    unsigned depth;   /* of the notebook's open arrays and objects */
    bool is_fresh;    /* the innermost one is empty as yet */
    bool is_string;   /* within a string of it */
    uint8_t quad[4];  /* of base64 */
    unsigned count;   /* of them */
    unsigned padding; /* '=' among them */
} content_t;

#define CONTENT_PIECE (256u << 10)

/* Appends about so many bytes. 1: there are more; 0: that was all; negative:
 * it is no such content, and the fault says why. */
int content_next(content_t *self, buffer_t *out, fault_t *fault);

#endif
