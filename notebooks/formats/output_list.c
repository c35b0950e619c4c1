/* See output_list.h. */
#include "notebooks/formats/output_list.h"

#include "notebooks/json/member.h"

#include <string.h>

/* Memory of a stream's text that the next stream uses again. */
#define STREAM_KEPT (1u << 20)

bool is_json_type(const char *mime)
{
    size_t size = strlen(mime);

    return strcmp(mime, "application/json") == 0
           || (size > 5 && strncmp(mime, "application/", 12) == 0
               && strcmp(mime + size - 5, "+json") == 0);
}

void output_list_clear(output_list_t *self)
{
    buffer_reset(&self->text);
    free(self->stream);
    display_places_clear(&self->displays);
    json_decref(self->list);
    *self = (output_list_t){0};
}

static void append(output_list_t *self, json_t *output)
{
    if (!self->list)
        self->list = json_array();
    json_array_append_new(self->list, output);
}

/* Makes an output of the stream text that was collected. */
static void close_stream(output_list_t *self)
{
    if (!self->stream)
        return;
    append(self, json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name",
                           self->stream, "text",
                           json_stringn_nocheck(
                               self->text.data ? (char *) self->text.data : "",
                               self->text.size)));
    if (self->text.capacity > STREAM_KEPT)
        buffer_reset(&self->text);
    else
        buffer_clear(&self->text);
    free(self->stream);
    self->stream = NULL;
}

static void forget_outputs(output_list_t *self)
{
    json_array_clear(self->list);
    display_places_clear(&self->displays);
    buffer_clear(&self->text);
    free(self->stream);
    self->stream = NULL;
    self->is_clear_waiting = false;
    self->bytes = self->cut_count = self->cut_bytes = self->cut_seq = 0;
}

static void on_stream(output_list_t *self, json_t *content)
{
    const char *name = member_text(content, "name");
    const json_t *text = json_object_get(content, "text");

    if (strcmp(name, "stdout") != 0 && strcmp(name, "stderr") != 0)
        return;
    if (self->stream && strcmp(self->stream, name) != 0)
        close_stream(self);
    if (!self->stream)
        self->stream = mem_text(name);
    buffer_append(&self->text, json_string_value(text),
                  json_string_length(text));
}

/* Returns the data of a display: text, or JSON where the type says so. */
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

json_t *output_list_form(const json_t *content)
{
    return json_pack("{s:o, s:o}", "data", permitted_data(content), "metadata",
                     permitted_metadata(content));
}

json_t *output_list_last(const output_list_t *self)
{
    return json_array_get(self->list, json_array_size(self->list) - 1);
}

static void on_display(output_list_t *self, json_t *content)
{
    append(self, json_pack("{s:s, s:o, s:o}", "output_type", "display_data",
                           "data", permitted_data(content), "metadata",
                           permitted_metadata(content)));
}

static void on_result(output_list_t *self, json_t *content)
{
    json_int_t count =
        json_integer_value(json_object_get(content, "execution_count"));

    append(self, json_pack("{s:s, s:o, s:o, s:o}", "output_type",
                           "execute_result", "execution_count",
                           count > 0 ? json_integer(count) : json_null(),
                           "data", permitted_data(content), "metadata",
                           permitted_metadata(content)));
}

static void on_error(output_list_t *self, json_t *content)
{
    json_t *traceback = json_array();
    size_t index;
    json_t *line;

    json_array_foreach(json_object_get(content, "traceback"), index, line)
    {
        if (json_is_string(line))
            json_array_append(traceback, line);
    }
    append(self,
           json_pack("{s:s, s:s, s:s, s:o}", "output_type", "error", "ename",
                     member_text(content, "ename"), "evalue",
                     member_text(content, "evalue"), "traceback", traceback));
}

static const struct {
    const char *type; /* of the message */
    void (*take)(output_list_t *self, json_t *content);
} types[] = {
    {"stream", on_stream},
    {"display_data", on_display},
    {"execute_result", on_result},
    {"error", on_error},
};

static bool fits(output_list_t *self, uint64_t seq, size_t size)
{
    if (!self->bytes_max
        || (!self->cut_count && self->bytes + size <= self->bytes_max)) {
        self->bytes += size;
        return true;
    }
    if (self->cut_count++ == 0)
        self->cut_seq = seq;
    self->cut_bytes += size;
    return false;
}

/* Gives a display of this cell its new form, in all its places. A form that is
 * too much is not taken. */
static void on_update(output_list_t *self, const json_t *content, size_t size)
{
    json_auto_t *form = output_list_form(content);
    uint64_t room =
        self->bytes_max ? self->bytes_max - self->bytes : DISPLAY_PLACES_ROOM;

    self->bytes += (uint64_t) display_places_update(
        &self->displays, display_id(content), form, size, room);
}

static void on_clear(output_list_t *self, const json_t *content)
{
    if (json_is_true(json_object_get(content, "wait")))
        self->is_clear_waiting = true;
    else
        forget_outputs(self);
}

void output_list_add(output_list_t *self, uint64_t seq, const char *type,
                     json_t *content, size_t size)
{
    if (strcmp(type, "clear_output") == 0)
        on_clear(self, content);
    if (strcmp(type, "update_display_data") == 0)
        on_update(self, content, size);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].type, type) != 0)
            continue;
        if (self->is_clear_waiting)
            forget_outputs(self);
        if (types[i].take != on_stream)
            close_stream(self);
        if (!fits(self, seq, size))
            continue;
        types[i].take(self, content);
        if (types[i].take == on_display)
            display_places_note(&self->displays, display_id(content),
                                output_list_last(self), size);
    }
}

static void append_remark(output_list_t *self, const char *text,
                          json_t *metadata)
{
    close_stream(self);
    append(self, json_pack("{s:s, s:{s:s}, s:{s:o}}", "output_type",
                           "display_data", "data", "text/plain", text,
                           "metadata", "hearth", metadata));
}

void output_list_add_gap(output_list_t *self, long long records,
                         long long bytes)
{
    cleanup_free char *text = mem_format(
        "[%lld outputs (%lld bytes) were given up to keep the journal within "
        "its bound]",
        records, bytes);

    append_remark(self, text,
                  json_pack("{s:{s:I, s:I}}", "gap", "records",
                            (json_int_t) records, "bytes", (json_int_t) bytes));
}

json_t *output_list_finish(output_list_t *self)
{
    cleanup_free char *text = NULL;

    close_stream(self);
    if (self->cut_count) {
        text = mem_format("[%llu outputs (%llu bytes) are not in this notebook:"
                          " the session's journal has them, from record %llu "
                          "on]",
                          (unsigned long long) self->cut_count,
                          (unsigned long long) self->cut_bytes,
                          (unsigned long long) self->cut_seq);
        append_remark(self, text,
                      json_pack("{s:{s:I, s:I, s:I}}", "cut", "records",
                                (json_int_t) self->cut_count, "bytes",
                                (json_int_t) self->cut_bytes, "seq",
                                (json_int_t) self->cut_seq));
    }
    if (!self->list)
        return json_array();
    return take_ptr(self->list);
}
