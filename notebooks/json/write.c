/* See write.h. Numbers are jansson's to write: they are few. */
#include "notebooks/json/write.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/json_plain.h"
#include "base/string_list.h"

#include <stdlib.h>
#include <string.h>

void json_stream_open(json_stream_t *self, FILE *file)
{
    self->file = file;
    self->size = 0;
}

void json_stream_flush(json_stream_t *self)
{
    fwrite(self->text, 1, self->size, self->file);
    self->size = 0;
}

static void put(json_stream_t *self, const char *text, size_t size)
{
    if (size > sizeof self->text - self->size)
        json_stream_flush(self);
    if (size > sizeof self->text) {
        fwrite(text, 1, size, self->file);
        return;
    }
    memcpy(self->text + self->size, text, size);
    self->size += size;
}

void json_stream_text(json_stream_t *self, const char *text)
{
    put(self, text, strlen(text));
}

static void put_break(json_stream_t *self, unsigned depth)
{
    static const char blanks[] = "\n                ";
    const unsigned most = sizeof blanks - 2;

    put(self, blanks, 1 + (depth < most ? depth : most));
    for (; depth > most; depth--)
        put(self, " ", 1);
}

static bool is_escaped(char byte)
{
    return (unsigned char) byte < ' ' || byte == '"' || byte == '\\';
}

static void put_escape(json_stream_t *self, char byte)
{
    static const char letters[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    const char *letter = byte ? strchr(letters, byte) : NULL;
    char escape[8];
    int size = letter ? snprintf(escape, sizeof escape, "\\%c",
                                 names[letter - letters])
                      : snprintf(escape, sizeof escape, "\\u%04x",
                                 (unsigned) (unsigned char) byte);

    put(self, escape, (size_t) size);
}

/* Writes some characters without quotes. */
static void put_characters(json_stream_t *self, const char *text,
                           const char *end)
{
    const char *kept = text; /* up to here it is written */

    for (const char *at = text; (at = json_plain(at, end)) < end; at++) {
        if (!is_escaped(*at))
            continue;
        put(self, kept, (size_t) (at - kept));
        put_escape(self, *at);
        kept = at + 1;
    }
    put(self, kept, (size_t) (end - kept));
}

static void put_string(json_stream_t *self, const char *text, size_t size)
{
    put(self, "\"", 1);
    put_characters(self, text, text + size);
    put(self, "\"", 1);
}

/* Returns the size of the line break that begins at `at`; 0 if it is another
 * character. Python's str.splitlines knows more of them than other programs. */
static size_t line_break(const char *at, const char *end)
{
    const unsigned char *c = (const unsigned char *) at;
    size_t left = (size_t) (end - at);

    if (c[0] == '\r')
        return left > 1 && c[1] == '\n' ? 2 : 1;
    if ((c[0] >= '\n' && c[0] <= '\f') || (c[0] >= 0x1c && c[0] <= 0x1e))
        return 1;
    if (left > 1 && c[0] == 0xc2 && c[1] == 0x85)
        return 2;
    if (left > 2 && c[0] == 0xe2 && c[1] == 0x80
        && (c[2] == 0xa8 || c[2] == 0xa9))
        return 3;
    return 0;
}

/* Returns the end of the first line, with its break. */
static const char *line_end(const char *text, const char *end)
{
    for (const char *at = text; (at = json_plain(at, end)) < end; at++) {
        size_t width = line_break(at, end);
        if (width)
            return at + width;
    }
    return end;
}

void json_write_lines(json_stream_t *self, const json_t *text, unsigned depth)
{
    const char *at = json_string_value(text);
    const char *end = at + json_string_length(text);
    const char *separator = "[";

    while (at < end) {
        const char *next = line_end(at, end);
        json_stream_text(self, separator);
        put_break(self, depth + 1);
        put_string(self, at, (size_t) (next - at));
        separator = ",";
        at = next;
    }
    if (*separator == ',')
        put_break(self, depth);
    json_stream_text(self, *separator == ',' ? "]" : "[]");
}

void json_write_members(json_stream_t *self, const json_t *object,
                        unsigned depth, json_member_t *write)
{
    size_t count = json_object_size(object);
    cleanup_free const char **keys = mem_new((count + 1) * sizeof *keys);
    size_t next = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *) (uintptr_t) object, key, value)
        keys[next++] = key;
    qsort(keys, count, sizeof *keys, string_list_compare);
    put(self, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (i)
            put(self, ",", 1);
        put_break(self, depth + 1);
        put_string(self, keys[i], strlen(keys[i]));
        put(self, ": ", 2);
        value = json_object_get(object, keys[i]);
        if (!write || !write(self, keys[i], value, depth + 1))
            json_write(self, value, depth + 1);
    }
    if (count)
        put_break(self, depth);
    put(self, "}", 1);
}

void json_write_list(json_stream_t *self, const json_t *list, unsigned depth,
                     json_member_t *write)
{
    size_t index;
    json_t *item;

    put(self, "[", 1);
    json_array_foreach(list, index, item)
    {
        if (index)
            put(self, ",", 1);
        put_break(self, depth + 1);
        if (write && json_is_object(item))
            json_write_members(self, item, depth + 1, write);
        else
            json_write(self, item, depth + 1);
    }
    if (json_array_size(list))
        put_break(self, depth);
    put(self, "]", 1);
}

void json_write(json_stream_t *self, const json_t *value, unsigned depth)
{
    if (json_is_string(value)) {
        put_string(self, json_string_value(value), json_string_length(value));
    } else if (json_is_array(value)) {
        json_write_list(self, value, depth, NULL);
    } else if (json_is_object(value)) {
        json_write_members(self, value, depth, NULL);
    } else {
        cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);
        json_stream_text(self, text ? text : "null");
    }
}
