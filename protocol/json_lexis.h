/* What the three files of protocol/json.h share: which bytes stand for what in
 * JSON text. Inline, because they are looked at one by one. */
#ifndef HEARTH_PROTOCOL_JSON_LEXIS_H
#define HEARTH_PROTOCOL_JSON_LEXIS_H

#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words of 8 bytes, each byte `byte`. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of some of the 8 bytes is set unless all stand for themselves
 * in a string: ASCII, no control character, neither quote nor backslash. */
static inline uint64_t not_plain(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t controls = word - EACH(0x20);
    uint64_t quotes = (word ^ EACH('"')) - EACH(1);
    uint64_t backslashes = (word ^ EACH('\\')) - EACH(1);
    return (controls | quotes | backslashes | word) & EACH(0x80);
}

/* Text is mostly plain: 32 bytes of it are one branch. */
static inline const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 32
           && (not_plain(at) | not_plain(at + 8) | not_plain(at + 16)
               | not_plain(at + 24))
                  == 0)
        at += 32;
    while (end - at >= 8 && not_plain(at) == 0)
        at += 8;
    return at;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* -1 when it is none. */
static inline int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static inline json_kind_t kind_of(char first)
{
    switch (first) {
    case '{':
        return JSON_KIND_OBJECT;
    case '[':
        return JSON_KIND_ARRAY;
    case '"':
        return JSON_KIND_STRING;
    case 't':
        return JSON_KIND_TRUE;
    case 'f':
        return JSON_KIND_FALSE;
    case 'n':
        return JSON_KIND_NULL;
    default:
        return JSON_KIND_NUMBER;
    }
}

static inline json_span_t span_of(const char *at, const char *end)
{
    return (json_span_t){
        .text = at, .size = (size_t) (end - at), .kind = kind_of(*at)};
}

#endif
