/* See jspan_write.h. Messages and frames are written here, a few members each;
 * documents are jansson's business. */
#include "protocol/jspan_write.h"

#include "base/hex.h"
#include "base/json_plain.h"
#include "base/utf8.h"

#include <string.h>

static void quote_control(buffer_t *out, unsigned char c)
{
    static const char letters[] = "btn\0fr"; /* for 8 to 13; 11 has no short
                                                escape */
    char escape[6] = {
        '\\', 'u', '0', '0', HEX_DIGITS[c >> 4], HEX_DIGITS[c & 15]};
    size_t size = sizeof escape;
    if (c == '"' || c == '\\') {
        escape[1] = (char) c;
        size = 2;
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = letters[c - 8];
        size = 2;
    }
    buffer_append(out, escape, size);
}

void jspan_quote(buffer_t *out, const void *text, size_t size)
{
    const char *at = size ? text : "";
    const char *end = at + size;
    const char *kept = at; /* the end of the text that is written already */
    buffer_reserve(out, size + 2);
    buffer_append(out, "\"", 1);
    while (at < end) {
        at = json_plain(at, end);
        if (at == end)
            break;
        unsigned char c = (unsigned char) *at;
        size_t character = c >= 0x80 ? utf8_size(at, end) : 1;
        if (character > 0 && c >= 0x20 && c != '"' && c != '\\') {
            at += character;
            continue;
        }
        buffer_append(out, kept, (size_t) (at - kept));
        if (c >= 0x80)
            utf8_append(out, UTF8_REPLACEMENT);
        else
            quote_control(out, c);
        kept = ++at;
    }
    buffer_append(out, kept, (size_t) (end - kept));
    buffer_append(out, "\"", 1);
}

void jspan_quote_text(buffer_t *out, const char *text)
{
    jspan_quote(out, text, strlen(text));
}

/* Returns the last character that is no white space: a peer's JSON may end with
 * some. */
static char last_character(const buffer_t *out)
{
    for (size_t i = out->size; i > 0; i--) {
        char c = (char) out->data[i - 1];

        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return c;
    }
    return '\0';
}

/* Returns true if a value ends with this character, and not what surrounds
 * values. */
static bool ends_value(char last)
{
    return last == '"' || last == '}' || last == ']' || last == 'e'
           || last == 'l' || (last >= '0' && last <= '9');
}

/* Writes a comma after a value, and the member's name; has room for one
 * character more. */
static void begin_value(buffer_t *out, const char *key)
{
    size_t size = key ? strlen(key) : 0;
    bool is_next = ends_value(last_character(out));
    uint8_t *at = buffer_reserve(out, size + 5);

    if (is_next)
        *at++ = ',';
    if (key) {
        *at++ = '"';
        memcpy(at, key, size);
        at += size;
        *at++ = '"';
        *at++ = ':';
    }
    *at = '\0';
    out->size = (size_t) (at - out->data);
}

/* Appends a character for which there is room after begin_value. */
static void put(buffer_t *out, char c)
{
    out->data[out->size++] = (uint8_t) c;
    out->data[out->size] = '\0';
}

void jspan_write_begin(buffer_t *out)
{
    buffer_append(out, "{", 1);
}

void jspan_write_object(buffer_t *out, const char *key)
{
    begin_value(out, key);
    put(out, '{');
}

void jspan_write_end(buffer_t *out)
{
    buffer_append(out, "}", 1);
}

void jspan_write_array(buffer_t *out, const char *key)
{
    begin_value(out, key);
    put(out, '[');
}

void jspan_write_end_array(buffer_t *out)
{
    buffer_append(out, "]", 1);
}

void jspan_write_bytes(buffer_t *out, const char *key, bytes_t text)
{
    begin_value(out, key);
    jspan_quote(out, text.bytes, text.size);
}

void jspan_write_text(buffer_t *out, const char *key, const char *text)
{
    jspan_write_bytes(out, key, text_bytes(text));
}

static void write_digits(buffer_t *out, uint64_t value, bool is_negative)
{
    char digits[21]; /* of 2^64, and a sign */
    char *at = digits + sizeof digits;

    do
        *--at = (char) ('0' + value % 10);
    while (value /= 10);
    if (is_negative)
        *--at = '-';
    buffer_append(out, at, (size_t) (digits + sizeof digits - at));
}

void jspan_write_integer(buffer_t *out, const char *key, int64_t value)
{
    begin_value(out, key);
    write_digits(out, value < 0 ? -(uint64_t) value : (uint64_t) value,
                 value < 0);
}

void jspan_write_count(buffer_t *out, const char *key, uint64_t value)
{
    begin_value(out, key);
    write_digits(out, value, false);
}

void jspan_write_bool(buffer_t *out, const char *key, bool value)
{
    begin_value(out, key);
    buffer_text(out, value ? "true" : "false");
}

void jspan_write_raw(buffer_t *out, const char *key, bytes_t json)
{
    begin_value(out, key);
    if (json.size)
        buffer_append(out, json.bytes, json.size);
    else
        buffer_append(out, "{}", 2);
}

void jspan_write_key(buffer_t *out, const char *key)
{
    begin_value(out, key);
}

void jspan_write_open_text(buffer_t *out, const char *key)
{
    begin_value(out, key);
    put(out, '"');
}

void jspan_write_end_text(buffer_t *out)
{
    buffer_append(out, "\"", 1);
}
