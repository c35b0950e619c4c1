/* Converts bytes of unknown origin into UTF-8 for stream events. All state is
 * in the arguments. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_TEXT_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_TEXT_H

#include "base/buffer.h"

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

/* Returns the nesting depth of arrays and objects in valid JSON. */
unsigned text_json_depth(const char *json, size_t size);

#endif
