/* Converts the content of a model that a client sent into the bytes of its
 * file: text is unescaped, base64 decoded, a notebook written with one line per
 * value, as nbformat does. It works piece by piece, without a second copy. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_MODEL_DECODER_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_MODEL_DECODER_H

#include "protocol/jspan.h"

#include "base/buffer.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    MODEL_DECODER_NOTHING,
    MODEL_DECODER_TEXT,
    MODEL_DECODER_BASE64,
    MODEL_DECODER_NOTEBOOK,
} model_decoder_kind_t;

/* Initialised to zero, except for kind and span. */
typedef struct {
    model_decoder_kind_t kind;
    jspan_t span;     /* of checked JSON: a string or a notebook */
    size_t at;        /* in the span */
    unsigned depth;   /* of the notebook's open arrays and objects */
    bool is_fresh;    /* the innermost one is still empty */
    bool is_string;   /* in a string of the notebook */
    uint8_t quad[4];  /* group of base64 */
    unsigned count;   /* letters in the group */
    unsigned padding; /* '=' in the group */
} model_decoder_t;

#define MODEL_DECODER_PIECE (256u << 10)

/* Appends about MODEL_DECODER_PIECE bytes, at least one while there are more.
 * Returns 1 if there are more, 0 if this was all, -EINVAL if the content is
 * invalid; the fault says why. */
int model_decoder_next(model_decoder_t *self, buffer_t *out, fault_t *fault);

#endif
