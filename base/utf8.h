/* UTF-8, one character at a time. What jspan_check does to every character that
 * a peer sends is inline. */
#ifndef HEARTH_BASE_UTF8_H
#define HEARTH_BASE_UTF8_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replaces what cannot be decoded or encoded. */
#define UTF8_REPLACEMENT 0xFFFDu

/* Returns true for a byte that is not the first of its character. */
static inline bool utf8_is_continuation(int byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Returns how many bytes a character has that begins with this byte; 0 if none
 * does. */
static inline size_t utf8_length(unsigned char lead)
{
    return lead < 0x80   ? 1
           : lead < 0xC2 ? 0
           : lead < 0xE0 ? 2
           : lead < 0xF0 ? 3
           : lead < 0xF5 ? 4
                         : 0;
}

/* Returns true if `next` may be the second byte after `lead`: not of an
 * overlong form, a surrogate or a code past U+10FFFF. */
static inline bool utf8_is_second(unsigned char lead, unsigned char next)
{
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

    return next >= low && next <= high;
}

/* Returns the bytes of the UTF-8 character of two to four bytes at `at`.
 * Returns 0 if it is torn, overlong, a surrogate or past U+10FFFF (RFC 3629,
 * section 4). */
static inline size_t utf8_size(const char *at, const char *end)
{
    unsigned char lead = (unsigned char) at[0];
    size_t size = utf8_length(lead);

    if (size < 2 || (size_t) (end - at) < size
        || !utf8_is_second(lead, (unsigned char) at[1]))
        return 0;
    for (size_t i = 2; i < size; i++)
        if (!utf8_is_continuation(at[i]))
            return 0;
    return size;
}

/* Returns the bytes of the character at `at`, ASCII too, and sets its code; 0
 * where utf8_size does. */
size_t utf8_decode(const char *at, const char *end, uint32_t *ret_code);

/* Returns the largest size up to `max` that cuts no character of the text,
 * which is longer than `max`. */
static inline size_t utf8_cut(const void *text, size_t max)
{
    while (max && utf8_is_continuation(((const char *) text)[max]))
        max--;
    return max;
}

/* Returns where the first character begins at `at` or after it; `size` if none
 * does. */
static inline size_t utf8_next(const void *text, size_t at, size_t size)
{
    while (at < size && utf8_is_continuation(((const char *) text)[at]))
        at++;
    return at;
}

/* Returns how much of the text is there without a character at its end that
 * is not complete. */
size_t utf8_whole(bytes_t text);

/* Appends the character; a code of half a pair or past U+10FFFF is the
 * caller's mistake. */
void utf8_append(buffer_t *out, uint32_t code);

#endif
