/* Text on its way into stream events: bytes of unknown origin become UTF-8,
 * UTF-8 becomes the inside of a JSON string. No state but what is passed in. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_TEXT_H
#define HEARTH_KERNELS_HEARTH_KERNEL_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a decoder remembers between two pieces: an unfinished character. */
typedef struct {
    uint8_t held[4]; /* its first bytes */
    size_t size;     /* how many of them there are */
} text_decoder_t;

/* Appends the bytes as UTF-8. What is none becomes U+FFFD; a character that
 * is cut at the end waits for the next piece. */
void text_decode(text_decoder_t *self, const uint8_t *bytes, size_t size,
                 buffer_t *out);

/* Appends UTF-8 with everything escaped that JSON wants escaped; no quotes. */
void text_escape(const char *text, size_t size, buffer_t *out);

/* The largest length up to `max` that does not cut a character of the UTF-8
 * text, which is longer than `max`. */
size_t text_cut(const char *text, size_t max);

/* How deep arrays and objects nest in valid JSON. */
unsigned text_json_depth(const char *json, size_t size);

#endif
