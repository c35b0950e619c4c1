/* Notebooks as JSON in the form that nbformat's own writer gives them, so that
 * a file that goes through it stays the same: keys sorted, indented by one,
 * texts as lists of lines. And the same with texts in one piece, and with each
 * cell in one line. */
#include "notebooks/formats/writer.h"

#include "notebooks/json/write.h"

#include <stdbool.h>
#include <string.h>

/* Returns true if nbformat splits texts of that type; what is encoded or JSON
 * it leaves whole. */
static bool is_split(const char *mime)
{
    return strncmp(mime, "text/", 5) == 0 || strcmp(mime, "image/svg+xml") == 0
           || strcmp(mime, "application/javascript") == 0;
}

static bool write_data(json_stream_t *out, const char *key, const json_t *value,
                       unsigned depth)
{
    if (!json_is_string(value) || !is_split(key))
        return false;
    json_write_lines(out, value, depth);
    return true;
}

static bool write_output(json_stream_t *out, const char *key,
                         const json_t *value, unsigned depth)
{
    if (strcmp(key, "text") == 0 && json_is_string(value))
        json_write_lines(out, value, depth);
    else if (strcmp(key, "data") == 0 && json_is_object(value))
        json_write_members(out, value, depth, write_data);
    else
        return false;
    return true;
}

static bool write_member(json_stream_t *out, const char *key,
                         const json_t *value, unsigned depth)
{
    if (strcmp(key, "source") == 0 && json_is_string(value))
        json_write_lines(out, value, depth);
    else if (strcmp(key, "outputs") == 0 && json_is_array(value))
        json_write_list(out, value, depth, write_output);
    else
        return false;
    return true;
}

static void begin_ipynb(FILE *out)
{
    fputs("{\n \"cells\": [", out);
}

static void write_ipynb(FILE *out, const notebook_cell_t *cell, size_t index)
{
    json_auto_t *json = notebook_cell_json(cell);
    json_stream_t stream;

    json_stream_open(&stream, out);
    json_stream_text(&stream, index ? ",\n  " : "\n  ");
    json_write_members(&stream, json, 2, write_member);
    json_stream_flush(&stream);
}

static void end_ipynb(FILE *out, json_t *metadata, size_t count)
{
    json_stream_t stream;

    json_stream_open(&stream, out);
    json_stream_text(&stream,
                     count ? "\n ],\n \"metadata\": " : "],\n \"metadata\": ");
    json_write(&stream, metadata, 1);
    json_stream_text(&stream,
                     ",\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n");
    json_stream_flush(&stream);
}

const notebook_writer_t ipynb_writer = {begin_ipynb, write_ipynb, end_ipynb};

static void write_whole(FILE *out, const notebook_cell_t *cell, size_t index)
{
    json_auto_t *json = notebook_cell_json(cell);
    json_stream_t stream;

    json_stream_open(&stream, out);
    json_stream_text(&stream, index ? ",\n  " : "\n  ");
    json_write(&stream, json, 2);
    json_stream_flush(&stream);
}

const notebook_writer_t whole_writer = {begin_ipynb, write_whole, end_ipynb};

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

const notebook_writer_t jsonl_writer = {begin_jsonl, write_jsonl, end_jsonl};
