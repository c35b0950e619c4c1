/* See receive.h. */
#include "gateway/session/actor/receive.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/flow_control.h"
#include "gateway/session/core/holding.h"
#include "gateway/session/core/local_replies.h"
#include "gateway/session/core/replay.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/processes/process_requests.h"
#include "gateway/session/requests/error_reply.h"
#include "gateway/session/requests/request_queue.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <string.h>

#define BATCH_MAX  64 /* requests taken from one socket before others' turn */
#define ANSWER_MAX (64u << 10) /* of input(), in the recording */

/* Counts each refusal. The audit log gets the first one only, until a request
 * is taken again. */
static void note_full(session_t *self, const char *limit, uint64_t max)
{
    notify_limit(self->notify, limit);
    if (request_queue_refuse(self->requests))
        audit_events_full(self->audit, limit, max);
}

/* Refuses a request because all sessions together hold too much. */
static void refuse_for_memory(session_t *self, request_t *request)
{
    const memory_budget_t *budget = held_memory_budget(self->limits.memory);
    cleanup_free char *sentence = mem_format(
        "the gateway holds %" PRIu64 " of at most %" PRIu64
        " bytes of messages (gateway/message_memory), and there is no room for "
        "the %zu of this one: send it again later",
        memory_budget_held(budget), memory_budget_max(budget), request->bytes);

    note_full(self, "message_memory", memory_budget_max(budget));
    replies_fail(self, request, "QueueFull", sentence);
}

static void refuse_full(session_t *self, request_t *request, const char *limit,
                        uint64_t max, const char *text)
{
    cleanup_free char *sentence =
        mem_format("%s (limits/%s of profile %s): send it again later", text,
                   limit, self->spec->profile->name);

    note_full(self, limit, max);
    replies_fail(self, request, "QueueFull", sentence);
}

static request_queue_room_t room_for(const session_t *self,
                                     const request_t *request)
{
    const profile_limits_t *limits = &self->spec->limits;

    return request_queue_room(self->requests, request->bytes, limits->requests,
                              limits->requests_bytes);
}

/* Returns true if the request may wait; otherwise it was refused. */
static bool has_room(session_t *self, request_t *request)
{
    const profile_limits_t *limits = &self->spec->limits;
    char text[160];

    switch (room_for(self, request)) {
    case REQUEST_QUEUE_TOO_MANY:
        snprintf(text, sizeof text,
                 "%zu requests wait already, the limit of this session",
                 request_queue_size(self->requests));
        refuse_full(self, request, "requests", limits->requests, text);
        return false;
    case REQUEST_QUEUE_TOO_MUCH:
        snprintf(text, sizeof text,
                 "%zu bytes of requests wait already, and with the %zu of this "
                 "one there were more than %" PRIu64,
                 request_queue_bytes(self->requests), request->bytes,
                 limits->requests_bytes);
        refuse_full(self, request, "requests_bytes", limits->requests_bytes,
                    text);
        return false;
    case REQUEST_QUEUE_ROOM:
        break;
    }
    if (!flow_control_has_memory(self, request->bytes)) {
        refuse_for_memory(self, request);
        return false;
    }
    return true;
}

/* Journals and queues a request for the kernel, or refuses it. */
static void accept_request(session_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    const char *id = message_id(request->message);
    uint64_t number = request->number;
    bool is_aborted = request_is_execute(request)
                      && request_queue_is_aborted(self->requests, id);
    fault_t fault;

    if (request_queue_knows_id(self->requests, id)) {
        replay_request(self, request);
        return;
    }
    if (request->flaw) {
        replies_fail(self, request, "BadRequest", request->flaw);
        return;
    }
    if (!has_room(self, request))
        return;
    if ((request->note
         && publisher_note(self->publisher, "note", 0, request->note, &fault)
                < 0)
        || publisher_request(self->publisher, request, &fault) < 0) {
        cleanup_free char *sentence = mem_format(
            "the request was not run: the session's journal cannot be written "
            "(%s); free some space and send it again under a new msg_id",
            fault.text);
        replies_fail(self, request, "JournalError", sentence);
        return;
    }
    request->is_journaled = true;
    request_queue_note_id(self->requests, id);
    if (frame_is_comm_request(request->frame_type))
        dispatch_beside(self, request);
    request_queue_push(self->requests, &request);
    if (is_aborted)
        replies_abort(self, number);
}

/* Queues a request that the gateway answers in its turn. Without room it is
 * answered at once, if the answer is known: a client that asks what a kernel is
 * gets it of a busy one, too. */
static void wait_for_turn(session_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    bool is_full = room_for(self, request) != REQUEST_QUEUE_ROOM;

    if (is_full && self->info.size)
        local_replies_give(self, request);
    else if (has_room(self, request))
        request_queue_push(self->requests, &request);
}

static void refuse_gone(session_t *self, request_t *request)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    replies_write_gone(self, &name, &sentence);
    /* Not journaled: the session's record is closed. */
    replies_announce(self, request);
    if (request_is_execute(request) && !request->silent) {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        error_reply_write_event(name, (const char *) sentence.data, &content);
        publisher_broadcast(self->publisher, "error",
                            message_header(request->message),
                            buffer_bytes(&content));
    }
    {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        error_reply_write(request, request_queue_next_count(self->requests) - 1,
                          name, (const char *) sentence.data, &content);
        publisher_send_reply(self->publisher, request, (bytes_t){0},
                             buffer_bytes(&content));
    }
    publisher_status(self->publisher, "idle", message_header(request->message));
}

/* Returns true for a request that no kernel of a session whose process has
 * ended may answer: a client of Jupyter asks until the next kernel on the ports
 * of its connection file says that it is there. */
static bool is_for_next_kernel(const session_t *self, const request_t *request)
{
    return self->spec->is_external
           && strcmp(message_type(request->message), "kernel_info_request")
                  == 0;
}

static void serve(session_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);

    if (holding_end_if_over(self) && is_for_next_kernel(self, request)) {
        return;
    } else if (session_state_is(self->state, PHASE_GONE)) {
        refuse_gone(self, request);
    } else if (process_requests_serve(self, &request)) {
        return;
    } else if (request->frame_type) {
        accept_request(self, &request);
    } else if (local_replies_wait(self, request)) {
        wait_for_turn(self, &request);
    } else {
        local_replies_give(self, request);
    }
}

/* Returns true if the request has to wait for a command of the registry. A
 * client may send a request because of an answer that the registry gave after
 * that command: the note of a fetch precedes the cell that reads the file. What
 * the gateway answers on control, such as an interrupt, does not wait. */
static bool has_to_wait(const session_t *self, const request_t *request)
{
    return (request->channel == CHANNEL_SHELL || request->frame_type)
           && notify_has_command(self->notify);
}

/* Serves a request, or lets it wait for a command of the registry. No other
 * request is received meanwhile: they keep their order. */
static void on_request(session_t *self, const char *frontend, channel_t channel,
                       message_t **message_p)
{
    cleanup_request request_t *request =
        request_new(request_queue_number(self->requests), channel, message_p);

    snprintf(request->frontend, sizeof request->frontend, "%s", frontend);
    request->came_us = clock_monotonic_us();
    /* Asked now: what was sent before the request is there. */
    if (has_to_wait(self, request))
        self->held_back = take_ptr(request);
    else
        serve(self, &request);
}

/* Journals an answer to input(): it belongs to the recording. A password is not
 * recorded, nor is a text that no person would type. */
static void record_answer(session_t *self, const message_t *message)
{
    jspan_t value = jspan_member(message_content_json(message), "value");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    jspan_write_begin(&out);
    jspan_write_count(&out, "request",
                      request_queue_running(self->requests)->number);
    if (request_queue_input(self->requests) == REQUEST_QUEUE_PASSWORD)
        jspan_write_bool(&out, "password", true);
    else if (jspan_is(value, JSPAN_STRING) && value.size <= ANSWER_MAX)
        jspan_write_raw(&out, "value", (bytes_t){value.text, value.size});
    jspan_write_end(&out);
    if (publisher_note(self->publisher, "input_reply", 0,
                       (const char *) out.data, &fault)
        < 0)
        log_warning("session=%s input_reply: %s", self->spec->id, fault.text);
}

/* Passes an answer to input() on, if one is awaited and it is from the client
 * that was asked. */
static void on_input_reply(session_t *self, const char *frontend,
                           const message_t *message)
{
    const request_t *running = request_queue_running(self->requests);
    bytes_t content = message_content(message);
    frame_t frame = {
        .type = FRAME_INPUT_REPLY,
        .content = {content.bytes, content.size},
    };
    fault_t fault;

    if (strcmp(message_type(message), "input_reply") != 0 || !running
        || request_queue_input(self->requests) == REQUEST_QUEUE_NO_INPUT
        || !session_kernel(self) || !message_identity_count(message)
        || !request_is_of(running, frontend, message_identity(message, 0)))
        return;
    frame.request = running->number;
    /* It is journaled only when the kernel has it: else the next gateway would
     * take the question for answered. A kernel that gets an answer twice drops
     * the second one before its next question. */
    if (kernel_link_send(self->link, &frame, &fault) < 0) {
        log_warning("session=%s input_reply: %s", self->spec->id, fault.text);
        return;
    }
    record_answer(self, message);
    request_queue_want_input(self->requests, REQUEST_QUEUE_NO_INPUT);
}

static void take_port(session_t *self, channel_t channel, int most)
{
    message_t *message;

    while (most-- > 0 && !self->held_back) {
        if (!flow_control_may_take(self)) {
            channels_leave(self->channels, channel);
            return;
        }
        message = channels_receive(self->channels, channel);
        if (!message)
            return;
        on_request(self, "", channel, &message);
    }
}

static void take_frontend_request(session_t *self, const char *frontend,
                                  channel_t channel, message_t **message_p)
{
    cleanup_message message_t *message = take_ptr(*message_p);

    if (channel == CHANNEL_SHELL || channel == CHANNEL_CONTROL)
        on_request(self, frontend, channel, &message);
    else if (channel == CHANNEL_STDIN)
        on_input_reply(self, frontend, message);
}

/* Takes what a frontend has sent; false if the frontend has left. */
static bool take_frontend(session_t *self, zsock_t *socket, int most)
{
    message_t *message = NULL;
    const char *frontend;
    channel_t channel;

    while (most-- > 0 && !self->held_back)
        switch (frontends_next(self->frontends, socket, &frontend, &channel,
                               &message)) {
        case FRONTENDS_NOTHING:
            return true;
        case FRONTENDS_REQUEST:
            take_frontend_request(self, frontend, channel, &message);
            break;
        case FRONTENDS_CAUGHT_UP:
            announce_greet(self, frontend);
            break;
        case FRONTENDS_LEFT:
            zloop_reader_end(self->loop, socket);
            frontends_drop(self->frontends, socket);
            return false;
        }
    return true;
}

void receive_take_more(session_t *self)
{
    zsock_t *socket;
    size_t i = 0;

    take_port(self, CHANNEL_SHELL, BATCH_MAX * 16);
    while ((socket = frontends_socket(self->frontends, i)))
        i += take_frontend(self, socket, BATCH_MAX * 16) ? 1 : 0;
}

static void serve_held_back(session_t *self)
{
    if (self->held_back)
        serve(self, &self->held_back);
}

void receive_take_all(session_t *self)
{
    int most = BATCH_MAX * 16;

    do {
        serve_held_back(self);
        receive_take_more(self);
    } while (self->held_back && most-- > 0);
    serve_held_back(self);
}

void receive_after_command(session_t *self)
{
    if (!self->held_back || notify_has_command(self->notify))
        return;
    serve_held_back(self);
    dispatch_settle(self);
}

int receive_on_shell(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;

    (void) loop;
    (void) socket;
    take_port(self, CHANNEL_SHELL, BATCH_MAX);
    dispatch_settle(self);
    return 0;
}

int receive_on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;

    (void) loop;
    (void) socket;
    take_port(self, CHANNEL_CONTROL, BATCH_MAX);
    dispatch_settle(self);
    return 0;
}

int receive_on_stdin(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;
    message_t *message;

    (void) loop;
    (void) socket;
    while ((message = channels_receive(self->channels, CHANNEL_STDIN))) {
        on_input_reply(self, "", message);
        message_destroy(&message);
    }
    return 0;
}

int receive_on_frontend(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;

    (void) loop;
    (void) take_frontend(self, socket, BATCH_MAX);
    dispatch_settle(self);
    return 0;
}
