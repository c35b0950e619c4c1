/* Notebooks as JSON in the form that nbformat's own writer gives them, so that
 * a file that goes through it stays the same: keys sorted, indented by one,
 * texts as lists of lines. And the same cells as one line each. */
#include "notebooks/writer.h"

#include "notebooks/json_plain.h"
#include "notebooks/json_write.h"

#include <stdbool.h>
#include <string.h>

/* The size of the line break that begins at `at`, 0 when none does: Python's
 * str.splitlines knows more of them than anybody else. */
static size_t line_break(const char *text, size_t size, size_t at)
{
    const unsigned char *c = (const unsigned char *) text + at;
    size_t left = size - at;

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

/* Splits UTF-8 between characters: nbformat's multiline_string, a list of lines
 * that keep their ends. */
static json_t *split_lines(const char *text, size_t size)
{
    json_t *lines = json_array();
    size_t start = 0;

    for (size_t at = 0; at < size;) {
        at = (size_t) (json_plain(text + at, text + size) - text);
        if (at == size)
            break;
        size_t width = line_break(text, size, at);
        at += width ? width : 1;
        if (!width)
            continue;
        json_array_append_new(lines,
                              json_stringn_nocheck(text + start, at - start));
        start = at;
    }
    if (start < size)
        json_array_append_new(lines,
                              json_stringn_nocheck(text + start, size - start));
    return lines;
}

static void split_member(json_t *object, const char *key)
{
    json_t *text = json_object_get(object, key);

    if (json_is_string(text))
        json_object_set_new(
            object, key,
            split_lines(json_string_value(text), json_string_length(text)));
}

/* As nbformat does: texts are split, what is encoded or JSON is not. */
static bool is_split(const char *mime)
{
    return strncmp(mime, "text/", 5) == 0 || strcmp(mime, "image/svg+xml") == 0
           || strcmp(mime, "application/javascript") == 0;
}

static void split_output(json_t *output)
{
    json_t *data = json_copy(json_object_get(output, "data"));
    void *iterator;

    split_member(output, "text");
    for (iterator = json_object_iter(data); iterator;
         iterator = json_object_iter_next(data, iterator)) {
        json_t *value = json_object_iter_value(iterator);
        if (json_is_string(value) && is_split(json_object_iter_key(iterator)))
            json_object_iter_set_new(data, iterator,
                                     split_lines(json_string_value(value),
                                                 json_string_length(value)));
    }
    if (data)
        json_object_set_new(output, "data", data);
}

static json_t *split_cell(const notebook_cell_t *cell)
{
    json_t *json = notebook_cell_json(cell);
    json_t *outputs = json_object_get(json, "outputs");
    json_t *split = outputs ? json_array() : NULL;
    size_t index;
    json_t *output;

    split_member(json, "source");
    json_array_foreach(outputs, index, output)
    {
        json_t *copy = json_copy(output);
        split_output(copy);
        json_array_append_new(split, copy);
    }
    if (split)
        json_object_set_new(json, "outputs", split);
    return json;
}

static void write_indented(FILE *out, const json_t *value, unsigned depth)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    json_write(&text, value, depth);
    fwrite(text.data, 1, text.size, out);
}

static void begin_ipynb(FILE *out)
{
    fputs("{\n \"cells\": [", out);
}

static void write_ipynb(FILE *out, const notebook_cell_t *cell, size_t index)
{
    json_auto_t *json = split_cell(cell);

    fputs(index ? ",\n  " : "\n  ", out);
    write_indented(out, json, 2);
}

static void end_ipynb(FILE *out, json_t *metadata, size_t count)
{
    fputs(count ? "\n ],\n \"metadata\": " : "],\n \"metadata\": ", out);
    write_indented(out, metadata, 1);
    fputs(",\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n", out);
}

const writer_t ipynb_writer = {begin_ipynb, write_ipynb, end_ipynb};

static void begin_jsonl(FILE *out)
{
    (void) out;
}

static void write_jsonl(FILE *out, const notebook_cell_t *cell, size_t index)
{
    json_auto_t *json = notebook_cell_json(cell);

    (void) index;
    json_dumpf(json, out, JSON_COMPACT | JSON_SORT_KEYS);
    putc('\n', out);
}

static void end_jsonl(FILE *out, json_t *metadata, size_t count)
{
    json_auto_t *line = json_pack("{s:O, s:i, s:i}", "metadata", metadata,
                                  "nbformat", 4, "nbformat_minor", 5);

    (void) count;
    json_dumpf(line, out, JSON_COMPACT | JSON_SORT_KEYS);
    putc('\n', out);
}

const writer_t jsonl_writer = {begin_jsonl, write_jsonl, end_jsonl};
