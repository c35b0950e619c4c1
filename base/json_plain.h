/* Which bytes of JSON are white space and digits, and which of a string stand
 * for themselves. Most do, so that they are looked at 8 and 32 at a time;
 * inline, because each byte is. */
#ifndef HEARTH_BASE_JSON_PLAIN_H
#define HEARTH_BASE_JSON_PLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool json_is_space(int byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static inline bool json_is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

/* Sets the high bit of some of the 8 bytes unless all are ASCII, and no control
 * character, quote or backslash. */
static inline uint64_t json_not_plain(const char *at)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t word;

    memcpy(&word, at, sizeof word);
    uint64_t controls = word - each * 0x20;
    uint64_t quotes = (word ^ each * '"') - each;
    uint64_t escapes = (word ^ each * '\\') - each;
    return (controls | quotes | escapes | word) & each * 0x80;
}

/* Returns a place up to which all bytes are ASCII, and no control character,
 * quote or backslash; fewer than 8 of these may follow it. */
static inline const char *json_plain(const char *at, const char *end)
{
    /* Most strings are short. */
    if (end - at >= 8 && json_not_plain(at) != 0)
        return at;
    while (end - at >= 32
           && (json_not_plain(at) | json_not_plain(at + 8)
               | json_not_plain(at + 16) | json_not_plain(at + 24))
                  == 0)
        at += 32;
    while (end - at >= 8 && json_not_plain(at) == 0)
        at += 8;
    return at;
}

#endif
