/* See executions.h. */
#include "gateway/http/executions/executions.h"

#include "base/clock.h"
#include "base/log.h"
#include "notebooks/journal/reader.h"
#include "notebooks/json/tree.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

#define UNUSED_MS 600000 /* an index without requests is kept for this time */

static void destroy_run(void **self_p)
{
    execution_t *self = *self_p;

    json_decref(self->question);
    json_decref(self->refusal);
    free(self);
    *self_p = NULL;
}

/* Forgets the first processes of the list. */
static void drop_processes(executions_t *self, size_t count)
{
    if (count == 0)
        return; /* there may be no list yet */
    for (size_t i = 0; i < count; i++) {
        self->span_count -= self->processes[i].span_count;
        free(self->processes[i].spans);
    }
    self->process_count -= count;
    memmove(self->processes, self->processes + count,
            self->process_count * sizeof *self->processes);
}

static void destroy_runs(void **self_p)
{
    executions_t *self = *self_p;

    drop_processes(self, self->process_count);
    zlistx_destroy(&self->open);
    zhashx_destroy(&self->table);
    free(self->cells);
    free(self->processes);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

zhashx_t *executions_table_new(void)
{
    zhashx_t *table = zhashx_new();

    zhashx_set_destructor(table, destroy_runs);
    return table;
}

void execution_digest(const char *code,
                      uint8_t ret_digest[EXECUTION_DIGEST_SIZE])
{
    crypto_generichash(ret_digest, EXECUTION_DIGEST_SIZE,
                       (const uint8_t *) code, strlen(code), NULL, 0);
}

execution_t *executions_find(const executions_t *self, const char *id)
{
    return zhashx_lookup(self->table, id);
}

execution_t *executions_add(executions_t *self, const char *id)
{
    execution_t *run = mem_new(sizeof *run);

    snprintf(run->id, sizeof run->id, "%s", id);
    zhashx_insert(self->table, run->id, run);
    return run;
}

void executions_drop(executions_t *self, execution_t *run)
{
    zhashx_delete(self->table, run->id);
}

execution_t *executions_asking(const executions_t *self)
{
    for (execution_t *at = zlistx_first(self->open); at;
         at = zlistx_next(self->open))
        if (at->state == EXECUTION_ASKING)
            return at;
    return NULL;
}

const executions_cell_t *executions_cell(const executions_t *self,
                                         long long count)
{
    for (size_t i = self->cell_count; i > 0; i--)
        if (self->cells[i - 1].count == count)
            return &self->cells[i - 1];
    return NULL;
}

static executions_process_t *find_process(const executions_t *self,
                                          uint64_t number)
{
    for (size_t i = self->process_count; i > 0; i--)
        if (self->processes[i - 1].number == number)
            return &self->processes[i - 1];
    return NULL;
}

const executions_process_t *executions_process(const executions_t *self,
                                               uint64_t number)
{
    return find_process(self, number);
}

bool executions_may_have_process(const executions_t *self, uint64_t number)
{
    return executions_process(self, number)
           || (number && self->process_count
               && number < self->processes[0].number);
}

/* --- Reading the journal --- */

/* Returns true if the request came from here: its origin has the viewer's name,
 * in hexadecimal. */
static bool is_ours(const journal_record_t *record)
{
    static const char hex[] = "726573742f"; /* EXECUTION_CLIENT */
    json_auto_t *origin = json_tree_of(record->origin);
    const char *front = json_string_value(json_object_get(origin, "front"));
    const char *client = json_string_value(
        json_array_get(json_object_get(origin, "identities"), 0));

    return front && strcmp(front, FRONTEND_HTTP) == 0 && client
           && strncmp(client, hex, sizeof hex - 1) == 0;
}

static void on_request(executions_t *self, const journal_reader_t *reader,
                       const journal_record_t *record)
{
    if (strcmp(record->type, "execute_request") != 0 || !is_ours(record))
        return;
    json_auto_t *header = json_tree_of(record->header);
    json_auto_t *content = json_tree_of(record->content);
    json_auto_t *metadata = json_tree_of(record->metadata);
    const char *id = json_string_value(json_object_get(header, "msg_id"));
    const char *code = json_string_value(json_object_get(content, "code"));
    if (!id || strlen(id) >= EXECUTION_ID_SIZE)
        return;
    execution_t *run = executions_find(self, id);
    if (!run)
        run = executions_add(self, id);
    run->number = record->request;
    run->mark = journal_reader_mark(reader);
    run->state = EXECUTION_QUEUED;
    run->sent_us = run->changed_us = record->wall_us;
    run->tokens_max = (size_t) json_integer_value(
        json_object_get(json_object_get(metadata, "hearth"), "view_tokens"));
    json_decref(run->refusal);
    run->refusal = NULL;
    execution_digest(code ? code : "", run->digest);
    zlistx_add_end(self->open, run);
}

static execution_t *open_run(const executions_t *self, uint64_t number)
{
    for (execution_t *at = zlistx_first(self->open); at;
         at = zlistx_next(self->open))
        if (at->number == number)
            return at;
    return NULL;
}

static void ask(execution_t *run, const journal_record_t *record)
{
    json_t *header = json_tree_of(record->header);
    json_t *content = json_tree_of(record->content);

    if (run->answered_seq >= record->seq) {
        json_decref(header);
        json_decref(content);
        return;
    }
    json_decref(run->question);
    run->question = json_pack("{s:o?,s:o?}", "parent_header", header,
                              "input_request", content);
    run->question_seq = record->seq;
    run->state = EXECUTION_ASKING;
}

static void note_cell(executions_t *self, const journal_reader_t *reader,
                      const journal_record_t *record)
{
    json_auto_t *content = json_tree_of(record->content);
    json_int_t count =
        json_integer_value(json_object_get(content, "execution_count"));

    if (self->cell_count == EXECUTIONS_CELLS_MAX) {
        self->cell_count /= 2;
        memmove(self->cells, self->cells + self->cell_count,
                self->cell_count * sizeof *self->cells);
    }
    if ((self->cell_count & (self->cell_count - 1)) == 0)
        self->cells = mem_resize(self->cells, (self->cell_count * 2 + 1)
                                                  * sizeof *self->cells);
    self->cells[self->cell_count++] =
        (executions_cell_t){.count = count,
                            .request = record->request,
                            .mark = journal_reader_mark(reader)};
}

static executions_process_t *add_process(executions_t *self, uint64_t number)
{
    if (!self->processes)
        self->processes =
            mem_new(EXECUTIONS_PROCESSES_MAX * sizeof *self->processes);
    if (self->process_count == EXECUTIONS_PROCESSES_MAX)
        drop_processes(self, EXECUTIONS_PROCESSES_MAX / 2);
    self->processes[self->process_count] =
        (executions_process_t){.number = number};
    return &self->processes[self->process_count++];
}

static uint64_t size_of(const journal_record_t *record)
{
    uint64_t size = record->origin.size + record->header.size
                    + record->metadata.size + record->content.size;

    for (size_t i = 0; i < record->buffer_count; i++)
        size += record->buffers[i].size;
    return size;
}

static void add_span(executions_t *self, executions_process_t *process,
                     const journal_reader_t *reader)
{
    if ((process->span_count & (process->span_count - 1)) == 0)
        process->spans =
            mem_resize(process->spans,
                       (process->span_count * 2 + 1) * sizeof *process->spans);
    process->spans[process->span_count++] =
        (process_transcript_span_t){.mark = journal_reader_mark(reader)};
    self->span_count++;
}

/* Adds a record to the last span of its process, or to a new one if it is far
 * from that. */
static void note_span(executions_t *self, executions_process_t *process,
                      const journal_reader_t *reader,
                      const journal_record_t *record)
{
    uint64_t gap = self->passed - size_of(record) - process->passed;

    if (process->span_count == 0
        || (gap > EXECUTIONS_SPAN_GAP
            && self->span_count < EXECUTIONS_SPANS_MAX))
        add_span(self, process, reader);
    process->spans[process->span_count - 1].last = record->seq;
    process->passed = self->passed;
}

static void note_process(executions_t *self, const journal_reader_t *reader,
                         const journal_record_t *record)
{
    json_auto_t *content = json_tree_of(record->content);
    uint64_t number =
        (uint64_t) json_integer_value(json_object_get(content, "process"));
    executions_process_t *process = strcmp(record->type, "process") == 0
                                        ? add_process(self, number)
                                        : find_process(self, number);

    if (process)
        note_span(self, process, reader, record);
}

static void on_record(executions_t *self, const journal_reader_t *reader,
                      const journal_record_t *record)
{
    bool is_begun = record->kind == JOURNAL_EVENT
                    && strcmp(record->type, "execute_input") == 0;

    if (record->kind == JOURNAL_REQUEST) {
        on_request(self, reader, record);
        return;
    }
    if (is_begun)
        note_cell(self, reader, record);
    if (record->kind == JOURNAL_STATE
        && strncmp(record->type, "process", strlen("process")) == 0)
        note_process(self, reader, record);
    /* The list's cursor is at the execution that was found. */
    execution_t *run = record->request ? open_run(self, record->request) : NULL;
    if (!run)
        return;
    run->changed_us = record->wall_us;
    if (record->kind == JOURNAL_REPLY) {
        run->state = EXECUTION_DONE;
        zlistx_detach_cur(self->open);
    } else if (strcmp(record->type, "input_request") == 0) {
        ask(run, record);
    } else {
        run->state = EXECUTION_RUNNING;
    }
}

static int open_reader(const http_t *http, const executions_t *self,
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

/* Reads on from the last position, or from the beginning of the segment if a
 * compaction has moved that. */
static int read_on(const http_t *http, executions_t *self, fault_t *fault)
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
        self->passed += size_of(&record);
        on_record(self, reader, &record);
        self->read = record.seq;
    }
    return r;
}

/* Says what a client can do, without the path on the gateway's machine. */
static void explain(const char *session, fault_t *fault)
{
    if (fault->code == EBADMSG)
        (void) fault_set(fault, EBADMSG,
                         "the journal of session %s is damaged, so HTTP and "
                         "MCP cannot follow requests there and run no code; "
                         "`hearth exec` still does; make a new session to go "
                         "on",
                         session);
    else
        (void) fault_set(fault, fault->code,
                         "the journal of session %s cannot be read: %s",
                         session, strerror(fault->code));
}

executions_t *executions_of(http_t *http, const char *session,
                            const char *folder, fault_t *fault)
{
    executions_t *self = zhashx_lookup(http->executions, session);

    if (!self) {
        self = mem_new(sizeof *self);
        self->folder = mem_text(folder);
        self->open = zlistx_new();
        self->table = zhashx_new();
        zhashx_set_destructor(self->table, destroy_run);
        zhashx_insert(http->executions, session, self);
    }
    self->used = clock_monotonic_ms();
    if (read_on(http, self, fault) == 0)
        return self;
    self->mark = (journal_mark_t){0};
    if (read_on(http, self, fault) == 0)
        return self;
    explain(session, fault);
    return NULL;
}

void executions_fail(exchange_t *exchange, const fault_t *fault)
{
    exchange_fail_by(exchange, 500,
                     fault->code == EBADMSG ? "JournalDamaged"
                                            : "JournalUnread",
                     "%s", fault->text);
}

/* --- Events --- */

/* Notes a reply. A refused request is not in the journal. An accepted one is
 * read from there, and replaces the note. */
void executions_on_event(http_t *http, const frontend_event_t *event)
{
    const size_t size = sizeof EXECUTION_CLIENT - 1;
    char id[EXECUTION_ID_SIZE];
    const executions_t *self;
    execution_t *run;

    if (event->what != FRONTEND_EVENT || event->channel != CHANNEL_SHELL
        || event->client.size <= size || event->client.size - size >= sizeof id
        || memcmp(event->client.bytes, EXECUTION_CLIENT, size) != 0)
        return;
    self = zhashx_lookup(http->executions, event->session);
    snprintf(id, sizeof id, "%.*s", (int) (event->client.size - size),
             (const char *) event->client.bytes + size);
    run = self ? executions_find(self, id) : NULL;
    if (!run || run->state != EXECUTION_SENT)
        return;
    run->refusal =
        json_loadb(event->content.bytes, event->content.size, 0, NULL);
    run->state = EXECUTION_REFUSED;
}

/* Forgets what was not used for long. The list of ids is copied first, because
 * a removal disturbs the iteration. */
void executions_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();
    zlistx_t *ids = zhashx_keys(http->executions);

    for (const char *id = zlistx_first(ids); id; id = zlistx_next(ids)) {
        const executions_t *self = zhashx_lookup(http->executions, id);
        if (now - self->used > UNUSED_MS)
            zhashx_delete(http->executions, id);
    }
    zlistx_destroy(&ids);
}
