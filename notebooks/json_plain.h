/* Which bytes of a JSON string stand for themselves, 8 at a time: notebooks are
 * mostly such bytes. Inline, because it is called for each line. */
#ifndef HEARTH_NOTEBOOKS_JSON_PLAIN_H
#define HEARTH_NOTEBOOKS_JSON_PLAIN_H

#include <stdint.h>
#include <string.h>

/* Returns a place up to which all bytes are ASCII, and no control character,
 * quote or backslash; fewer than 8 of these may follow it. */
static inline const char *json_plain(const char *at, const char *end)
{
    const uint64_t each = UINT64_C(0x0101010101010101);

    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t controls = word - each * 0x20;
        uint64_t quotes = (word ^ each * '"') - each;
        uint64_t escapes = (word ^ each * '\\') - each;
        if ((controls | quotes | escapes | word) & each * 0x80)
            break;
    }
    return at;
}

#endif
