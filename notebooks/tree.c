#include "notebooks/tree.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS  (JSON_DECODE_ANY | JSON_ALLOW_NUL)
#define NUMBER "+-.0123456789Ee"
#define DIGITS_NUMBER                                                          \
    300 /* so many letters without an exponent are a double                    \
         */

/* Behind the string that begins at `at`, or at the end. */
static size_t string_end(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at < size ? at + 1 : size;
}

static size_t number_end(const char *text, size_t size, size_t at)
{
    while (at < size && text[at] && strchr(NUMBER, text[at]))
        at++;
    return at;
}

static bool is_too_big(const char *number, size_t size)
{
    if (size <= DIGITS_NUMBER && !memchr(number, 'e', size)
        && !memchr(number, 'E', size))
        return false;
    cleanup_free char *text = mem_copy(number, size);
    char *end;
    return isinf(strtod(text, &end)) && end == text + size;
}

/* The same text, but with quotes around numbers that no double can hold. */
static void quote_big(const char *text, size_t size, buffer_t *out)
{
    for (size_t at = 0, end; at < size; at = end) {
        bool is_number =
            text[at] == '-' || (text[at] >= '0' && text[at] <= '9');

        if (text[at] == '"')
            end = string_end(text, size, at);
        else
            end = is_number ? number_end(text, size, at) : at + 1;
        const char *quote =
            is_number && is_too_big(text + at, end - at) ? "\"" : "";
        buffer_text(out, quote);
        buffer_append(out, text + at, end - at);
        buffer_text(out, quote);
    }
}

static bool is_overflow(const json_t *value, const json_error_t *error)
{
    return !value && json_error_code(error) == json_error_numeric_overflow;
}

json_t *tree_load(const void *text, size_t size, json_error_t *ret_error)
{
    json_error_t error;
    json_t *value = json_loadb(text, size, FLAGS, &error);

    if (is_overflow(value, &error))
        value = json_loadb(text, size, FLAGS | JSON_DECODE_INT_AS_REAL, &error);
    if (is_overflow(value, &error)) {
        cleanup_buffer buffer_t quoted = BUFFER_EMPTY;

        quote_big(text, size, &quoted);
        value = json_loadb((const char *) quoted.data, quoted.size,
                           FLAGS | JSON_DECODE_INT_AS_REAL, &error);
    }
    if (ret_error)
        *ret_error = error;
    return value;
}

typedef struct {
    const char *text;
    json_t *item;
} keyed_t;

static int compare(const void *left, const void *right)
{
    const keyed_t *a = left, *b = right;

    return strcmp(a->text, b->text);
}

json_t *tree_sorted(const json_t *list, const char *member, bool is_falling)
{
    size_t count = json_array_size(list);
    cleanup_free keyed_t *items = mem_new((count + 1) * sizeof *items);
    json_t *sorted = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(list, i);
        const char *text = json_string_value(json_object_get(item, member));
        items[i] = (keyed_t){.text = text ? text : "", .item = item};
    }
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, items[is_falling ? count - 1 - i : i].item);
    return sorted;
}
