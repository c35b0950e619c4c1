/* See request_queue.h. */
#include "gateway/session/requests/request_queue.h"

#include "base/buffer.h"
#include "protocol/frame.h"
#include "protocol/limits.h"
#include "protocol/msgid_set.h"

#include <assert.h>
#include <string.h>

/* The header of an answered request: threads print after their cell ended. */
typedef struct {
    uint64_t number;
    buffer_t header;
} recent_t;

struct request_queue {
    uint64_t epoch;
    uint64_t counter;            /* of numbers in this epoch */
    msgid_set_t *ids;            /* owned; msg_ids that were used */
    msgid_set_t *aborted;        /* owned; of requests that have not come */
    request_t *first, **end;     /* owned; waiting, in order */
    size_t size, bytes;          /* of those */
    bool is_refusing;            /* since the last push: there was no room */
    request_t *running;          /* owned */
    request_queue_input_t input; /* which the running request waits for */
    bool is_awaiting;            /* the running request is a cell that awaits */
    int64_t next_count;
    recent_t recent[REQUEST_QUEUE_RECENT_MAX]; /* a ring */
    size_t recent_next;
};

request_queue_t *request_queue_new(uint64_t epoch)
{
    request_queue_t *self = mem_new(sizeof *self);

    self->epoch = epoch;
    self->ids = msgid_set_new(MSGID_SET_MAX);
    self->aborted = msgid_set_new(REQUEST_QUEUE_EARLY_MAX);
    self->end = &self->first;
    self->next_count = 1;
    return self;
}

void request_queue_destroy(request_queue_t **self_p)
{
    request_queue_t *self = *self_p;
    request_t *request;

    if (!self)
        return;
    request_destroy(&self->running);
    while ((request = request_queue_pop(self)))
        request_destroy(&request);
    for (size_t i = 0; i < REQUEST_QUEUE_RECENT_MAX; i++)
        buffer_reset(&self->recent[i].header);
    msgid_set_destroy(&self->ids);
    msgid_set_destroy(&self->aborted);
    free(self);
    *self_p = NULL;
}

uint64_t request_queue_number(request_queue_t *self)
{
    return self->epoch << 32 | ++self->counter;
}

void request_queue_note_id(request_queue_t *self, const char *msg_id)
{
    msgid_set_add(self->ids, msg_id);
}

bool request_queue_knows_id(const request_queue_t *self, const char *msg_id)
{
    return msgid_set_has(self->ids, msg_id);
}

void request_queue_abort_early(request_queue_t *self, const char *msg_id)
{
    if (!request_queue_knows_id(self, msg_id))
        msgid_set_add(self->aborted, msg_id);
}

bool request_queue_is_aborted(const request_queue_t *self, const char *msg_id)
{
    return msgid_set_has(self->aborted, msg_id);
}

/* ---- those that wait ---- */

request_queue_room_t request_queue_room(const request_queue_t *self,
                                        size_t bytes, uint64_t max,
                                        uint64_t max_bytes)
{
    if (self->size >= max)
        return REQUEST_QUEUE_TOO_MANY;
    if (self->size && self->bytes + bytes > max_bytes)
        return REQUEST_QUEUE_TOO_MUCH;
    return REQUEST_QUEUE_ROOM;
}

bool request_queue_refuse(request_queue_t *self)
{
    bool is_news = !self->is_refusing;

    self->is_refusing = true;
    return is_news;
}

void request_queue_push(request_queue_t *self, request_t **request_p)
{
    request_t *request = take_ptr(*request_p);

    *self->end = request;
    self->end = &request->next;
    self->size++;
    self->bytes += request->bytes;
    self->is_refusing = false;
}

/* Removes the request that `*at` leads to; NULL if that is the end. */
static request_t *unlink_at(request_queue_t *self, request_t **at)
{
    request_t *request = *at;

    if (!request)
        return NULL;
    *at = request->next;
    if (!*at)
        self->end = at;
    request->next = NULL;
    self->size--;
    self->bytes -= request->bytes;
    return request;
}

request_t *request_queue_pop(request_queue_t *self)
{
    return unlink_at(self, &self->first);
}

request_t *request_queue_pop_until(request_queue_t *self, uint64_t last)
{
    return self->first && self->first->number <= last ? request_queue_pop(self)
                                                      : NULL;
}

request_t *request_queue_pop_execute(request_queue_t *self)
{
    request_t **at = &self->first;

    while (*at && !request_is_execute(*at))
        at = &(*at)->next;
    return unlink_at(self, at);
}

request_t *request_queue_take(request_queue_t *self, uint64_t number)
{
    request_t **at = &self->first;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return unlink_at(self, at);
}

request_t *request_queue_find(request_queue_t *self, uint64_t number)
{
    request_t *at = self->first;

    while (at && at->number != number)
        at = at->next;
    return at;
}

request_t *request_queue_next_comm(request_queue_t *self, request_t *after)
{
    request_t *at = after ? after->next : self->first;

    while (at && !frame_is_comm_request(at->frame_type))
        at = at->next;
    return at;
}

request_t *request_queue_find_comm(request_queue_t *self, uint64_t number)
{
    request_t *at = request_queue_next_comm(self, NULL);

    while (at && at->number != number)
        at = request_queue_next_comm(self, at);
    return at;
}

const request_t *request_queue_first(const request_queue_t *self)
{
    return self->first;
}

static bool is_called(const request_t *request, const char *msg_id)
{
    return request->frame_type
           && strcmp(message_id(request->message), msg_id) == 0;
}

const request_t *request_queue_find_id(const request_queue_t *self,
                                       const char *msg_id)
{
    if (self->running && is_called(self->running, msg_id))
        return self->running;
    for (const request_t *at = self->first; at; at = at->next)
        if (is_called(at, msg_id))
            return at;
    return NULL;
}

size_t request_queue_size(const request_queue_t *self)
{
    return self->size;
}

size_t request_queue_bytes(const request_queue_t *self)
{
    return self->bytes;
}

size_t request_queue_held(const request_queue_t *self)
{
    return self->bytes + (self->running ? self->running->bytes : 0);
}

/* ---- the one that runs ---- */

void request_queue_start(request_queue_t *self, request_t **request_p)
{
    assert(!self->running);
    self->running = take_ptr(*request_p);
}

request_t *request_queue_running(const request_queue_t *self)
{
    return self->running;
}

bool request_queue_runs_cell(const request_queue_t *self)
{
    return self->running && request_is_execute(self->running);
}

bool request_queue_runs(const request_queue_t *self, uint64_t number)
{
    return self->running && self->running->number == number;
}

bool request_queue_note_awaiting(request_queue_t *self, uint64_t number)
{
    if (!request_queue_runs(self, number) || !request_is_execute(self->running))
        return false;
    self->is_awaiting = true;
    return true;
}

bool request_queue_is_awaiting(const request_queue_t *self)
{
    return self->is_awaiting;
}

request_t *request_queue_finish(request_queue_t *self)
{
    request_t *request = take_ptr(self->running);

    self->input = REQUEST_QUEUE_NO_INPUT;
    self->is_awaiting = false;
    if (request)
        request_queue_remember(self, request);
    return request;
}

void request_queue_want_input(request_queue_t *self,
                              request_queue_input_t input)
{
    self->input = input;
}

request_queue_input_t request_queue_input(const request_queue_t *self)
{
    return self->input;
}

/* ---- those that were answered ---- */

void request_queue_remember(request_queue_t *self, const request_t *request)
{
    recent_t *recent =
        &self->recent[self->recent_next++ % REQUEST_QUEUE_RECENT_MAX];
    bytes_t header = message_header(request->message);

    recent->number = request->number;
    buffer_clear(&recent->header);
    buffer_append(&recent->header, header.bytes, header.size);
}

static bytes_t header_of(const recent_t *recent)
{
    return buffer_bytes(&recent->header);
}

bytes_t request_queue_parent(const request_queue_t *self, uint64_t number)
{
    if (request_queue_runs(self, number))
        return message_header(self->running->message);
    for (size_t i = 0; number && i < REQUEST_QUEUE_RECENT_MAX; i++)
        if (self->recent[i].number == number)
            return header_of(&self->recent[i]);
    for (const request_t *at = self->first; number && at; at = at->next)
        if (at->number == number && request_is_started(at))
            return message_header(at->message);
    return (bytes_t){0};
}

bytes_t request_queue_last(const request_queue_t *self)
{
    size_t at = self->recent_next + REQUEST_QUEUE_RECENT_MAX - 1;

    return header_of(&self->recent[at % REQUEST_QUEUE_RECENT_MAX]);
}

int64_t request_queue_next_count(const request_queue_t *self)
{
    return self->next_count;
}

void request_queue_set_next_count(request_queue_t *self, int64_t count)
{
    self->next_count = count;
}

void request_queue_read_count(request_queue_t *self, jspan_t metadata)
{
    int64_t count;

    if (jspan_to_integer(jspan_member(metadata, "next_count"), &count)
        && count > 0)
        self->next_count = count;
}
