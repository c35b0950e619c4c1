/* Converts bytes of unknown origin into UTF-8 for stream events, and looks how
 * deep JSON is nested. All state is in the arguments. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_TEXT_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_TEXT_H

#include "base/buffer.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a decoder between two pieces: an unfinished character. */
typedef struct {
    uint8_t held[4]; /* the first bytes of a character */
    size_t size;     /* their number */
} text_decoder_t;

/* Appends the bytes as UTF-8. Invalid bytes become U+FFFD; a character that is
 * cut at the end waits for the next piece. */
void text_decode(text_decoder_t *self, const uint8_t *bytes, size_t size,
                 buffer_t *out);

/* How deep arrays and objects are nested in valid JSON, which comes in pieces.
 * All zero at the beginning. */
typedef struct {
    unsigned depth, deepest; /* here; and the most so far */
    bool is_in_string;
    bool is_escaped; /* the last byte was a backslash that escapes */
} text_depth_t;

void text_depth_add(text_depth_t *self, bytes_t piece);

#endif
