/* See recovery.h. */
#include "gateway/session/actor/recovery.h"

#include "base/log.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/processes/process_control.h"
#include "gateway/session/processes/process_records.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "gateway/session/requests/unlogged_replies.h"
#include "gateway/session/tools/tool_recovery.h"
#include "notebooks/journal/reader.h"

#include <string.h>

#define REPEAT_US (1000 * 1000) /* younger replies are sent again */

typedef struct answered {
    struct answered *next; /* owned */
    request_t *request;    /* owned */
    buffer_t metadata, content;
    int64_t wall_us;
} answered_t;

static void answered_destroy(answered_t **answered_p)
{
    answered_t *answered = *answered_p;

    request_destroy(&answered->request);
    buffer_reset(&answered->metadata);
    buffer_reset(&answered->content);
    free(answered);
    *answered_p = NULL;
}

static void drop_answered(answered_t **list, int64_t before_us)
{
    while (*list && (*list)->wall_us < before_us) {
        answered_t *first = *list;
        *list = first->next;
        answered_destroy(&first);
    }
}

struct recovery {
    answered_t *repeats;  /* owned; replies to send again */
    bool is_leaving;      /* another gateway was asked to end the kernel, and
                             has not ended it */
    uint64_t left_number; /* the last request that was that kernel's */
    bool is_open;         /* a kernel was ready, and its end is not recorded */
    uint64_t kernel_seq;  /* the last event of the kernel in the journal */
    request_queue_input_t input; /* the input that was asked for last, ... */
    uint64_t asking;             /* ... and the number of the request */
};

void recovery_destroy(recovery_t **self_p)
{
    recovery_t *self = *self_p;

    if (!self)
        return;
    drop_answered(&self->repeats, INT64_MAX);
    free(self);
    *self_p = NULL;
}

static void on_request(session_t *self, const journal_record_t *record)
{
    cleanup_request request_t *request = request_from_record(record);

    if (!request)
        return;
    request_queue_note_id(self->requests, message_id(request->message));
    request_queue_push(self->requests, &request);
}

/* Reads the count of the next cell in the metadata of a reply, if they have it
 * and can be read. */
static void read_count(session_t *self, bytes_t metadata)
{
    jspan_t value;
    fault_t ignored;

    if (metadata.size
        && jspan_check(metadata.bytes, metadata.size, &value, &ignored) == 0)
        request_queue_read_count(self->requests, value);
}

static void on_reply(session_t *self, const journal_record_t *record)
{
    request_t *request = request_queue_take(self->requests, record->request);
    answered_t **list = &self->recovery->repeats, **end = list;
    answered_t *answered;

    read_count(self, record->metadata);
    if (!request)
        return;
    revive_note_reply(self->start.revival, request);
    answered = mem_new(sizeof *answered);
    answered->request = request;
    answered->wall_us = record->wall_us;
    buffer_append(&answered->metadata, record->metadata.bytes,
                  record->metadata.size);
    buffer_append(&answered->content, record->content.bytes,
                  record->content.size);
    drop_answered(list, record->wall_us - REPEAT_US);
    while (*end)
        end = &(*end)->next;
    *end = answered;
}

static void drop_pending(void *arg, uint64_t first, uint64_t last)
{
    session_t *self = arg;
    const request_t *at = request_queue_first(self->requests);

    while (at) {
        uint64_t number = at->number;

        at = at->next;
        if (number >= first && number <= last) {
            request_t *answered = request_queue_take(self->requests, number);
            request_destroy(&answered);
        }
    }
}

/* Notes that the kernel was asked to leave: requests that wait by then were
 * meant for it. After a restart later requests are for the fresh kernel. */
static void on_leaving(session_t *self, const journal_record_t *record)
{
    jspan_t value;
    fault_t fault;
    bool restarts;

    self->recovery->is_leaving = true;
    restarts =
        jspan_check(record->content.bytes, record->content.size, &value, &fault)
            == 0
        && jspan_is(jspan_member(value, "restart"), JSPAN_TRUE);
    session_state_step(self->state,
                       restarts ? STATE_ON_WANT_RESTART : STATE_ON_WANT_END);
    self->recovery->left_number = 0;
    for (const request_t *at = request_queue_first(self->requests); at;
         at = at->next)
        self->recovery->left_number = at->number;
}

/* Notes a cell's question to its client: the answer can still come. */
static void on_question(recovery_t *self, const journal_record_t *record)
{
    jspan_t content;
    fault_t fault;

    self->asking = record->request;
    self->input = REQUEST_QUEUE_TEXT;
    if (jspan_check(record->content.bytes, record->content.size, &content,
                    &fault)
            == 0
        && jspan_is(jspan_member(content, "password"), JSPAN_TRUE))
        self->input = REQUEST_QUEUE_PASSWORD;
}

static void on_state(session_t *self, const journal_record_t *record)
{
    if (strcmp(record->type, "input_reply") == 0) {
        self->recovery->asking = 0;
    } else if (strcmp(record->type, "answered") == 0) {
        unlogged_replies_read(record->content, drop_pending, self);
    } else if (strcmp(record->type, "leaving") == 0) {
        on_leaving(self, record);
    } else if (strcmp(record->type, "gone") == 0) {
        self->recovery->is_open = false;
    } else if (strcmp(record->type, "ready") == 0) {
        self->recovery->is_open = true;
        buffer_clear(&self->info);
        buffer_append(&self->info, record->content.bytes, record->content.size);
        /* A kernel that was asked to leave may send READY before it does. A
         * kernel whose process is unknown cannot be taken over, so another one
         * is launched. */
        if (!self->recovery->is_leaving && self->spec->process.pid)
            session_state_step(self->state, STATE_ON_WANT_NOTHING);
    } else if (strcmp(record->type, "launch") == 0
               || strcmp(record->type, "restart") == 0
               || strcmp(record->type, "reviving") == 0) {
        /* A fresh kernel counts its events from one. */
        self->recovery->is_open = false;
        buffer_clear(&self->info);
        self->recovery->kernel_seq = 0;
        request_queue_set_next_count(self->requests, 1);
        session_state_step(self->state, strcmp(record->type, "restart") == 0
                                            ? STATE_ON_WANT_RESTART
                                            : STATE_ON_WANT_NOTHING);
        self->recovery->is_leaving = false;
        self->recovery->left_number = 0;
    }
    if (strncmp(record->type, "process", strlen("process")) == 0)
        process_records_recall(self, record);
    if (strcmp(record->type, "reviving") == 0
        || strcmp(record->type, "revived") == 0) {
        revive_keep(self->start.revival, record->content);
    }
}

static void on_record(session_t *self, const journal_record_t *record)
{
    request_t *request;

    tool_recovery_take(self, record);
    loss_report_recall(self, record);
    switch (record->kind) {
    case JOURNAL_REQUEST:
        on_request(self, record);
        break;
    case JOURNAL_REPLY:
        on_reply(self, record);
        break;
    case JOURNAL_STATE:
        on_state(self, record);
        break;
    case JOURNAL_EVENT:
        request = request_queue_find(self->requests, record->request);
        if (request && !request_is_started(request)) {
            request->progress = REQUEST_STARTED;
            request->begun_us = record->wall_us;
        }
        if (strcmp(record->type, "input_request") == 0)
            on_question(self->recovery, record);
        break;
    case JOURNAL_GAP:
        break;
    }
    if (record->kernel_seq > self->recovery->kernel_seq)
        self->recovery->kernel_seq = record->kernel_seq;
}

/* Goes on without the records that cannot be read. A kernel may have been ready
 * in them. */
static void miss_records(session_t *self, const fault_t *fault)
{
    log_error("session=%s journal: %s", self->spec->id, fault->text);
    loss_notice_miss(self->losses);
    self->recovery->is_open = true;
}

int recovery_read(session_t *self, fault_t *fault)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int64_t last_us = 0;
    int r =
        journal_reader_new(folder, self->spec->journal.key, 0, &reader, fault);

    self->recovery = mem_new(sizeof *self->recovery);
    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) == 1) {
        last_us = record.wall_us;
        on_record(self, &record);
    }
    if (r < 0)
        miss_records(self, fault);
    drop_answered(&self->recovery->repeats, last_us - REPEAT_US);
    kernel_link_set_seq(self->link, self->recovery->kernel_seq);
    if (self->info.size && !self->spec->end.reason[0]
        && !self->recovery->is_leaving) {
        request_t *first = request_queue_pop(self->requests);

        session_state_step(self->state, STATE_ON_ADOPT);
        bool is_asking = first && first->number == self->recovery->asking;
        if (first && first->frame_type)
            dispatch_start(self, &first);
        if (is_asking)
            request_queue_want_input(self->requests, self->recovery->input);
        request_destroy(&first);
    }
    return 0;
}

void recovery_repeat(session_t *self)
{
    answered_t *list = take_ptr(self->recovery->repeats);

    for (answered_t *at = list; at; at = at->next) {
        publisher_send_reply(self->publisher, at->request,
                             buffer_bytes(&at->metadata),
                             buffer_bytes(&at->content));
        publisher_status(self->publisher, "idle",
                         message_header(at->request->message));
        request_queue_remember(self->requests, at->request);
    }
    drop_answered(&list, INT64_MAX);
}

void recovery_refuse(session_t *self)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    replies_write_gone(self, &name, &sentence);
    replies_fail_all(self, name, (const char *) sentence.data);
}

void recovery_refuse_old(session_t *self)
{
    replies_fail_for_end(self, self->recovery->left_number);
    self->recovery->left_number = 0;
}

bool recovery_misses_end(const recovery_t *self)
{
    return self->is_open;
}

bool recovery_is_leaving(const recovery_t *self)
{
    return self->is_leaving;
}
