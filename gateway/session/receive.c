/* What clients send, by the session's own sockets and by fronts: told apart,
 * journaled, and queued; refused when it is wrong, replayed when it came
 * before. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_MAX  64 /* requests taken from one socket before others' turn */
#define ANSWER_MAX (64u << 10) /* of input(), in the recording */

static bytes_t buffer_bytes(const buffer_t *buffer)
{
    return (bytes_t){buffer->data, buffer->size};
}

int intake_journal(self_t *self, const request_t *request, fault_t *fault)
{
    cleanup_free char *origin = request_origin(request);
    const message_t *message = request->message;
    journal_part_t parts[16];
    size_t count = message_buffer_count(message);
    cleanup_free void *owned = NULL;
    journal_part_t *buffers = parts;
    journal_record_t record = {
        .kind = JOURNAL_REQUEST,
        .wall_us = clock_wall_us(),
        .request = request->number,
        .origin = {origin, strlen(origin)},
        .header = {message_header(message).bytes, message_header(message).size},
        .metadata = {message_metadata(message).bytes,
                     message_metadata(message).size},
        .content = {message_content(message).bytes,
                    message_content(message).size},
        .buffer_count = count,
    };

    if (count > 16)
        buffers = owned = mem_new(count * sizeof *buffers);
    for (size_t i = 0; i < count; i++)
        buffers[i] = (journal_part_t){message_buffer(message, i).bytes,
                                      message_buffer(message, i).size};
    record.buffers = buffers;
    snprintf(record.type, sizeof record.type, "%.39s", message_type(message));
    return journal_append(self->journal, &record, fault);
}

/* It was answered, and the journal could not take the reply
 * (unlogged_replies.c), or has given it up. */
static void say_unknown(self_t *self, const request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    turns_write_error(self, request, "JournalError",
                      "this request was answered before, and the session's "
                      "journal does not have the answer (it could not be "
                      "written then, or has given it up to keep its bound); "
                      "it is not run again",
                      &content);
    output_send_reply(self->output, request, (bytes_t){0},
                      buffer_bytes(&content));
}

static bool is_of(const journal_record_t *record, const char *id)
{
    json_span_t header;
    fault_t fault;

    return record->kind == JOURNAL_REQUEST && record->header.size
           && json_check(record->header.bytes, record->header.size, &header,
                         &fault)
                  == 0
           && json_text_equals(json_member(header, "msg_id"), id);
}

/* Clients that number their requests alike, or by a constant, would get each
 * other's answers. */
static void refuse_reused(self_t *self, request_t *request)
{
    turns_fail(self, request, "BadRequest",
               "another request of this session had the same msg_id, with "
               "other content; it is not run: give each request a msg_id of "
               "its own");
}

static bool is_same(const request_t *request, bytes_t content)
{
    bytes_t own = message_content(request->message);

    return own.size == content.size
           && memcmp(own.bytes, content.bytes, own.size) == 0;
}

/* Exactly once: a request whose msg_id is in the journal is not run again; its
 * events and its reply go out once more, under fresh ids. It stands before all
 * that came of it. */
static void replay(self_t *self, request_t *request)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    bytes_t parent = message_header(request->message);
    journal_record_t record;
    uint64_t number = 0;
    bool is_known = false;
    fault_t fault;

    if (journal_reader_new(folder, self->spec->journal_key, 0, &reader, &fault)
        < 0)
        return;
    while (journal_reader_next(reader, &record, &fault) == 1) {
        bytes_t metadata = {record.metadata.bytes, record.metadata.size};
        bytes_t content = {record.content.bytes, record.content.size};

        if (!number && is_of(&record, message_id(request->message))) {
            if (!is_same(request, content)) {
                refuse_reused(self, request);
                return;
            }
            number = record.request;
            output_status(self->output, "busy", parent);
        }
        if (!number || record.request != number)
            continue;
        if (record.kind == JOURNAL_EVENT
            && strcmp(record.type, "input_request") != 0)
            output_broadcast(self->output, record.type, parent, content);
        if (record.kind != JOURNAL_REPLY)
            continue;
        output_send_reply(self->output, request, metadata, content);
        is_known = true;
    }
    if (!number)
        output_status(self->output, "busy", parent);
    if (!is_known)
        say_unknown(self, request);
    output_status(self->output, "idle", parent);
}

static bool is_called(const request_t *request, const char *id)
{
    return request->frame_type && strcmp(message_id(request->message), id) == 0;
}

/* The one that runs or waits under that id; NULL: none. */
static const request_t *find_pending(const self_t *self, const char *id)
{
    if (self->running && is_called(self->running, id))
        return self->running;
    for (const request_t *at = self->queue; at; at = at->next)
        if (is_called(at, id))
            return at;
    return NULL;
}

/* One whose id came before: said again by its client, or somebody else's. */
static void repeat(self_t *self, request_t *request)
{
    const request_t *pending = find_pending(self, message_id(request->message));

    if (!pending)
        replay(self, request);
    else if (!is_same(request, message_content(pending->message)))
        refuse_reused(self, request);
}

static void refuse_full(self_t *self, request_t *request, const char *limit,
                        uint64_t max, const char *text)
{
    cleanup_free char *sentence =
        mem_format("%s (limits/%s of profile %s): send it again later", text,
                   limit, self->spec->profile->name);

    record_full(self, limit, max);
    turns_fail(self, request, "QueueFull", sentence);
}

static bool are_too_many(const self_t *self)
{
    return self->queue_size >= self->spec->limits.requests;
}

/* What waits for nobody else may be as big as a message can be. */
static bool is_too_much(const self_t *self, const request_t *request)
{
    return self->queue_size
           && self->queue_bytes + request->bytes
                  > self->spec->limits.requests_bytes;
}

/* False: it was refused. */
static bool has_room(self_t *self, request_t *request)
{
    const profile_limits_t *limits = &self->spec->limits;
    char text[160];

    if (are_too_many(self)) {
        snprintf(text, sizeof text,
                 "%zu requests wait already, the most of this session",
                 self->queue_size);
        refuse_full(self, request, "requests", limits->requests, text);
        return false;
    }
    if (is_too_much(self, request)) {
        snprintf(text, sizeof text,
                 "%zu bytes of requests wait already, and with the %zu of this "
                 "one there were more than %" PRIu64,
                 self->queue_bytes, request->bytes, limits->requests_bytes);
        refuse_full(self, request, "requests_bytes", limits->requests_bytes,
                    text);
        return false;
    }
    self->is_full_told = false;
    return true;
}

/* Journal first, then the queue. */
static void accept_request(self_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    const char *flaw = request_flaw(request);
    const char *id = message_id(request->message);
    fault_t fault;

    if (seen_has(self->seen, id)) {
        repeat(self, request);
        return;
    }
    if (flaw) {
        turns_fail(self, request, "BadRequest", flaw);
        return;
    }
    if (!has_room(self, request))
        return;
    if ((request->note
         && output_note(self->output, "note", 0, request->note, &fault) < 0)
        || intake_journal(self, request, &fault) < 0) {
        cleanup_free char *sentence = mem_format(
            "the request was not run: the session's journal cannot be written "
            "(%s); free some space and send it again under a new msg_id",
            fault.text);
        turns_fail(self, request, "JournalError", sentence);
        return;
    }
    request->is_journaled = true;
    seen_add(self->seen, id);
    turns_push(self, &request);
}

/* Where there is no room to wait it has its answer out of its turn, if that is
 * known: who asks what a kernel is hears it of a busy one, too. */
static void wait_for_turn(self_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    bool is_full = are_too_many(self) || is_too_much(self, request);

    if (is_full && self->info.size)
        answers_give(self, request);
    else if (has_room(self, request))
        turns_push(self, &request);
}

static void refuse_gone(self_t *self, request_t *request)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    ending_error(self, &name, &sentence);
    /* No journal: the session's record is closed. */
    turns_announce(self, request);
    if (request->is_execute && !request->silent) {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        buffer_text(&content, "{");
        turns_write_flaw(&content, name, (const char *) sentence.data);
        buffer_text(&content, "}");
        output_broadcast(self->output, "error",
                         message_header(request->message),
                         buffer_bytes(&content));
    }
    {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        turns_write_error(self, request, name, (const char *) sentence.data,
                          &content);
        output_send_reply(self->output, request, (bytes_t){0},
                          buffer_bytes(&content));
    }
    output_status(self->output, "idle", message_header(request->message));
}

static void on_request(self_t *self, const char *front, channel_t channel,
                       message_t **message_p)
{
    cleanup_request request_t *request =
        request_new(turns_number(self), channel, message_p);

    snprintf(request->front, sizeof request->front, "%s", front);
    request->came_us = clock_monotonic_us();
    if (self->state == LIFE_GONE) {
        refuse_gone(self, request);
    } else if (request->frame_type) {
        accept_request(self, &request);
    } else if (answers_wait(self, request)) {
        wait_for_turn(self, &request);
    } else {
        answers_give(self, request);
    }
}

/* It belongs to the recording, which can give it again; a password does not,
 * nor what is no answer of a person. */
static void record_answer(self_t *self, const message_t *message)
{
    json_span_t value = json_member(message_content_json(message), "value");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    buffer_format(&out, "{\"request\":%" PRIu64, self->running->number);
    if (self->input_is_secret)
        buffer_text(&out, ",\"password\":true");
    else if (json_is(value, JSON_KIND_STRING) && value.size <= ANSWER_MAX) {
        buffer_text(&out, ",\"value\":");
        buffer_append(&out, value.text, value.size);
    }
    buffer_text(&out, "}");
    if (output_note(self->output, "input_reply", 0, (const char *) out.data,
                    &fault)
        < 0)
        log_warning("session=%s input_reply: %s", self->spec->id, fault.text);
}

/* An answer counts when one is wanted and the one who was asked gives it. */
static void on_input_reply(self_t *self, const char *front,
                           const message_t *message)
{
    bytes_t content = message_content(message);
    frame_t frame = {
        .type = FRAME_INPUT_REPLY,
        .content = {content.bytes, content.size},
    };
    fault_t fault;

    if (strcmp(message_type(message), "input_reply") != 0 || !self->running
        || !self->input_wanted || !self->kernel
        || !message_identity_count(message)
        || !request_is_of(self->running, front, message_identity(message, 0)))
        return;
    frame.request = self->running->number;
    self->input_wanted = false;
    record_answer(self, message);
    if (session_send(self, &frame, &fault) < 0)
        log_warning("session=%s input_reply: %s", self->spec->id, fault.text);
}

static void take_port(self_t *self, channel_t channel, int most)
{
    message_t *message;

    while (most-- > 0) {
        if (pressure_of_replies(self)) {
            ports_leave(self->ports, channel);
            return;
        }
        message = ports_receive(self->ports, channel);
        if (!message)
            return;
        on_request(self, "", channel, &message);
    }
}

static void take_viewers_request(self_t *self, const char *front,
                                 channel_t channel, message_t **message_p)
{
    cleanup_message message_t *message = take_ptr(*message_p);

    if (channel == CHANNEL_SHELL || channel == CHANNEL_CONTROL)
        on_request(self, front, channel, &message);
    else if (channel == CHANNEL_STDIN)
        on_input_reply(self, front, message);
}

/* False when the front left. */
static bool take_front(self_t *self, zsock_t *socket, int most)
{
    message_t *message = NULL;
    const char *front;
    channel_t channel;

    while (most-- > 0)
        switch (
            viewers_next(self->viewers, socket, &front, &channel, &message)) {
        case VIEWERS_NOTHING:
            return true;
        case VIEWERS_REQUEST:
            take_viewers_request(self, front, channel, &message);
            break;
        case VIEWERS_CAUGHT_UP:
            commands_greet(self, front);
            break;
        case VIEWERS_LEFT:
            zloop_reader_end(self->loop, socket);
            viewers_drop(self->viewers, socket);
            return false;
        }
    return true;
}

void intake_take_all(self_t *self)
{
    zsock_t *socket;
    size_t i = 0;

    take_port(self, CHANNEL_SHELL, BATCH_MAX * 16);
    while ((socket = viewers_socket(self->viewers, i)))
        i += take_front(self, socket, BATCH_MAX * 16) ? 1 : 0;
}

int intake_on_shell(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) socket;
    take_port(self, CHANNEL_SHELL, BATCH_MAX);
    session_settle(self);
    return 0;
}

int intake_on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) socket;
    take_port(self, CHANNEL_CONTROL, BATCH_MAX);
    session_settle(self);
    return 0;
}

int intake_on_stdin(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;
    message_t *message;

    (void) loop;
    (void) socket;
    while ((message = ports_receive(self->ports, CHANNEL_STDIN))) {
        on_input_reply(self, "", message);
        message_destroy(&message);
    }
    return 0;
}

int intake_on_front(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) take_front(self, socket, BATCH_MAX);
    session_settle(self);
    return 0;
}
