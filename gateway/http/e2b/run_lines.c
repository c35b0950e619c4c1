/* See run_lines.h. A run that failed has shown its error before its reply; a
 * run that was ended, or never began, has it in its reply alone. */
#include "gateway/http/e2b/run_lines.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <string.h>

/* The MIME types that have a member of their own in a result. */
static const struct {
    const char *mime, *member;
} members[] = {
    {"text/plain", "text"},        {"text/html", "html"},
    {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
    {"image/png", "png"},          {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},    {"text/latex", "latex"},
    {"application/json", "json"},  {"application/javascript", "javascript"},
    {"e2b/data", "data"},          {"e2b/chart", "chart"},
};

/* Writes an object, which is taken, as a line. */
static void write_line(json_t *line, buffer_t *out)
{
    cleanup_free char *text =
        json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);

    json_decref(line);
    if (!text)
        return;
    buffer_text(out, text);
    buffer_text(out, "\n");
}

static void write_count(const json_t *content, buffer_t *out)
{
    write_line(
        json_pack(
            "{s:s,s:I}", "type", "number_of_executions", "execution_count",
            json_integer_value(json_object_get(content, "execution_count"))),
        out);
}

static void write_stream(const json_t *content, int64_t wall_us, buffer_t *out)
{
    json_t *text = json_object_get(content, "text");
    bool is_error = strcmp(member_text(content, "name"), "stderr") == 0;
    char at[CLOCK_ISO_SIZE];

    if (!json_is_string(text))
        return;
    clock_iso(wall_us, at);
    write_line(json_pack("{s:s,s:O,s:s}", "type",
                         is_error ? "stderr" : "stdout", "text", text,
                         "timestamp", at),
               out);
}

/* --- Results --- */

static const char *member_of(const char *mime)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].mime, mime) == 0)
            return members[i].member;
    return NULL;
}

/* Returns a text without the quotes that Python's repr has put around it, for
 * the caller; any other value as it is. */
static json_t *unquoted(json_t *value)
{
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);

    if (size < 2 || text[0] != text[size - 1]
        || (text[0] != '\'' && text[0] != '"'))
        return json_incref(value);
    return json_stringn(text + 1, size - 2);
}

static void write_result(const json_t *content, bool is_main, buffer_t *out)
{
    json_t *line = json_pack("{s:s}", "type", "result");
    json_t *extra = json_object(), *value;
    const char *mime;

    json_object_foreach(json_object_get(content, "data"), mime, value)
    {
        const char *member = member_of(mime);
        if (!member)
            json_object_set(extra, mime, value);
        else if (strcmp(member, "text") == 0)
            json_object_set_new(line, member, unquoted(value));
        else
            json_object_set(line, member, value);
    }
    json_object_set_new(line, "extra", extra);
    json_object_set_new(line, "is_main_result", json_boolean(is_main));
    write_line(line, out);
}

/* --- Errors --- */

/* Returns the lines of a traceback as one text, for the caller. */
static json_t *joined(const json_t *lines)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        if (i)
            buffer_text(&text, "\n");
        buffer_append(&text, json_string_value(line), json_string_length(line));
    }
    return json_stringn(text.size ? (const char *) text.data : "", text.size);
}

/* Returns a text, for the caller, with all that is in it: also after a NUL. */
static json_t *whole(const json_t *content, const char *name)
{
    json_t *text = json_object_get(content, name);

    return json_is_string(text) ? json_incref(text) : json_string("");
}

static void write_error(run_lines_t *self, const json_t *content, buffer_t *out)
{
    if (self->has_error)
        return;
    self->has_error = true;
    write_line(json_pack("{s:s,s:o,s:o,s:o}", "type", "error", "name",
                         whole(content, "ename"), "value",
                         whole(content, "evalue"), "traceback",
                         joined(json_object_get(content, "traceback"))),
               out);
}

void run_lines_fail(run_lines_t *self, const char *name, const char *value,
                    buffer_t *out)
{
    json_auto_t *content =
        json_pack("{s:s,s:s}", "ename", name, "evalue", value);

    write_error(self, content, out);
}

void run_lines_end(run_lines_t *self, const json_t *reply, buffer_t *out)
{
    if (self->is_over)
        return;
    if (strcmp(member_text(reply, "status"), "ok") != 0)
        write_error(self, reply, out);
    self->is_over = true;
    write_line(json_pack("{s:s}", "type", "end_of_execution"), out);
}

void run_lines_keep_alive(buffer_t *out)
{
    write_line(json_pack("{s:s}", "type", "keepalive"), out);
}

/* --- Records --- */

static void write_gap(const json_t *content, int64_t wall_us, buffer_t *out)
{
    cleanup_free char *text = mem_format(
        "[hearth: %lld outputs are no longer kept]\n",
        (long long) json_integer_value(json_object_get(content, "records")));
    json_auto_t *stream =
        json_pack("{s:s,s:s}", "name", "stderr", "text", text);

    write_stream(stream, wall_us, out);
}

static void add_event(run_lines_t *self, const journal_record_t *record,
                      const json_t *content, buffer_t *out)
{
    if (strcmp(record->type, "execute_input") == 0)
        write_count(content, out);
    else if (strcmp(record->type, "stream") == 0)
        write_stream(content, record->wall_us, out);
    else if (strcmp(record->type, "execute_result") == 0)
        write_result(content, true, out);
    else if (strcmp(record->type, "display_data") == 0
             || strcmp(record->type, "update_display_data") == 0)
        write_result(content, false, out);
    else if (strcmp(record->type, "error") == 0)
        write_error(self, content, out);
}

void run_lines_add(run_lines_t *self, const journal_record_t *record,
                   buffer_t *out)
{
    json_auto_t *content =
        json_tree_load(record->content.bytes, record->content.size, NULL);

    if (self->is_over)
        return;
    if (record->kind == JOURNAL_REPLY)
        run_lines_end(self, content, out);
    else if (record->kind == JOURNAL_GAP)
        write_gap(content, record->wall_us, out);
    else if (record->kind == JOURNAL_EVENT)
        add_event(self, record, content, out);
}
