/* A session that another gateway left: what it was doing stands in its
 * journal. A request without a reply waits or runs; the first of them is the
 * one that the kernel has, since requests are handed over one by one. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <string.h>

#define REPEAT_US (1000 * 1000) /* replies of the last second go out again */

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

static request_t *find_pending(self_t *self, uint64_t number)
{
    for (request_t *at = self->queue; at; at = at->next)
        if (at->number == number)
            return at;
    return NULL;
}

static request_t *unlink_pending(self_t *self, uint64_t number)
{
    request_t **at = &self->queue;
    request_t *found;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    found = *at;
    if (!found)
        return NULL;
    *at = found->next;
    if (!*at && !self->queue)
        self->queue_end = &self->queue;
    else if (!*at)
        self->queue_end = at;
    found->next = NULL;
    self->queue_size--;
    self->queue_bytes -= found->bytes;
    return found;
}

static void on_request(self_t *self, const journal_record_t *record)
{
    cleanup_request request_t *request = request_from_record(record);

    if (!request)
        return;
    seen_add(self->seen, message_id(request->message));
    turns_push(self, &request);
}

static void read_count(self_t *self, const journal_record_t *record)
{
    json_span_t value;
    int64_t count;
    fault_t fault;

    if (record->metadata.size
        && json_check(record->metadata.bytes, record->metadata.size, &value,
                      &fault)
               == 0
        && json_to_integer(json_member(value, "next_count"), &count))
        self->next_count = count;
}

static void on_reply(self_t *self, const journal_record_t *record,
                     answered_t **list)
{
    request_t *request = unlink_pending(self, record->request);
    answered_t *answered, **end = list;

    read_count(self, record);
    if (!request)
        return;
    revival_told(self, request);
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

static void drop_pending(self_t *self, uint64_t first, uint64_t last)
{
    request_t *at = self->queue;

    while (at) {
        request_t *next = at->next;

        if (at->number >= first && at->number <= last) {
            request_t *answered = unlink_pending(self, at->number);
            request_destroy(&answered);
        }
        at = next;
    }
}

/* What waits by now was meant for the kernel that is to go; with a restart
 * what comes later is the fresh one's. */
static void on_leaving(self_t *self, const journal_record_t *record)
{
    json_span_t value;
    fault_t fault;

    self->is_leaving = true;
    self->is_relaunching =
        json_check(record->content.bytes, record->content.size, &value, &fault)
            == 0
        && json_is(json_member(value, "restart"), JSON_KIND_TRUE);
    self->left_number = 0;
    for (const request_t *at = self->queue; at; at = at->next)
        self->left_number = at->number;
}

static void on_state(self_t *self, const journal_record_t *record)
{
    if (strcmp(record->type, "answered") == 0) {
        debts_each((bytes_t){record->content.bytes, record->content.size},
                   drop_pending, self);
    } else if (strcmp(record->type, "leaving") == 0) {
        on_leaving(self, record);
    } else if (strcmp(record->type, "ready") == 0) {
        buffer_clear(&self->info);
        buffer_append(&self->info, record->content.bytes, record->content.size);
        /* One that is to go may say so before it does. */
        if (!self->is_leaving)
            self->is_relaunching = false;
    } else if (strcmp(record->type, "launch") == 0
               || strcmp(record->type, "restart") == 0
               || strcmp(record->type, "reviving") == 0) {
        /* A fresh kernel counts its events from one. */
        buffer_clear(&self->info);
        self->kernel_seq = 0;
        self->next_count = 1;
        self->is_relaunching = strcmp(record->type, "restart") == 0;
        self->is_leaving = false;
        self->left_number = 0;
    }
    if (strcmp(record->type, "reviving") == 0
        || strcmp(record->type, "revived") == 0) {
        buffer_clear(&self->revived);
        buffer_append(&self->revived, record->content.bytes,
                      record->content.size);
    }
}

static void on_record(self_t *self, const journal_record_t *record,
                      answered_t **list)
{
    request_t *request;

    switch (record->kind) {
    case JOURNAL_REQUEST:
        on_request(self, record);
        break;
    case JOURNAL_REPLY:
        on_reply(self, record, list);
        break;
    case JOURNAL_STATE:
        on_state(self, record);
        break;
    case JOURNAL_EVENT:
        request = find_pending(self, record->request);
        if (request && !request->is_started) {
            request->is_started = true;
            request->begun_us = record->wall_us;
        }
        break;
    case JOURNAL_GAP:
        break;
    }
    if (record->kernel_seq > self->kernel_seq)
        self->kernel_seq = record->kernel_seq;
}

int recovery_read(self_t *self, fault_t *fault)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    answered_t *list = NULL;
    journal_record_t record;
    int64_t last_us = 0;
    int r =
        journal_reader_new(folder, self->spec->journal_key, 0, &reader, fault);

    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) == 1) {
        last_us = record.wall_us;
        on_record(self, &record, &list);
    }
    if (r < 0)
        log_error("session=%s journal: %s", self->spec->id, fault->text);
    drop_answered(&list, last_us - REPEAT_US);
    self->told_seq = self->kernel_seq;
    self->repeats = list;
    if (self->info.size && !self->spec->reason[0] && !self->is_leaving) {
        request_t *first = turns_pop(self);

        self->state = LIFE_IDLE;
        if (first && first->frame_type)
            turns_start(self, first);
    }
    return 0;
}

void recovery_repeat(self_t *self)
{
    answered_t *list = self->repeats;

    self->repeats = NULL;
    for (answered_t *at = list; at; at = at->next) {
        output_send_reply(self->output, at->request,
                          (bytes_t){at->metadata.data, at->metadata.size},
                          (bytes_t){at->content.data, at->content.size});
        output_status(self->output, "idle",
                      message_header(at->request->message));
        turns_remember(self, at->request);
    }
    drop_answered(&list, INT64_MAX);
}

void recovery_refuse(self_t *self)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    ending_error(self, &name, &sentence);
    turns_fail_all(self, name, (const char *) sentence.data);
}

void recovery_refuse_old(self_t *self)
{
    request_t **at = &self->queue, **end = self->queue_end, *later;

    while (*at && (*at)->number <= self->left_number)
        at = &(*at)->next;
    later = *at;
    *at = NULL;
    ending_fail_requests(self);
    self->queue = later;
    self->queue_end = later ? end : &self->queue;
    self->left_number = 0;
}

void recovery_clear(self_t *self)
{
    drop_answered(&self->repeats, INT64_MAX);
}
