/* UTF-8, one character at a time. What json_check does to every character that
 * a peer sends is inline. */
#ifndef HEARTH_PROTOCOL_UTF8_H
#define HEARTH_PROTOCOL_UTF8_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the place of what cannot be said. */
#define UTF8_REPLACEMENT 0xFFFDu

static inline bool utf8_is_continuation(const char *at)
{
    return ((unsigned char) *at & 0xC0) == 0x80;
}

/* Bytes of the UTF-8 character of two to four bytes at `at`; 0 when it is
 * torn, overlong, a surrogate or past U+10FFFF (RFC 3629, section 4). */
static inline size_t utf8_size(const char *at, const char *end)
{
    unsigned char lead = (unsigned char) at[0];
    size_t size = lead < 0xC2   ? 0
                  : lead < 0xE0 ? 2
                  : lead < 0xF0 ? 3
                  : lead < 0xF5 ? 4
                                : 0;
    if (size == 0 || (size_t) (end - at) < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (!utf8_is_continuation(at + i))
            return 0;
    unsigned char second = (unsigned char) at[1];
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)
        || (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
        return 0;
    return size;
}

/* Appends the character; a code of half a pair or past U+10FFFF is the
 * caller's mistake. */
void utf8_append(buffer_t *out, uint32_t code);

#endif
