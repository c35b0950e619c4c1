/* See executions.h. */
#include "gateway/http/ws/executions.h"

#include "base/clock.h"
#include "base/log.h"
#include "notebooks/output_list.h"
#include "notebooks/tree.h"

#include <sodium.h>

#include <string.h>

#define UNUSED_MS   600000      /* an index that nobody asks for */
#define OUTPUTS_MAX (64u << 20) /* bytes of a result */

static void destroy_run(void **self_p)
{
    run_t *self = *self_p;

    json_decref(self->question);
    json_decref(self->refusal);
    free(self);
    *self_p = NULL;
}

static void destroy_runs(void **self_p)
{
    runs_t *self = *self_p;

    zlistx_destroy(&self->open);
    zhashx_destroy(&self->table);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

zhashx_t *runs_table_new(void)
{
    zhashx_t *table = zhashx_new();

    zhashx_set_destructor(table, destroy_runs);
    return table;
}

void run_digest(const char *code, uint8_t ret_digest[RUN_DIGEST_SIZE])
{
    crypto_generichash(ret_digest, RUN_DIGEST_SIZE, (const uint8_t *) code,
                       strlen(code), NULL, 0);
}

run_t *runs_find(const runs_t *self, const char *id)
{
    return zhashx_lookup(self->table, id);
}

run_t *runs_add(runs_t *self, const char *id)
{
    run_t *run = mem_new(sizeof *run);

    snprintf(run->id, sizeof run->id, "%s", id);
    zhashx_insert(self->table, run->id, run);
    return run;
}

void runs_drop(runs_t *self, run_t *run)
{
    zhashx_delete(self->table, run->id);
}

run_t *runs_asking(const runs_t *self)
{
    for (run_t *at = zlistx_first(self->open); at; at = zlistx_next(self->open))
        if (at->state == RUN_ASKING)
            return at;
    return NULL;
}

/* --- Reading the journal --- */

static json_t *parse(journal_part_t part)
{
    return part.size ? tree_load(part.bytes, part.size, NULL) : NULL;
}

/* Whether the request came from here: its origin names the viewer, in
 * hexadecimal. */
static bool is_ours(const journal_record_t *record)
{
    static const char hex[] = "726573742f"; /* RUN_VIEWER */
    json_auto_t *origin = parse(record->origin);
    const char *front = json_string_value(json_object_get(origin, "front"));
    const char *viewer = json_string_value(
        json_array_get(json_object_get(origin, "identities"), 0));

    return front && strcmp(front, "http") == 0 && viewer
           && strncmp(viewer, hex, sizeof hex - 1) == 0;
}

static void on_request(runs_t *self, const journal_reader_t *reader,
                       const journal_record_t *record)
{
    if (strcmp(record->type, "execute_request") != 0 || !is_ours(record))
        return;
    json_auto_t *header = parse(record->header);
    json_auto_t *content = parse(record->content);
    const char *id = json_string_value(json_object_get(header, "msg_id"));
    const char *code = json_string_value(json_object_get(content, "code"));
    if (!id || strlen(id) >= RUN_ID_SIZE)
        return;
    run_t *run = runs_find(self, id);
    if (!run)
        run = runs_add(self, id);
    run->number = record->request;
    run->mark = journal_reader_mark(reader);
    run->state = RUN_QUEUED;
    json_decref(run->refusal);
    run->refusal = NULL;
    run_digest(code ? code : "", run->digest);
    zlistx_add_end(self->open, run);
}

static run_t *open_run(const runs_t *self, uint64_t number)
{
    for (run_t *at = zlistx_first(self->open); at; at = zlistx_next(self->open))
        if (at->number == number)
            return at;
    return NULL;
}

static void ask(run_t *run, const journal_record_t *record)
{
    json_t *header = parse(record->header);
    json_t *content = parse(record->content);

    if (run->answered_seq >= record->seq) {
        json_decref(header);
        json_decref(content);
        return;
    }
    json_decref(run->question);
    run->question = json_pack("{s:o?,s:o?}", "parent_header", header,
                              "input_request", content);
    run->question_seq = record->seq;
    run->state = RUN_ASKING;
}

static void on_record(runs_t *self, const journal_reader_t *reader,
                      const journal_record_t *record)
{
    if (record->kind == JOURNAL_REQUEST) {
        on_request(self, reader, record);
        return;
    }
    /* The cursor of the list stands where the run was found. */
    run_t *run = record->request ? open_run(self, record->request) : NULL;
    if (!run)
        return;
    if (record->kind == JOURNAL_REPLY) {
        run->state = RUN_DONE;
        zlistx_detach_cur(self->open);
    } else if (strcmp(record->type, "input_request") == 0) {
        ask(run, record);
    } else {
        run->state = RUN_RUNNING;
    }
}

static int open_reader(const http_t *http, const runs_t *self,
                       journal_reader_t **ret_reader, fault_t *fault)
{
    int r = journal_reader_new(self->folder, http->journal_key, self->read,
                               ret_reader, fault);

    if (r < 0 || !self->mark.segment)
        return r;
    if (journal_reader_seek(*ret_reader, &self->mark, fault) == 0)
        return 0;
    journal_reader_destroy(ret_reader);
    return journal_reader_new(self->folder, http->journal_key, self->read,
                              ret_reader, fault);
}

/* From where it stopped; when a compaction has moved that, from the
 * segment's front. */
static int read_on(const http_t *http, runs_t *self, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int r = open_reader(http, self, &reader, fault);

    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) > 0) {
        self->mark = journal_reader_mark(reader);
        if (record.seq <= self->read)
            continue;
        on_record(self, reader, &record);
        self->read = record.seq;
    }
    return r;
}

runs_t *runs_of(http_t *http, const char *session, const char *folder,
                fault_t *fault)
{
    runs_t *self = zhashx_lookup(http->runs, session);

    if (!self) {
        self = mem_new(sizeof *self);
        self->folder = mem_text(folder);
        self->open = zlistx_new();
        self->table = zhashx_new();
        zhashx_set_destructor(self->table, destroy_run);
        zhashx_insert(http->runs, session, self);
    }
    self->used = clock_monotonic_ms();
    if (read_on(http, self, fault) == 0)
        return self;
    self->mark = (journal_mark_t){0};
    return read_on(http, self, fault) == 0 ? self : NULL;
}

/* --- Results --- */

static json_t *finish_result(output_list_t *outputs, json_t *reply)
{
    static const char *const members[] = {"status",    "execution_count",
                                          "ename",     "evalue",
                                          "traceback", "user_expressions"};
    json_t *result = json_object();
    json_auto_t *list = output_list_finish(outputs);

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(reply, members[i]))
            json_object_set(result, members[i],
                            json_object_get(reply, members[i]));
    /* As text: so does the interface whose form this is. */
    cleanup_free char *text =
        json_dumps(list, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_object_set_new(result, "outputs", json_string(text));
    return result;
}

/* True: it was the reply. */
static bool add_record(output_list_t *outputs, const journal_record_t *record,
                       json_t **ret_reply)
{
    json_auto_t *content = parse(record->content);

    if (record->kind == JOURNAL_REPLY) {
        *ret_reply = json_incref(content);
        return true;
    }
    if (record->kind == JOURNAL_EVENT)
        output_list_add(outputs, record->seq, record->type, content,
                        record->content.size);
    else if (record->kind == JOURNAL_GAP)
        output_list_add_gap(
            outputs, json_integer_value(json_object_get(content, "records")),
            json_integer_value(json_object_get(content, "bytes")));
    return false;
}

/* A reader at the run's record: where it stood, or, when a compaction has
 * moved it, where the journal begins. */
static int open_run_reader(const http_t *http, const runs_t *self,
                           const run_t *run, bool is_moved,
                           journal_reader_t **ret_reader, fault_t *fault)
{
    int r = journal_reader_new(self->folder, http->journal_key, 0, ret_reader,
                               fault);

    if (r == 0 && !is_moved)
        r = journal_reader_seek(*ret_reader, &run->mark, fault);
    return r;
}

static json_t *read_result(const http_t *http, const runs_t *self,
                           const run_t *run, bool is_moved)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    CLEANUP(output_list_clear)
    output_list_t outputs = {.bytes_max = OUTPUTS_MAX};
    json_auto_t *reply = NULL;
    journal_record_t record;
    fault_t fault;

    if (open_run_reader(http, self, run, is_moved, &reader, &fault) < 0)
        return NULL;
    while (!reply && journal_reader_next(reader, &record, &fault) > 0)
        if (record.request == run->number
            && add_record(&outputs, &record, &reply))
            return finish_result(&outputs, reply);
    return NULL;
}

json_t *run_result(const http_t *http, const runs_t *self, const run_t *run)
{
    json_t *result = read_result(http, self, run, false);

    return result ? result : read_result(http, self, run, true);
}

/* --- What is told --- */

/* A request that the session refuses is not in the journal; one that it took
 * is found there, and what was noted here gives way. */
void runs_on_event(http_t *http, const front_event_t *event)
{
    const size_t size = sizeof RUN_VIEWER - 1;
    char id[RUN_ID_SIZE];
    const runs_t *self;
    run_t *run;

    if (event->what != FRONT_EVENT || event->channel != CHANNEL_SHELL
        || event->viewer.size <= size || event->viewer.size - size >= sizeof id
        || memcmp(event->viewer.bytes, RUN_VIEWER, size) != 0)
        return;
    self = zhashx_lookup(http->runs, event->session);
    snprintf(id, sizeof id, "%.*s", (int) (event->viewer.size - size),
             (const char *) event->viewer.bytes + size);
    run = self ? runs_find(self, id) : NULL;
    if (!run || run->state != RUN_SENT)
        return;
    run->refusal =
        json_loadb(event->content.bytes, event->content.size, 0, NULL);
    run->state = RUN_REFUSED;
}

/* The list of ids first: removing disturbs the walk. */
void runs_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();
    zlistx_t *ids = zhashx_keys(http->runs);

    for (const char *id = zlistx_first(ids); id; id = zlistx_next(ids)) {
        const runs_t *self = zhashx_lookup(http->runs, id);
        if (now - self->used > UNUSED_MS)
            zhashx_delete(http->runs, id);
    }
    zlistx_destroy(&ids);
}
