/* See metadata_query.h. A query is "name=value&name=value". Python's client
 * quotes each name and value before it makes a form of them, JavaScript's does
 * not. A text that is quoted once is the same after two decodings, unless it
 * has a '%' or '+' of its own. */
#include "gateway/http/e2b/metadata_query.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hex.h"

#include <string.h>

/* Decodes in place. A '%' without two digits is literal, and so is "%00". */
static void decode(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++, to++) {
        int coded = *at == '%' ? hex_number(at + 1, 2) : -1;
        *to = coded > 0 ? (char) coded : *at == '+' ? ' ' : *at;
        at += coded > 0 ? 2 : 0;
    }
    *to = '\0';
}

static bool has(const json_t *metadata, const char *name, const char *value)
{
    const char *found = json_string_value(json_object_get(metadata, name));

    return found && strcmp(found, value) == 0;
}

/* Looks for one pair, which it changes: decoded once, then twice. */
static bool has_pair(const json_t *metadata, char *pair)
{
    char *value = strchr(pair, '=');

    if (!value)
        return false;
    *value++ = '\0';
    for (int i = 0; i < 2; i++) {
        decode(pair);
        decode(value);
        if (has(metadata, pair, value))
            return true;
    }
    return false;
}

bool metadata_query_matches(const char *query_or_null, const json_t *metadata)
{
    cleanup_free char *copy = mem_text(query_or_null);
    char *rest = copy;

    for (char *pair; rest && (pair = strsep(&rest, "&"));)
        if (*pair && !has_pair(metadata, pair))
            return false;
    return true;
}
