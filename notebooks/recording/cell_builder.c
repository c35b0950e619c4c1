/* See cell_builder.h. */
#include "notebooks/recording/cell_builder.h"

#include "base/clock.h"
#include "notebooks/journal/peer_name.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"
#include "protocol/jspan.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <string.h>

/* The most outputs of one cell that a notebook holds: no program that shows
 * notebooks survives more. */
#define OUTPUT_BYTES_MAX (64u << 20)
#define INPUTS_MAX       1000 /* the most questions of one cell that are kept */
#define CALLS_MAX        1000 /* the most calls of host tools of one cell */

json_t *record_object(bytes_t part)
{
    json_t *value =
        part.size ? json_tree_load(part.bytes, part.size, NULL) : NULL;

    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

void cell_builder_destroy(cell_builder_t **self_p)
{
    cell_builder_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->notes);
    json_decref(self->timing);
    output_list_clear(&self->outputs);
    notebook_cell_clear(&self->cell);
    free(self);
    *self_p = NULL;
}

json_t *record_time(int64_t wall_us)
{
    char text[CLOCK_ISO_SIZE];

    clock_iso(wall_us, text);
    return json_string(text);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (*text)
        json_object_set_new(object, key, json_string(text));
}

static void set_number(json_t *object, const char *key, json_t *number)
{
    if (json_is_number(number))
        json_object_set(object, key, number);
}

/* The name in the message's header, what the client calls itself (`own`: our
 * part of the metadata), and the connection that it came by. */
/* Returns the peer as the audit log names it; NULL if the gateway itself
 * asked. */
static char *peer(const json_t *origin)
{
    const char *hex = json_string_value(
        json_array_get(json_object_get(origin, "identities"), 0));
    const char *frontend = member_text(origin, "front");
    uint8_t bytes[WIRE_IDENTITY_MAX];
    size_t size = 0;

    if (!hex || strcmp(frontend, JOURNAL_SEED) == 0
        || sodium_hex2bin(bytes, sizeof bytes, hex, strlen(hex), NULL, &size,
                          NULL)
               != 0)
        return NULL;
    return peer_name(frontend, bytes, size);
}

static json_t *who(const journal_record_t *record, const json_t *own)
{
    json_auto_t *header = record_object(record->header);
    json_auto_t *origin = record_object(record->origin);
    cleanup_free char *name = peer(origin);
    json_t *who = json_object();

    set_text(who, "username", member_text(header, "username"));
    set_text(who, "name", member_text(own, "client"));
    set_text(who, "client", member_text(origin, "client"));
    set_text(who, "channel", member_text(origin, "channel"));
    set_text(who, "peer", name ? name : "");
    return who;
}

static void set_source(cell_builder_t *self, const char *text, size_t size)
{
    self->cell.source = mem_copy(text, size);
    self->cell.source_size = size;
}

/* Returns true if the record belongs to a seed, which no client can claim: the
 * gateway writes the origin. */
static bool is_seed(const journal_record_t *record)
{
    json_auto_t *origin = record_object(record->origin);
    const char *frontend = json_string_value(json_object_get(origin, "front"));

    return frontend && strcmp(frontend, JOURNAL_SEED) == 0;
}

static void begin_code(cell_builder_t *self, const journal_record_t *record,
                       const json_t *content)
{
    json_auto_t *metadata = record_object(record->metadata);
    json_t *own = json_object_get(metadata, "hearth");
    json_t *code = json_object_get(content, "code");

    set_source(self, member_text(content, "code"), json_string_length(code));
    json_object_set_new(self->notes, "request",
                        json_integer((json_int_t) record->request));
    json_object_set_new(self->notes, "asked", record_time(record->wall_us));
    json_object_set_new(self->notes, "who", who(record, own));
    json_object_set_new(self->notes, "status", json_string("unanswered"));
    set_number(self->notes, "time_limit", json_object_get(own, "time_limit"));
    /* Cells with this member are not replayed unless asked for (replay.h). */
    if (json_is_true(json_object_get(own, "outside_effects")))
        json_object_set_new(self->notes, "outside_effects", json_true());
    if (json_is_true(json_object_get(own, "revival")))
        json_object_set_new(self->notes, "revival", json_true());
    if (is_seed(record))
        json_object_set_new(self->notes, "seed", json_true());
}

/* Makes a cell of text between the code. It also says which records are
 * missing. */
static void begin_text(cell_builder_t *self, const journal_record_t *record,
                       const json_t *content)
{
    self->cell.kind = NOTEBOOK_MARKDOWN;
    if (record->kind == JOURNAL_GAP) {
        cleanup_free char *text = mem_format(
            "[%lld records (%lld bytes) were given up to keep the journal "
            "within its bound]",
            (long long) json_integer_value(json_object_get(content, "records")),
            (long long) json_integer_value(json_object_get(content, "bytes")));
        set_source(self, text, strlen(text));
        json_object_set_new(self->notes, "gap", json_true());
        return;
    }
    json_t *text = json_object_get(content, "text");
    set_source(self, member_text(content, "text"), json_string_length(text));
    json_object_set_new(self->notes, "note", json_true());
    json_object_set_new(self->notes, "asked", record_time(record->wall_us));
    set_text(self->notes, "by", member_text(content, "by"));
    if (json_is_object(json_object_get(content, "call")))
        json_object_set(self->notes, "call", json_object_get(content, "call"));
}

cell_builder_t *cell_builder_new(const journal_record_t *record,
                                 json_t *content)
{
    cell_builder_t *self = mem_new(sizeof *self);

    /* Makes the cell's id from the record's number: the same in every
     * export. */
    self->cell.id = mem_format("hearth-%llu", (unsigned long long) record->seq);
    self->outputs.bytes_max = OUTPUT_BYTES_MAX;
    self->timing = json_object();
    self->notes = json_object();
    self->began_us = record->wall_us;
    json_object_set_new(self->notes, "seq",
                        json_integer((json_int_t) record->seq));
    if (record->kind == JOURNAL_REQUEST)
        begin_code(self, record, content);
    else
        begin_text(self, record, content);
    return self;
}

/* Adds the cost of the cell, as far as its kernel has reported it. */
static void take_figures(cell_builder_t *self, const json_t *own,
                         int64_t ended_us)
{
    static const char *const figures[] = {
        "cpu_ms", "cpu_us", "duration_ms", "peak_memory_kib", "rss_kib", NULL};

    /* Milliseconds with two decimals. */
    int64_t hundredths = (ended_us - self->began_us) / 10;

    json_object_set_new(self->notes, "duration_ms",
                        json_real((double) hundredths / 100));
    for (const char *const *figure = figures; *figure; figure++)
        set_number(self->notes, *figure, json_object_get(own, *figure));
}

/* Writes the times under the names that JupyterLab and its extensions read. */
static void on_reply(cell_builder_t *self, const journal_record_t *record,
                     const json_t *content)
{
    json_auto_t *metadata = record_object(record->metadata);
    const char *started = member_text(metadata, "started");
    json_int_t count =
        json_integer_value(json_object_get(content, "execution_count"));

    self->cell.count = count > 0 ? count : 0;
    if (*started && !json_object_get(self->timing, "iopub.execute_input"))
        set_text(self->timing, "iopub.execute_input", started);
    set_text(self->timing, "iopub.status.busy", started);
    set_text(self->timing, "shell.execute_reply.started", started);
    json_object_set_new(self->timing, "shell.execute_reply",
                        record_time(record->wall_us));
    json_object_set_new(self->timing, "iopub.status.idle",
                        record_time(record->wall_us));
    set_text(self->notes, "status", member_text(content, "status"));
    /* The error in the outputs may differ from the reply's, for example after a
     * time limit. */
    if (strcmp(member_text(content, "status"), "error") == 0)
        set_text(self->notes, "ename", member_text(content, "ename"));
    take_figures(self, json_object_get(metadata, "hearth"), record->wall_us);
}

/* Adds a question of input(). Its answer has a record of its own. */
static void on_question(cell_builder_t *self, const json_t *content)
{
    json_t *inputs = json_object_get(self->notes, "inputs");
    json_t *input;

    if (!inputs) {
        inputs = json_array();
        json_object_set_new(self->notes, "inputs", inputs);
    }
    if (json_array_size(inputs) == INPUTS_MAX)
        return;
    input = json_pack("{s:s}", "prompt", member_text(content, "prompt"));
    if (json_is_true(json_object_get(content, "password")))
        json_object_set_new(input, "password", json_true());
    json_array_append_new(inputs, input);
}

void cell_builder_answer(cell_builder_t *self, const json_t *content)
{
    json_t *inputs = json_object_get(self->notes, "inputs");
    json_t *input = json_array_get(inputs, json_array_size(inputs) - 1);
    json_t *value = json_object_get(content, "value");

    json_object_set_new(input, "answered", json_true());
    if (json_is_string(value))
        json_object_set(input, "value", value);
}

/* Sets a member to the JSON text of a record's member: a notebook sorts keys
 * and rounds long numbers, and a replay needs both as they were. */
static void set_json(json_t *object, const char *name,
                     const journal_record_t *record)
{
    jspan_t content, value;
    fault_t ignored;

    if (jspan_check(record->content.bytes, record->content.size, &content,
                    &ignored)
        < 0)
        return;
    value = jspan_member(content, name);
    if (!jspan_is(value, JSPAN_ABSENT))
        json_object_set_new(object, name, json_stringn(value.text, value.size));
}

void cell_builder_call(cell_builder_t *self, const journal_record_t *record,
                       const json_t *content)
{
    json_t *calls = json_object_get(self->notes, "tools");
    json_t *call;

    if (!calls) {
        calls = json_array();
        json_object_set_new(self->notes, "tools", calls);
    }
    if (json_array_size(calls) == CALLS_MAX)
        return;
    call = json_pack("{s:s, s:I}", "name", member_text(content, "name"), "seq",
                     (json_int_t) record->seq);
    set_json(call, "arguments", record);
    json_array_append_new(calls, call);
}

void cell_builder_called(cell_builder_t *self, const journal_record_t *record,
                         const json_t *content)
{
    static const char *const members[] = {"error", "by", "ms", NULL};
    json_int_t seq = json_integer_value(json_object_get(content, "call"));
    json_t *call;
    size_t i;

    json_array_foreach(json_object_get(self->notes, "tools"), i, call)
    {
        if (json_integer_value(json_object_get(call, "seq")) != seq)
            continue;
        set_json(call, "result", record);
        for (const char *const *name = members; *name; name++) {
            json_t *value = json_object_get(content, *name);
            if (value)
                json_object_set(call, *name, value);
        }
    }
}

static void on_event(cell_builder_t *self, const journal_record_t *record,
                     json_t *content, size_t size)
{
    if (strcmp(record->type, "input_request") == 0) {
        on_question(self, content);
        return;
    }
    if (strcmp(record->type, "execute_input") == 0) {
        json_int_t count =
            json_integer_value(json_object_get(content, "execution_count"));
        self->began_us = record->wall_us;
        self->cell.count = count > 0 ? count : 0;
        json_object_set_new(self->timing, "iopub.execute_input",
                            record_time(record->wall_us));
    } else
        output_list_add(&self->outputs, record->seq, record->type, content,
                        size);
}

void cell_builder_add(cell_builder_t *self, const journal_record_t *record,
                      json_t *content, size_t size)
{
    if (self->cell.kind != NOTEBOOK_CODE)
        return;
    if (record->kind == JOURNAL_REPLY)
        on_reply(self, record, content);
    else if (record->kind == JOURNAL_EVENT)
        on_event(self, record, content, size);
    else if (record->kind == JOURNAL_GAP)
        output_list_add_gap(
            &self->outputs,
            json_integer_value(json_object_get(content, "records")),
            json_integer_value(json_object_get(content, "bytes")));
}

/* Returns true if the request was answered before a kernel had begun it, so the
 * recorded code did not run. */
static bool is_refused(const cell_builder_t *self)
{
    return strcmp(member_text(self->notes, "status"), "error") == 0
           && !json_object_get(self->timing, "iopub.execute_input");
}

void cell_builder_finish(cell_builder_t *self, notebook_cell_t *ret_cell)
{
    if (self->cell.kind == NOTEBOOK_CODE && is_refused(self))
        json_object_set_new(self->notes, NOTEBOOK_REFUSED, json_true());
    if (self->outputs.cut_count)
        json_object_set_new(
            self->notes, "cut",
            json_pack("{s:I, s:I, s:I}", "bytes",
                      (json_int_t) self->outputs.cut_bytes, "records",
                      (json_int_t) self->outputs.cut_count, "seq",
                      (json_int_t) self->outputs.cut_seq));
    self->cell.outputs = output_list_finish(&self->outputs);
    self->cell.metadata = json_object();
    json_object_set(self->cell.metadata, "hearth", self->notes);
    if (self->cell.kind == NOTEBOOK_CODE)
        json_object_set(self->cell.metadata, "execution", self->timing);
    *ret_cell = self->cell;
    self->cell = (notebook_cell_t){0};
}
