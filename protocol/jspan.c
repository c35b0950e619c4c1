/* Reads JSON without a tree: text that jspan_check accepted, so there are only
 * ends to find. Nothing is kept: the text stays its owner's. (Trees for files
 * and command lines are jansson's business.) */
#include "protocol/jspan.h"

#include "base/utf8.h"
#include "protocol/jspan_lexer.h"

#include <string.h>

/* Returns the place after the string that begins at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    at++;
    for (;;) {
        at = json_plain(at, end);
        /* One of the next 8 bytes is not plain, or ends the text. */
        for (int i = 0; i < 8; i++) {
            if (at >= end)
                return end;
            char c = *at++;
            if (c == '"')
                return at;
            if (c == '\\')
                at++;
        }
    }
}

/* Returns the place after the value that begins at `at`. */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
            continue;
        } else {
            while (at < end && *at != ',' && *at != '}' && *at != ']'
                   && !json_is_space(*at))
                at++;
        }
        if (depth == 0)
            break;
    }
    return at;
}

bool jspan_each(jspan_t container, size_t *cursor, jspan_t *ret_key,
                jspan_t *ret_value)
{
    bool is_object = container.kind == JSPAN_OBJECT;
    if (!is_object && container.kind != JSPAN_ARRAY)
        return false;
    /* Without the closing bracket: its place is the end. */
    const char *end = container.text + container.size - 1;
    const char *at = container.text + (*cursor > 0 ? *cursor : 1);
    at = skip_space(at, end);
    if (at < end && *at == ',')
        at = skip_space(at + 1, end);
    if (at >= end)
        return false;

    jspan_t key = {0};
    if (is_object) {
        const char *behind = skip_string(at, end);
        key = span_of(at, behind);
        at = skip_space(behind, end);
        at = skip_space(at + 1, end);
    }
    const char *behind = skip_value(at, end);
    *ret_value = span_of(at, behind);
    if (ret_key != NULL)
        *ret_key = key;
    *cursor = (size_t) (behind - container.text);
    return true;
}

jspan_t jspan_member(jspan_t object, const char *key)
{
    jspan_t found = {0};
    if (object.kind != JSPAN_OBJECT)
        return found;
    size_t cursor = 0;
    jspan_t name;
    jspan_t value;
    while (jspan_each(object, &cursor, &name, &value))
        if (jspan_text_equals(name, key))
            found = value;
    return found;
}

void jspan_members(jspan_t object, const char *const *keys, jspan_t *ret_values)
{
    bool is_object = object.kind == JSPAN_OBJECT;
    size_t cursor = 0;
    jspan_t name, value;
    for (size_t i = 0; keys[i]; i++)
        ret_values[i] = (jspan_t){0};
    while (is_object && jspan_each(object, &cursor, &name, &value))
        for (size_t i = 0; keys[i]; i++)
            if (jspan_text_equals(name, keys[i]))
                ret_values[i] = value;
}

bool jspan_is(jspan_t value, jspan_kind_t kind)
{
    return value.kind == kind;
}

bool jspan_is_bool(jspan_t value)
{
    return value.kind == JSPAN_TRUE || value.kind == JSPAN_FALSE;
}

bool jspan_is_integer(jspan_t value)
{
    if (value.kind != JSPAN_NUMBER)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if (value.text[i] != '-' && !json_is_digit(value.text[i]))
            return false;
    return true;
}

bool jspan_is_name(jspan_t value)
{
    return jspan_is(value, JSPAN_STRING) && value.size > 2
           && memmem(value.text, value.size, "\\u0000", 6) == NULL;
}

bool jspan_is_none(jspan_t value)
{
    return jspan_is(value, JSPAN_ABSENT) || jspan_is(value, JSPAN_NULL);
}

/* Appends the character of the \u whose digits begin at `at`, or of two of them
 * if they are a surrogate pair. Half of a pair, which Python's json writes and
 * reads but UTF-8 cannot encode, becomes U+FFFD. */
static const char *append_unicode(buffer_t *out, const char *at,
                                  const char *end)
{
    uint32_t code = (uint32_t) hex_number(at, 4);
    at += 4;
    if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\'
        && at[1] == 'u') {
        uint32_t low = (uint32_t) hex_number(at + 2, 4);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    if (code >= 0xD800 && code < 0xE000)
        code = UTF8_REPLACEMENT;
    utf8_append(out, code);
    return at;
}

/* Returns the character of a one-letter escape. */
static char unescaped(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

void jspan_text(jspan_t string, buffer_t *ret_text)
{
    if (string.kind != JSPAN_STRING)
        return;
    const char *at = string.text + 1;
    const char *end = string.text + string.size - 1;
    buffer_reserve(ret_text, string.size);
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t) (end - at));
        const char *stop = escape != NULL ? escape : end;
        buffer_append(ret_text, at, (size_t) (stop - at));
        at = stop;
        if (escape == NULL)
            break;
        if (at[1] == 'u') {
            at = append_unicode(ret_text, at + 2, end);
        } else {
            char letter = unescaped(at[1]);
            buffer_append(ret_text, &letter, 1);
            at += 2;
        }
    }
    buffer_append(ret_text, "", 0);
}

char *jspan_text_new(jspan_t string)
{
    if (string.kind != JSPAN_STRING)
        return NULL;
    buffer_t text = BUFFER_EMPTY;
    jspan_text(string, &text);
    return (char *) text.data;
}

char *jspan_plain_new(jspan_t string)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    jspan_text(string, &text);
    if (text.data == NULL || strlen((const char *) text.data) != text.size)
        return NULL;
    return (char *) take_ptr(text.data);
}

bool jspan_text_equals(jspan_t string, const char *text)
{
    if (string.kind != JSPAN_STRING)
        return false;
    size_t size = strlen(text);
    const char *inner = string.text + 1;
    size_t inner_size = string.size - 2;
    if (memchr(inner, '\\', inner_size) == NULL)
        return inner_size == size && memcmp(inner, text, size) == 0;

    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    jspan_text(string, &plain);
    return plain.size == size && memcmp(plain.data, text, size) == 0;
}

bool jspan_to_integer(jspan_t number, int64_t *ret_value)
{
    if (!jspan_is_integer(number))
        return false;
    bool is_negative = number.text[0] == '-';
    int64_t value = 0;
    /* Counts downwards, because the smallest number has no positive
     * counterpart. */
    for (size_t i = is_negative ? 1 : 0; i < number.size; i++)
        if (__builtin_mul_overflow(value, 10, &value)
            || __builtin_sub_overflow(value, number.text[i] - '0', &value))
            return false;
    if (!is_negative && __builtin_sub_overflow((int64_t) 0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

bool jspan_to_real(jspan_t number, double *ret_value)
{
    if (number.kind != JSPAN_NUMBER)
        return false;
    cleanup_free char *text = mem_copy(number.text, number.size);
    double value = strtod(text, NULL);
    if (!__builtin_isfinite(value))
        return false;
    *ret_value = value;
    return true;
}
