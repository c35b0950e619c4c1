/* Folding a journal into cells, record by record. It belongs to one export and
 * holds all outputs in memory. Content comes from kernels, which may say
 * anything that is JSON: what nbformat does not permit is left out here, so
 * that the writers need not look again. */
#include "notebooks/transcript.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static void clear_cell(cell_t *cell)
{
    buffer_reset(&cell->text);
    free(cell->stream);
    free(cell->status);
    free(cell->started);
    json_decref(cell->outputs);
    free(cell->source);
}

void transcript_clear(transcript_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        clear_cell(&self->cells[i]);
    free(self->cells);
    json_decref(self->displays);
    json_decref(self->language);
    free(self->end_state);
    *self = (transcript_t){0};
}

/* An object; NULL when the part is none. Whole numbers beyond 64 bits, which
 * Python writes without a thought, become floating-point ones. */
static json_t *parse(journal_part_t part)
{
    size_t flags = JSON_ALLOW_NUL;

    if (!part.size)
        return NULL;
    json_t *value = json_loadb(part.bytes, part.size, flags, NULL);
    if (!value)
        value = json_loadb(part.bytes, part.size,
                           flags | JSON_DECODE_INT_AS_REAL, NULL);
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void replace_text(char **member, const char *text)
{
    free(*member);
    *member = mem_text(text);
}

static cell_t *add_cell(transcript_t *self, const journal_record_t *record,
                        const char *source)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 64;
        self->cells =
            mem_resize(self->cells, self->capacity * sizeof(*self->cells));
    }
    cell_t *cell = &self->cells[self->count++];
    *cell = (cell_t){
        .request = record->request,
        .seq = record->seq,
        .source = mem_text(source),
        .outputs = json_array(),
        .asked_us = record->wall_us,
    };
    return cell;
}

/* From the end: events are nearly always the last cell's. */
static cell_t *find_cell(transcript_t *self, uint64_t request)
{
    for (size_t i = self->count; request && i > 0; i--)
        if (self->cells[i - 1].request == request)
            return &self->cells[i - 1];
    return NULL;
}

/* The stream text that was collected becomes an output. */
static void close_stream(cell_t *cell)
{
    if (!cell->stream)
        return;
    json_array_append_new(
        cell->outputs,
        json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name",
                  cell->stream, "text",
                  json_stringn(cell->text.data ? (char *) cell->text.data : "",
                               cell->text.size)));
    buffer_clear(&cell->text);
    free(cell->stream);
    cell->stream = NULL;
}

static void clear_outputs(cell_t *cell)
{
    json_array_clear(cell->outputs);
    buffer_clear(&cell->text);
    free(cell->stream);
    cell->stream = NULL;
    cell->is_clear_waiting = false;
}

static void on_stream(transcript_t *self, cell_t *cell, json_t *content)
{
    const char *name = text_of(content, "name");
    const json_t *text = json_object_get(content, "text");

    (void) self;
    if (strcmp(name, "stdout") != 0 && strcmp(name, "stderr") != 0)
        return;
    if (cell->stream && strcmp(cell->stream, name) != 0)
        close_stream(cell);
    if (!cell->stream)
        cell->stream = mem_text(name);
    buffer_append(&cell->text, json_string_value(text),
                  json_string_length(text));
}

static bool is_json_type(const char *mime)
{
    size_t size = strlen(mime);

    return strcmp(mime, "application/json") == 0
           || (size > 5 && strncmp(mime, "application/", 12) == 0
               && strcmp(mime + size - 5, "+json") == 0);
}

/* The data of a display: text, or JSON where the type says so. */
static json_t *permitted_data(const json_t *content)
{
    json_t *data = json_object_get(content, "data");
    json_t *permitted = json_object();
    const char *mime;
    json_t *value;

    json_object_foreach(data, mime, value)
    {
        if (json_is_string(value) || is_json_type(mime))
            json_object_set(permitted, mime, value);
    }
    return permitted;
}

static json_t *permitted_metadata(const json_t *content)
{
    json_t *metadata = json_object_get(content, "metadata");

    return json_is_object(metadata) ? json_incref(metadata) : json_object();
}

static const char *display_id(const json_t *content)
{
    return text_of(json_object_get(content, "transient"), "display_id");
}

/* Later updates find the output by its display_id. */
static void remember_display(transcript_t *self, const json_t *content,
                             json_t *output)
{
    const char *id = display_id(content);

    if (!*id)
        return;
    if (!self->displays)
        self->displays = json_object();
    json_t *list = json_object_get(self->displays, id);
    if (!list) {
        list = json_array();
        json_object_set_new(self->displays, id, list);
    }
    json_array_append(list, output);
}

static void on_display(transcript_t *self, cell_t *cell, json_t *content)
{
    json_t *output = json_pack("{s:s, s:o, s:o}", "output_type", "display_data",
                               "data", permitted_data(content), "metadata",
                               permitted_metadata(content));

    json_array_append_new(cell->outputs, output);
    remember_display(self, content, output);
}

static void on_result(transcript_t *self, cell_t *cell, json_t *content)
{
    json_int_t count =
        json_integer_value(json_object_get(content, "execution_count"));
    json_t *output = json_pack("{s:s, s:o, s:o, s:o}", "output_type",
                               "execute_result", "execution_count",
                               count > 0 ? json_integer(count) : json_null(),
                               "data", permitted_data(content), "metadata",
                               permitted_metadata(content));

    json_array_append_new(cell->outputs, output);
    remember_display(self, content, output);
}

static void on_error(transcript_t *self, cell_t *cell, json_t *content)
{
    json_t *traceback = json_array();
    size_t index;
    json_t *line;

    (void) self;
    json_array_foreach(json_object_get(content, "traceback"), index, line)
    {
        if (json_is_string(line))
            json_array_append(traceback, line);
    }
    json_array_append_new(cell->outputs,
                          json_pack("{s:s, s:s, s:s, s:o}", "output_type",
                                    "error", "ename", text_of(content, "ename"),
                                    "evalue", text_of(content, "evalue"),
                                    "traceback", traceback));
}

/* Every output that shows the id changes, in whatever cell it stands. */
static void on_update(transcript_t *self, const json_t *content)
{
    json_t *list = json_object_get(self->displays, display_id(content));
    size_t index;
    json_t *output;

    json_array_foreach(list, index, output)
    {
        json_object_set_new(output, "data", permitted_data(content));
        json_object_set_new(output, "metadata", permitted_metadata(content));
    }
}

static const struct {
    const char *type; /* of the message */
    void (*take)(transcript_t *self, cell_t *cell, json_t *content);
} outputs[] = {
    {"stream", on_stream},
    {"display_data", on_display},
    {"execute_result", on_result},
    {"error", on_error},
};

static void on_output(transcript_t *self, cell_t *cell, const char *type,
                      json_t *content)
{
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        if (strcmp(outputs[i].type, type) != 0)
            continue;
        if (cell->is_clear_waiting)
            clear_outputs(cell);
        if (outputs[i].take != on_stream)
            close_stream(cell);
        outputs[i].take(self, cell, content);
    }
}

static void on_event(transcript_t *self, const journal_record_t *record,
                     json_t *content)
{
    cell_t *cell = find_cell(self, record->request);

    if (strcmp(record->type, "update_display_data") == 0) {
        on_update(self, content);
        return;
    }
    if (!cell)
        return;
    if (strcmp(record->type, "clear_output") != 0)
        on_output(self, cell, record->type, content);
    else if (json_is_true(json_object_get(content, "wait")))
        cell->is_clear_waiting = true;
    else
        clear_outputs(cell);
}

/* A silent request is not a cell: no front end shows it. */
static void on_request(transcript_t *self, const journal_record_t *record,
                       const json_t *content)
{
    if (strcmp(record->type, "execute_request") == 0
        && !json_is_true(json_object_get(content, "silent")))
        add_cell(self, record, text_of(content, "code"));
}

static void on_reply(transcript_t *self, const journal_record_t *record,
                     const json_t *content)
{
    cell_t *cell = find_cell(self, record->request);

    if (!cell)
        return;
    json_t *metadata = parse(record->metadata);
    const char *started = text_of(metadata, "started");
    json_int_t count =
        json_integer_value(json_object_get(content, "execution_count"));
    cell->count = count > 0 ? count : 0;
    cell->ended_us = record->wall_us;
    replace_text(&cell->status, text_of(content, "status"));
    if (*started)
        replace_text(&cell->started, started);
    json_decref(metadata);
}

static void on_state(transcript_t *self, const journal_record_t *record,
                     const json_t *content)
{
    json_t *language = json_object_get(content, "language_info");

    if (strcmp(record->type, "ready") == 0 && json_is_object(language)
        && json_is_string(json_object_get(language, "name"))) {
        json_decref(self->language);
        self->language = json_incref(language);
    }
    if (strcmp(record->type, "gone") == 0) {
        const char *reason = text_of(content, "reason");
        replace_text(&self->end_state, *reason ? reason : "gone");
        self->end_us = record->wall_us;
    }
}

/* What is missing is said where it is missing. */
static void on_gap(transcript_t *self, const journal_record_t *record,
                   const json_t *content)
{
    cell_t *cell = find_cell(self, record->request);
    long long records = json_integer_value(json_object_get(content, "records"));
    long long bytes = json_integer_value(json_object_get(content, "bytes"));
    cleanup_free char *text = mem_format(
        "[%lld %s (%lld bytes) were given up to keep the journal within its "
        "bound]",
        records, cell ? "outputs" : "records", bytes);

    if (!cell) {
        add_cell(self, record, text)->request = 0;
        return;
    }
    close_stream(cell);
    json_array_append_new(cell->outputs,
                          json_pack("{s:s, s:{s:s}, s:{s:{s:{s:I, s:I}}}}",
                                    "output_type", "display_data", "data",
                                    "text/plain", text, "metadata", "hearth",
                                    "gap", "records", (json_int_t) records,
                                    "bytes", (json_int_t) bytes));
}

void transcript_add(transcript_t *self, const journal_record_t *record)
{
    json_t *content = parse(record->content);

    switch (record->kind) {
    case JOURNAL_REQUEST:
        on_request(self, record, content);
        break;
    case JOURNAL_EVENT:
        on_event(self, record, content);
        break;
    case JOURNAL_REPLY:
        on_reply(self, record, content);
        break;
    case JOURNAL_STATE:
        on_state(self, record, content);
        break;
    case JOURNAL_GAP:
        on_gap(self, record, content);
        break;
    }
    json_decref(content);
}

void transcript_finish(transcript_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        close_stream(&self->cells[i]);
}
