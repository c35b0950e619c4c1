/* Documents from a journal: reads, folds (transcript.c), writes. The notebook
 * is JSON in the form that nbformat's own writer gives it, so that a file that
 * goes through it stays the same: keys sorted, indented by one, texts as lists
 * of lines. */
#include "notebooks/export.h"

#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/journal.h"
#include "notebooks/markdown.h"
#include "notebooks/recording.h"
#include "notebooks/transcript.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* nbformat's multiline_string: a list of lines that keep their ends. */
static json_t *split_lines(const char *text, size_t size)
{
    json_t *lines = json_array();

    while (size) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t) (end + 1 - text) : size;
        json_array_append_new(lines, json_stringn(text, length));
        text += length;
        size -= length;
    }
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

static json_t *write_output(json_t *output)
{
    json_t *copy = json_copy(output);
    json_t *data = json_copy(json_object_get(output, "data"));
    void *iterator;

    split_member(copy, "text");
    if (!data)
        return copy;
    for (iterator = json_object_iter(data); iterator;
         iterator = json_object_iter_next(data, iterator)) {
        json_t *value = json_object_iter_value(iterator);
        if (json_is_string(value) && is_split(json_object_iter_key(iterator)))
            json_object_iter_set_new(data, iterator,
                                     split_lines(json_string_value(value),
                                                 json_string_length(value)));
    }
    json_object_set_new(copy, "data", data);
    return copy;
}

/* The times under the names that JupyterLab writes and its extensions read. */
static json_t *write_timing(const cell_t *cell)
{
    json_t *timing = json_object();
    char when[CLOCK_ISO_SIZE];

    if (cell->started) {
        json_object_set_new(timing, "iopub.status.busy",
                            json_string(cell->started));
        json_object_set_new(timing, "iopub.execute_input",
                            json_string(cell->started));
        json_object_set_new(timing, "shell.execute_reply.started",
                            json_string(cell->started));
    }
    if (cell->ended_us) {
        clock_iso(cell->ended_us, when);
        json_object_set_new(timing, "shell.execute_reply", json_string(when));
        json_object_set_new(timing, "iopub.status.idle", json_string(when));
    }
    return timing;
}

/* Ids are made from the record's number: the same in every export. */
static json_t *write_id(const cell_t *cell)
{
    char id[32];

    snprintf(id, sizeof(id), "hearth-%llu", (unsigned long long) cell->seq);
    return json_string(id);
}

static json_t *write_gap(const cell_t *cell)
{
    return json_pack("{s:s, s:o, s:{s:{s:b}}, s:o}", "cell_type", "markdown",
                     "id", write_id(cell), "metadata", "hearth", "gap", 1,
                     "source", split_lines(cell->source, strlen(cell->source)));
}

static json_t *write_cell(const cell_t *cell)
{
    json_t *outputs;
    size_t index;
    json_t *output;

    if (!cell->request)
        return write_gap(cell);
    outputs = json_array();
    json_array_foreach(cell->outputs, index, output)
        json_array_append_new(outputs, write_output(output));
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:{s:o, s:{s:I, s:s}}}", "cell_type", "code",
        "id", write_id(cell), "execution_count",
        cell->count ? json_integer(cell->count) : json_null(), "outputs",
        outputs, "source", split_lines(cell->source, strlen(cell->source)),
        "metadata", "execution", write_timing(cell), "hearth", "request",
        (json_int_t) cell->request, "status",
        cell->status ? cell->status : "unanswered");
}

static json_t *write_metadata(const transcript_t *transcript)
{
    json_t *language = transcript->language
                           ? json_incref(transcript->language)
                           : json_pack("{s:s}", "name", "python");
    json_t *metadata =
        json_pack("{s:{s:s, s:s, s:s}, s:o}", "kernelspec", "display_name",
                  "Python 3 (hearth)", "language", "python", "name", "hearth",
                  "language_info", language);
    char when[CLOCK_ISO_SIZE];

    if (transcript->end_state) {
        clock_iso(transcript->end_us, when);
        json_object_set_new(metadata, "hearth",
                            json_pack("{s:s, s:s}", "ended", when, "reason",
                                      transcript->end_state));
    }
    return metadata;
}

static int append_text(const char *bytes, size_t size, void *arg)
{
    buffer_append(arg, bytes, size);
    return 0;
}

static void write_notebook(const transcript_t *transcript, buffer_t *out)
{
    json_t *cells = json_array();

    for (size_t i = 0; i < transcript->count; i++)
        json_array_append_new(cells, write_cell(&transcript->cells[i]));
    json_t *notebook = json_pack("{s:o, s:o, s:i, s:i}", "cells", cells,
                                 "metadata", write_metadata(transcript),
                                 "nbformat", 4, "nbformat_minor", 5);
    json_dump_callback(notebook, append_text, out,
                       JSON_INDENT(1) | JSON_SORT_KEYS);
    buffer_text(out, "\n");
    json_decref(notebook);
}

/* Folds all records; what was read before a failure stays in the transcript. */
static int fold(const char *journal_folder, const uint8_t *key,
                transcript_t *transcript, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;

    int result = journal_reader_new(journal_folder, key, 0, &reader, fault);
    if (result < 0)
        return result;
    while ((result = journal_reader_next(reader, &record, fault)) > 0)
        transcript_add(transcript, &record);
    transcript_finish(transcript);
    return result;
}

int notebook_export(const char *journal_folder, const uint8_t *key,
                    export_format_t format, buffer_t *out, fault_t *fault)
{
    cleanup_transcript transcript_t transcript = {0};

    int result = fold(journal_folder, key, &transcript, fault);
    if (result < 0 && result != -EBADMSG)
        return result;
    if (format == EXPORT_MARKDOWN)
        markdown_write(&transcript, out);
    else
        write_notebook(&transcript, out);
    return result;
}

int notebook_save(const char *journal_folder, const uint8_t *key,
                  export_format_t format, const char *path, fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    int result = notebook_export(journal_folder, key, format, &out, fault);
    if (result < 0 && result != -EBADMSG)
        return result;
    fault_t unwritten;
    int written = file_write_atomic(path, 0600, out.data, out.size, &unwritten);
    if (written < 0)
        *fault = unwritten;
    return written < 0 ? written : result;
}

static void take_cell(cell_t *from, notebook_t *notebook)
{
    json_auto_t *written = write_cell(from);
    notebook_cell_t cell = {
        .kind = from->request ? NOTEBOOK_CODE : NOTEBOOK_MARKDOWN,
        .id = mem_text(json_string_value(json_object_get(written, "id"))),
        .source = mem_text(from->source),
        .source_size = strlen(from->source),
        .outputs = json_incref(from->outputs),
        .metadata = json_incref(json_object_get(written, "metadata")),
        .count = from->count,
    };

    notebook_add(notebook, &cell);
}

int recording_notebook(const char *journal_folder,
                       const recording_options_t *options,
                       notebook_t *ret_notebook, fault_t *fault)
{
    cleanup_transcript transcript_t transcript = {0};

    int result = fold(journal_folder, options->key, &transcript, fault);
    if (result < 0 && result != -EBADMSG)
        return result;
    *ret_notebook = (notebook_t){.metadata = write_metadata(&transcript)};
    for (size_t i = 0; i < transcript.count; i++)
        take_cell(&transcript.cells[i], ret_notebook);
    return result;
}
