/* Tables of the three files of protocol/jspan.h: which byte means what in JSON
 * text. Inline, because bytes are looked at one by one. */
#ifndef HEARTH_PROTOCOL_JSPAN_LEXER_H
#define HEARTH_PROTOCOL_JSPAN_LEXER_H

#include "base/hex.h"
#include "base/json_plain.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && json_is_space(*at))
        at++;
    return at;
}

static inline jspan_kind_t kind_of(char first)
{
    switch (first) {
    case '{':
        return JSPAN_OBJECT;
    case '[':
        return JSPAN_ARRAY;
    case '"':
        return JSPAN_STRING;
    case 't':
        return JSPAN_TRUE;
    case 'f':
        return JSPAN_FALSE;
    case 'n':
        return JSPAN_NULL;
    default:
        return JSPAN_NUMBER;
    }
}

static inline jspan_t span_of(const char *at, const char *end)
{
    return (jspan_t){
        .text = at, .size = (size_t) (end - at), .kind = kind_of(*at)};
}

#endif
