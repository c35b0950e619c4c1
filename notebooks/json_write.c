/* See json_write.h. Numbers are jansson's to write: they are few. */
#include "notebooks/json_write.h"

#include "notebooks/json_plain.h"

#include <stdlib.h>
#include <string.h>

static void write_escape(buffer_t *out, unsigned char byte)
{
    static const char letters[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    const char *letter = byte ? strchr(letters, byte) : NULL;

    if (letter)
        buffer_format(out, "\\%c", names[letter - letters]);
    else
        buffer_format(out, "\\u%04x", byte);
}

static void write_string(buffer_t *out, const char *text, size_t size)
{
    const char *end = text + size;
    const char *kept = text; /* up to here it is written */

    buffer_append(out, "\"", 1);
    for (const char *at = text; (at = json_plain(at, end)) < end; at++) {
        unsigned char byte = (unsigned char) *at;
        if (byte >= ' ' && byte != '"' && byte != '\\')
            continue;
        buffer_append(out, kept, (size_t) (at - kept));
        write_escape(out, byte);
        kept = at + 1;
    }
    buffer_append(out, kept, (size_t) (end - kept));
    buffer_append(out, "\"", 1);
}

static void write_break(buffer_t *out, unsigned depth)
{
    uint8_t *at = buffer_reserve(out, depth + 1);

    *at = '\n';
    memset(at + 1, ' ', depth);
    out->size += depth + 1;
}

static void write_array(buffer_t *out, const json_t *array, unsigned depth)
{
    size_t index;
    json_t *item;

    buffer_append(out, "[", 1);
    json_array_foreach(array, index, item)
    {
        if (index)
            buffer_append(out, ",", 1);
        write_break(out, depth + 1);
        json_write(out, item, depth + 1);
    }
    if (json_array_size(array))
        write_break(out, depth);
    buffer_append(out, "]", 1);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *) left, *(const char *const *) right);
}

static void write_object(buffer_t *out, const json_t *object, unsigned depth)
{
    size_t count = json_object_size(object);
    cleanup_free const char **keys = mem_new((count + 1) * sizeof *keys);
    size_t next = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *) (uintptr_t) object, key, value)
        keys[next++] = key;
    qsort(keys, count, sizeof *keys, by_text);
    buffer_append(out, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buffer_append(out, ",", 1);
        write_break(out, depth + 1);
        write_string(out, keys[i], strlen(keys[i]));
        buffer_append(out, ": ", 2);
        json_write(out, json_object_get(object, keys[i]), depth + 1);
    }
    if (count)
        write_break(out, depth);
    buffer_append(out, "}", 1);
}

void json_write(buffer_t *out, const json_t *value, unsigned depth)
{
    if (json_is_string(value)) {
        write_string(out, json_string_value(value), json_string_length(value));
    } else if (json_is_array(value)) {
        write_array(out, value, depth);
    } else if (json_is_object(value)) {
        write_object(out, value, depth);
    } else {
        cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);
        buffer_text(out, text ? text : "null");
    }
}
