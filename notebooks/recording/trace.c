/* See trace.h. Rows are JSON from the beginning: the command line prints them
 * as a table or as they are. What a kernel has said is taken for text and
 * numbers, wrong types are left out. */
#include "notebooks/recording/trace.h"

#include "base/buffer.h"
#include "base/utf8.h"
#include "notebooks/journal/reader.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/cell_builder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SOURCE_MAX 4096 /* bytes of a cell's code in its row */
#define LIMITS_MAX 8    /* of a cell, as its kernel reports */

void trace_clear(trace_t *self)
{
    json_decref(self->moved);
    json_decref(self->rows);
    json_decref(self->open);
    *self = (trace_t){0};
}

/* Returns the beginning of a text: whole characters, at most SOURCE_MAX bytes.
 */
static json_t *beginning(const json_t *text)
{
    size_t size = json_string_length(text);
    const char *bytes = json_string_value(text);

    if (!bytes)
        return json_string("");
    if (size > SOURCE_MAX)
        size = utf8_cut(bytes, SOURCE_MAX);
    return json_stringn(bytes, size);
}

static json_t *add_row(trace_t *self, const journal_record_t *record,
                       const char *what)
{
    json_t *row =
        json_pack("{s:s, s:I}", "what", what, "seq", (json_int_t) record->seq);

    json_object_set_new(row, "at", record_time(record->wall_us));
    if (!self->rows)
        self->rows = json_array();
    json_array_append_new(self->rows, row);
    return row;
}

static void number_text(uint64_t number, char ret_text[24])
{
    snprintf(ret_text, 24, "%" PRIu64, number);
}

static json_t *open_row(const trace_t *self, const journal_record_t *record)
{
    char number[24];

    number_text(record->request, number);
    return json_object_get(self->open, number);
}

static void on_request(trace_t *self, const journal_record_t *record)
{
    json_auto_t *content = NULL;
    json_auto_t *metadata = NULL;
    json_auto_t *origin = NULL;
    const json_t *own;
    char number[24];
    json_t *row;

    if (strcmp(record->type, "execute_request") != 0)
        return;
    content = record_object(record->content);
    if (json_is_true(json_object_get(content, "silent")))
        return;
    metadata = record_object(record->metadata);
    origin = record_object(record->origin);
    own = json_object_get(metadata, "hearth");
    row = add_row(self, record, "cell");
    json_object_set_new(row, "turn", json_integer(++self->turns));
    json_object_set_new(row, "request",
                        json_integer((json_int_t) record->request));
    json_object_set_new(row, "source",
                        beginning(json_object_get(content, "code")));
    json_object_set_new(row, "client",
                        json_string(*member_text(own, "client")
                                        ? member_text(own, "client")
                                        : member_text(origin, "client")));
    json_object_set_new(row, "status", json_string("unanswered"));
    if (!self->open)
        self->open = json_object();
    number_text(record->request, number);
    json_object_set(self->open, number, row);
}

/* Notes the time of the first event, which is when the cell began. */
static void on_event(const trace_t *self, const journal_record_t *record)
{
    json_t *row = open_row(self, record);

    if (row && strcmp(record->type, "execute_input") == 0) {
        json_object_set_new(row, "began_us", json_integer(record->wall_us));
        json_object_set_new(row, "status", json_string("running"));
    }
}

static void add_limit(json_t *row, const char *text)
{
    json_t *limits = json_object_get(row, "limits");

    if (!limits) {
        limits = json_array();
        json_object_set_new(row, "limits", limits);
    }
    json_array_append_new(limits, json_string(text));
}

/* Adds the limits that the kernel says that the cell has reached. */
static void add_limits(json_t *row, const json_t *limits)
{
    const json_t *limit;
    size_t i;

    json_array_foreach(limits, i, limit)
    {
        const char *name = json_string_value(json_object_get(limit, "limit"));

        if (name && i < LIMITS_MAX)
            add_limit(row, name);
    }
}

/* Returns true for the reasons of an end that are limits; a signal, an exit or
 * a broken protocol hit none. */
static bool is_limit(const char *reason)
{
    static const char *const limits[] = {"memory", "processes", "cpu", "wall",
                                         "output", "workspace", NULL};

    for (const char *const *limit = limits; *limit; limit++)
        if (strcmp(reason, *limit) == 0)
            return true;
    return false;
}

/* Notes the end of the kernel, which the journal has after the cell's reply. */
static void on_end(trace_t *self, const char *reason)
{
    if (self->died && !json_object_get(self->died, "limits")
        && is_limit(reason))
        add_limit(self->died, reason);
    self->died = NULL;
}

static void on_error(trace_t *self, json_t *row, const json_t *content)
{
    const char *ename = member_text(content, "ename");
    const char *evalue = member_text(content, "evalue");

    json_object_set_new(row, "ename", json_string(ename));
    json_object_set_new(row, "evalue",
                        beginning(json_object_get(content, "evalue")));
    if (strcmp(ename, "TimeLimitExceeded") == 0)
        add_limit(row, "time");
    else if (strcmp(ename, "OutputLimitExceeded") == 0)
        add_limit(row, "output");
    else if (strcmp(ename, "KernelDied") == 0) {
        /* "memory: 512 MiB reached ...": the reason comes first. */
        cleanup_free char *reason =
            mem_format("%.*s", (int) strcspn(evalue, ":"), evalue);
        if (is_limit(reason))
            add_limit(row, reason);
        self->died = row;
    }
}

/* Moves names of files that others changed since the last cell to `others`. The
 * kernel has reported them as written or removed by the cell. */
static void sort_files(const trace_t *self, json_t *row)
{
    static const char *const members[] = {"written", "earlier", "removed",
                                          NULL};
    json_t *files = json_object_get(row, "files");
    json_t *others = json_array();

    for (const char *const *key = members; *key; key++) {
        json_t *names = json_object_get(files, *key);
        for (size_t i = 0; i < json_array_size(names);) {
            const char *name = json_string_value(json_array_get(names, i));
            if (!name || !json_object_get(self->moved, name)) {
                i++;
                continue;
            }
            json_array_append(others, json_array_get(names, i));
            json_array_remove(names, i);
        }
        if (names && !json_array_size(names))
            json_object_del(files, *key);
    }
    if (json_array_size(others))
        json_object_set(files, "others", others);
    json_decref(others);
}

static void copy_number(json_t *row, const char *to, const json_t *from,
                        const char *key, double scale)
{
    const json_t *value = json_object_get(from, key);

    if (json_is_number(value))
        json_object_set_new(row, to,
                            json_real(json_number_value(value) * scale));
}

static void copy_object(json_t *row, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);

    if (json_is_object(value))
        json_object_set(row, key, value);
}

static void on_reply(trace_t *self, const journal_record_t *record)
{
    json_t *row = open_row(self, record);
    json_auto_t *content = NULL;
    json_auto_t *metadata = NULL;
    const json_t *own, *began;
    char number[24];

    if (!row)
        return;
    content = record_object(record->content);
    metadata = record_object(record->metadata);
    own = json_object_get(metadata, "hearth");
    json_object_set_new(row, "status",
                        json_string(member_text(content, "status")));
    began = json_object_get(row, "began_us");
    if (began)
        json_object_set_new(
            row, "duration_ms",
            json_real((double) (record->wall_us - json_integer_value(began))
                      / 1000));
    copy_number(row, "cpu_ms", own, "cpu_us", 1e-3);
    copy_number(row, "cpu_ms", own, "cpu_ms", 1);
    copy_number(row, "memory_kib", own, "rss_kib", 1);
    copy_number(row, "memory_kib", own, "peak_memory_kib", 1);
    copy_object(row, own, "namespace");
    copy_object(row, own, "files");
    sort_files(self, row);
    json_object_clear(self->moved);
    add_limits(row, json_object_get(own, "limits"));
    if (json_is_integer(json_object_get(content, "execution_count")))
        json_object_set(row, "execution_count",
                        json_object_get(content, "execution_count"));
    if (strcmp(member_text(content, "status"), "error") == 0)
        on_error(self, row, content);
    json_object_del(row, "began_us");
    number_text(record->request, number);
    json_object_del(self->open, number);
}

/* Adds a row for a file that was put, moved or removed, by a command or over
 * HTTP. */
static void on_file(trace_t *self, const json_t *content)
{
    static const char *const members[] = {"path", "to", NULL};

    if (strcmp(member_text(content, "what"), "get") == 0
        || strcmp(member_text(content, "outcome"), "ok") != 0)
        return;
    if (!self->moved)
        self->moved = json_object();
    for (const char *const *key = members; *key; key++)
        if (*member_text(content, *key))
            json_object_set_new(self->moved, member_text(content, *key),
                                json_true());
}

/* Returns true for states without a row. A kernel is launched and soon ready:
 * one row is enough. Answers to input() are the cell's. The others are for the
 * next gateway. */
static bool has_no_row(const char *type)
{
    static const char *const types[] = {"launch", "preinstalled", "input_reply",
                                        "looked", "loss_reported"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static void on_state(trace_t *self, const journal_record_t *record)
{
    static const char *const members[] = {"reason", "detail",  "text",
                                          "by",     "from",    "who",
                                          "path",   "outcome", NULL};
    json_auto_t *content = NULL;
    json_t *row;

    if (has_no_row(record->type))
        return;
    content = record_object(record->content);
    if (strcmp(record->type, "file") == 0)
        on_file(self, content);
    else if (*member_text(content, "reason"))
        on_end(self, member_text(content, "reason"));
    row = add_row(self, record, record->type);
    for (const char *const *key = members; *key; key++)
        if (json_is_string(json_object_get(content, *key)))
            json_object_set_new(row, *key,
                                beginning(json_object_get(content, *key)));
    /* A file's `what` has another name in the row, which has a `what` of its
     * own. */
    if (json_is_string(json_object_get(content, "what")))
        json_object_set(row, "done", json_object_get(content, "what"));
    if (json_is_boolean(json_object_get(content, "is_complete")))
        json_object_set(row, "is_complete",
                        json_object_get(content, "is_complete"));
}

static void on_gap(trace_t *self, const journal_record_t *record)
{
    json_auto_t *content = record_object(record->content);
    json_t *row = open_row(self, record);
    bool is_of_cell = row != NULL;

    if (!row)
        row = add_row(self, record, "gap");
    else
        add_limit(row, "journal");
    if (!is_of_cell) {
        copy_number(row, "records", content, "records", 1);
        copy_number(row, "bytes", content, "bytes", 1);
    }
}

void trace_add(trace_t *self, const journal_record_t *record)
{
    switch (record->kind) {
    case JOURNAL_REQUEST:
        on_request(self, record);
        break;
    case JOURNAL_EVENT:
        on_event(self, record);
        break;
    case JOURNAL_REPLY:
        on_reply(self, record);
        break;
    case JOURNAL_STATE:
        on_state(self, record);
        break;
    case JOURNAL_GAP:
        on_gap(self, record);
        break;
    }
}

/* Ends the trace: a cell without a reply keeps no half of a duration. */
static void finish(trace_t *self)
{
    const char *number;
    json_t *row;

    json_object_foreach(self->open, number, row)
        json_object_del(row, "began_us");
    if (!self->rows)
        self->rows = json_array();
}

int trace_read(const char *journal_folder, const uint8_t *key,
               json_t **ret_rows, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    cleanup_trace trace_t trace = {0};
    journal_record_t record;
    int r = journal_reader_new(journal_folder, key, 0, &reader, fault);

    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) > 0)
        trace_add(&trace, &record);
    finish(&trace);
    if (r == 0 || r == -EBADMSG)
        *ret_rows = take_ptr(trace.rows);
    return r;
}
