/* Clients' requests. The session keeps them in one queue and hands them to the
 * kernel one at a time, so that it knows at every moment what runs, what
 * waits and what an abort takes away. The protocol's rules are in
 * jupyter_client's messaging.rst; busy and idle surround every request. */
#include "gateway/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BATCH_MAX 64 /* requests taken from one socket before others' turn */

static bytes_t buffer_bytes(const buffer_t *buffer)
{
    return (bytes_t){buffer->data, buffer->size};
}

uint64_t turns_number(self_t *self)
{
    return self->spec->epoch << 32 | ++self->counter;
}

/* The header of the request that caused something; empty when forgotten. */
bytes_t turns_parent(const self_t *self, uint64_t number)
{
    if (self->running && self->running->number == number)
        return message_header(self->running->message);
    for (size_t i = 0; number && i < RECENT_MAX; i++)
        if (self->recent[i].number == number)
            return buffer_bytes(&self->recent[i].header);
    return (bytes_t){NULL, 0};
}

static void remember(self_t *self, const request_t *request)
{
    recent_t *recent = &self->recent[self->recent_next++ % RECENT_MAX];
    bytes_t header = message_header(request->message);

    recent->number = request->number;
    buffer_clear(&recent->header);
    buffer_append(&recent->header, header.bytes, header.size);
}

static int write_request(self_t *self, const request_t *request, fault_t *fault)
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

/* The one line of traceback has the form of IPython's last one. */
static void error_content(buffer_t *out, const char *ename, const char *evalue)
{
    cleanup_free char *line = mem_format("%s: %s", ename, evalue);

    buffer_text(out, "\"ename\":");
    json_quote_text(out, ename);
    buffer_text(out, ",\"evalue\":");
    json_quote_text(out, evalue);
    buffer_text(out, ",\"traceback\":[");
    json_quote_text(out, line);
    buffer_text(out, "]");
}

static void write_error_reply(const self_t *self, const request_t *request,
                              const char *ename, const char *evalue,
                              buffer_t *out)
{
    buffer_text(out, "{\"status\":\"error\",");
    error_content(out, ename, evalue);
    if (request->is_execute)
        buffer_format(out,
                      ",\"execution_count\":%" PRId64
                      ",\"user_expressions\":{},\"payload\":[]",
                      self->next_count - 1);
    buffer_text(out, "}");
}

void turns_announce(self_t *self, request_t *request)
{
    if (!request->is_started)
        output_status(self->output, "busy", message_header(request->message));
    request->is_started = true;
}

static void publish_error(self_t *self, const request_t *request,
                          const char *ename, const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    output_event_t event = {
        .type = "error",
        .request = request->number,
        .parent = message_header(request->message),
    };
    fault_t fault;

    buffer_text(&content, "{");
    error_content(&content, ename, evalue);
    buffer_text(&content, "}");
    event.content = buffer_bytes(&content);
    if (output_event(self->output, &event, &fault) < 0)
        output_broadcast(self->output, "error", event.parent, event.content);
}

/* The client hears of it whether or not the journal takes it: nobody waits
 * for ever because a disk is full. */
static void reply_anyway(self_t *self, const request_t *request,
                         bytes_t content)
{
    fault_t fault;

    if (output_reply(self->output, request, 0, (bytes_t){0}, content, &fault)
        < 0) {
        log_warning("session=%s reply not journaled: %s", self->spec->id,
                    fault.text);
        output_send_reply(self->output, request, (bytes_t){0}, content);
    }
}

void turns_fail(self_t *self, request_t *request, const char *ename,
                const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    if (request->is_answered)
        return;
    turns_announce(self, request);
    if (request->is_execute && !request->silent)
        publish_error(self, request, ename, evalue);
    write_error_reply(self, request, ename, evalue, &content);
    reply_anyway(self, request, buffer_bytes(&content));
    output_status(self->output, "idle", message_header(request->message));
    request->is_answered = true;
}

request_t *turns_pop(self_t *self)
{
    request_t *request = self->queue;

    if (!request)
        return NULL;
    self->queue = request->next;
    if (!self->queue)
        self->queue_end = &self->queue;
    request->next = NULL;
    self->queue_size--;
    return request;
}

void turns_push(self_t *self, request_t **request_p)
{
    request_t *request = take_ptr(*request_p);

    *self->queue_end = request;
    self->queue_end = &request->next;
    self->queue_size++;
}

void turns_fail_all(self_t *self, const char *ename, const char *evalue)
{
    request_t *request;

    if (self->running) {
        turns_fail(self, self->running, ename, evalue);
        remember(self, self->running);
        request_destroy(&self->running);
    }
    while ((request = turns_pop(self))) {
        turns_fail(self, request, ename, evalue);
        request_destroy(&request);
    }
    self->input_wanted = false;
}

void turns_clear(self_t *self)
{
    request_t *request;

    request_destroy(&self->running);
    while ((request = turns_pop(self)))
        request_destroy(&request);
    for (size_t i = 0; i < RECENT_MAX; i++)
        buffer_reset(&self->recent[i].header);
}

/* A failed cell takes the execute_requests with it that wait behind it; the
 * others run as if nothing had been. */
static void abort_queue(self_t *self)
{
    request_t *kept = NULL, **kept_end = &kept, *request;
    size_t kept_size = 0;

    while ((request = turns_pop(self))) {
        char content[96];
        int size;

        if (!request->is_execute) {
            *kept_end = request;
            kept_end = &request->next;
            kept_size++;
            continue;
        }
        turns_announce(self, request);
        size =
            snprintf(content, sizeof content,
                     "{\"status\":\"aborted\",\"execution_count\":%" PRId64 "}",
                     self->next_count - 1);
        reply_anyway(self, request, (bytes_t){content, (size_t) size});
        output_status(self->output, "idle", message_header(request->message));
        request_destroy(&request);
    }
    self->queue = kept;
    self->queue_end = kept ? kept_end : &self->queue;
    self->queue_size = kept_size;
}

static int publish_input(self_t *self, const request_t *request, fault_t *fault)
{
    bytes_t content = message_content(request->message);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_span_t value, code;
    output_event_t event = {
        .type = "execute_input",
        .request = request->number,
        .parent = message_header(request->message),
    };

    if (json_check(content.bytes, content.size, &value, fault) < 0)
        return -EBADMSG;
    code = json_member(value, "code");
    buffer_text(&out, "{\"code\":");
    buffer_append(&out, code.text, code.size);
    buffer_format(&out, ",\"execution_count\":%" PRId64 "}", self->next_count);
    event.content = buffer_bytes(&out);
    return output_event(self->output, &event, fault);
}

/* The kernel is told the message's header: widgets that capture output and
 * threads that speak for a cell ask for it. The last of two members of one
 * name counts, so that ours does. */
static void write_metadata(const message_t *message, buffer_t *out)
{
    bytes_t given = message_metadata(message);
    bytes_t header = message_header(message);
    json_span_t object = {.kind = JSON_KIND_ABSENT}, value;
    size_t cursor = 0;
    fault_t fault;

    buffer_text(out, "{");
    if (given.size && json_check(given.bytes, given.size, &object, &fault) == 0
        && json_each(object, &cursor, NULL, &value)) {
        buffer_append(out, object.text + 1, object.size - 2);
        buffer_text(out, ",");
    }
    buffer_text(out, "\"hearth\":{\"header\":");
    buffer_append(out, header.bytes, header.size);
    buffer_text(out, "}}");
}

static int send_to_kernel(self_t *self, const request_t *request,
                          fault_t *fault)
{
    const message_t *message = request->message;
    size_t count = message_buffer_count(message);
    cleanup_free frame_part_t *buffers = mem_new((count + 1) * sizeof *buffers);
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;
    frame_t frame = {
        .type = request->frame_type,
        .request = request->number,
        .content = {message_content(message).bytes,
                    message_content(message).size},
        .buffers = buffers,
        .buffer_count = count,
    };

    write_metadata(message, &metadata);
    frame.metadata = (frame_part_t){metadata.data, metadata.size};
    for (size_t i = 0; i < count; i++)
        buffers[i] = (frame_part_t){message_buffer(message, i).bytes,
                                    message_buffer(message, i).size};
    return kernel_send(self->kernel, &frame, fault);
}

/* A link that breaks here is noticed by its reader; the request is sent again
 * on the next connection, and the kernel knows its number. */
void turns_send(self_t *self, const request_t *request)
{
    fault_t fault;

    if (self->kernel && send_to_kernel(self, request, &fault) < 0)
        log_debug("session=%s %s", self->spec->id, fault.text);
}

static int on_limit(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->limit_timer = 0;
    self->limit_reached = true;
    ladder_climb(self, true);
    return 0;
}

void turns_start(self_t *self, request_t *request)
{
    int64_t limit = request->time_limit_ms;
    bool is_fresh = !request->is_started;
    fault_t fault;

    if (!life_step(&self->state, LIFE_ON_BEGIN))
        return;
    self->running = request;
    turns_announce(self, request);
    if (request->is_execute) {
        watch_cell_begin(self);
        session_stop_timer(self, &self->idle_timer);
        if (!limit)
            limit = self->spec->cell_limit_ms;
        if (limit)
            session_start_timer(self, &self->limit_timer, limit, on_limit);
        if (is_fresh && !request->silent
            && publish_input(self, request, &fault) < 0)
            log_warning("session=%s execute_input: %s", self->spec->id,
                        fault.text);
    }
    turns_send(self, request);
}

void turns_next(self_t *self)
{
    while (self->state == LIFE_IDLE && self->queue && self->is_greeted
           && !self->is_draining) {
        request_t *request = turns_pop(self);

        if (request->frame_type) {
            turns_start(self, request);
            return;
        }
        answers_give(self, request);
        request_destroy(&request);
    }
}

/* The limit's own words take the place of KeyboardInterrupt. */
static void write_limit_reply(const self_t *self, const request_t *request,
                              buffer_t *out)
{
    int64_t limit = request->time_limit_ms ? request->time_limit_ms
                                           : self->spec->cell_limit_ms;
    cleanup_free char *evalue = mem_format(
        "the cell ran past its time limit of %g s and was interrupted; "
        "variables: preserved",
        (double) limit / 1000);

    write_error_reply(self, request, "TimeLimitExceeded", evalue, out);
}

static void read_next_count(self_t *self, bytes_t metadata)
{
    json_span_t value;
    fault_t fault;
    int64_t count;

    if (metadata.size
        && json_check(metadata.bytes, metadata.size, &value, &fault) == 0
        && json_to_integer(json_member(value, "next_count"), &count)
        && count > 0)
        self->next_count = count;
}

static bool is_error(bytes_t content)
{
    json_span_t value;
    fault_t fault;

    return json_check(content.bytes, content.size, &value, &fault) == 0
           && json_text_equals(json_member(value, "status"), "error");
}

/* What came before the abort is aborted: take it out of the sockets first. */
static void take_all(self_t *self, channel_t channel);

int turns_finish(self_t *self, uint64_t kernel_seq, bytes_t metadata,
                 bytes_t content, fault_t *fault)
{
    request_t *request = self->running;
    cleanup_buffer buffer_t limited = BUFFER_EMPTY;
    cleanup_buffer buffer_t told = BUFFER_EMPTY;
    bool failed = is_error(content);
    bool aborts = failed && request->is_execute && request->stop_on_error
                  && !request->silent;
    int r;

    /* What has come by now is aborted; what is sent by somebody who knows of
     * the failure already is not. */
    if (aborts)
        take_all(self, CHANNEL_SHELL);
    if (self->running != request)
        return 0;
    if (request->is_execute) {
        read_next_count(self, metadata);
        metadata = watch_cell_end(self, metadata, &told);
    }
    if (self->limit_reached && failed) {
        write_limit_reply(self, request, &limited);
        content = buffer_bytes(&limited);
    }
    r = output_reply(self->output, request, kernel_seq, metadata, content,
                     fault);
    if (r < 0)
        return r;
    if (!request->is_answered)
        output_status(self->output, "idle", message_header(request->message));
    session_stop_timer(self, &self->limit_timer);
    life_step(&self->state, LIFE_ON_END);
    ladder_done(self, "interrupted", "preserved");
    self->input_wanted = false;
    self->running = NULL;
    if (request->is_execute)
        session_touch(self);
    if (aborts)
        abort_queue(self);
    remember(self, request);
    request_destroy(&request);
    return 0;
}

static uint64_t find_seen(self_t *self, const message_t *message)
{
    const char *number = zhashx_lookup(self->seen, message_id(message));

    return number ? strtoull(number, NULL, 10) : 0;
}

/* Exactly once: a request whose msg_id is in the journal is not run again; its
 * events and its reply go out once more, under fresh ids. */
static void replay(self_t *self, request_t *request, uint64_t number)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    bytes_t parent = message_header(request->message);
    journal_record_t record;
    fault_t fault;

    if (journal_reader_new(folder, self->spec->journal_key, 0, &reader, &fault)
        < 0)
        return;
    output_status(self->output, "busy", parent);
    while (journal_reader_next(reader, &record, &fault) == 1) {
        bytes_t metadata = {record.metadata.bytes, record.metadata.size};
        bytes_t content = {record.content.bytes, record.content.size};

        if (record.request != number)
            continue;
        if (record.kind == JOURNAL_EVENT
            && strcmp(record.type, "input_request") != 0)
            output_broadcast(self->output, record.type, parent, content);
        if (record.kind == JOURNAL_REPLY)
            output_send_reply(self->output, request, metadata, content);
    }
    output_status(self->output, "idle", parent);
}

static bool is_pending(const self_t *self, uint64_t number)
{
    if (self->running && self->running->number == number)
        return true;
    for (const request_t *at = self->queue; at; at = at->next)
        if (at->number == number)
            return true;
    return false;
}

/* Journal first, then the queue. */
static void accept_request(self_t *self, request_t **request_p)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    const char *flaw = request_flaw(request);
    uint64_t seen = find_seen(self, request->message);
    fault_t fault;

    if (seen && is_pending(self, seen))
        return;
    if (seen) {
        replay(self, request, seen);
        return;
    }
    if (flaw) {
        turns_fail(self, request, "BadRequest", flaw);
        return;
    }
    if (self->queue_size >= QUEUE_MAX) {
        turns_fail(self, request, "QueueFull",
                   "10000 requests wait already; send it again later");
        return;
    }
    if ((request->note
         && output_note(self->output, "note", 0, request->note, &fault) < 0)
        || write_request(self, request, &fault) < 0) {
        cleanup_free char *sentence = mem_format(
            "the request was not run: the session's journal cannot be written "
            "(%s); free some space and send it again under a new msg_id",
            fault.text);
        turns_fail(self, request, "JournalError", sentence);
        return;
    }
    {
        char number[24];
        snprintf(number, sizeof number, "%" PRIu64, request->number);
        zhashx_update(self->seen, message_id(request->message), number);
    }
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
        error_content(&content, name, (const char *) sentence.data);
        buffer_text(&content, "}");
        output_broadcast(self->output, "error",
                         message_header(request->message),
                         buffer_bytes(&content));
    }
    {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        write_error_reply(self, request, name, (const char *) sentence.data,
                          &content);
        output_send_reply(self->output, request, (bytes_t){0},
                          buffer_bytes(&content));
    }
    output_status(self->output, "idle", message_header(request->message));
}

static void on_request(self_t *self, channel_t channel, message_t **message_p)
{
    cleanup_request request_t *request =
        request_new(turns_number(self), channel, message_p);

    if (self->state == LIFE_GONE) {
        refuse_gone(self, request);
    } else if (request->frame_type) {
        accept_request(self, &request);
    } else if (answers_wait(self, request)) {
        turns_push(self, &request);
    } else {
        answers_give(self, request);
    }
}

static void take_all(self_t *self, channel_t channel)
{
    message_t *message;

    for (int i = 0;
         i < BATCH_MAX * 16 && (message = ports_receive(self->ports, channel));
         i++)
        on_request(self, channel, &message);
}

static void take_batch(self_t *self, channel_t channel)
{
    message_t *message;

    for (int i = 0; i < BATCH_MAX && self->ports
                    && (message = ports_receive(self->ports, channel));
         i++)
        on_request(self, channel, &message);
    session_settle(self);
}

int turns_on_shell(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void) loop;
    (void) socket;
    take_batch(arg, CHANNEL_SHELL);
    return 0;
}

int turns_on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void) loop;
    (void) socket;
    take_batch(arg, CHANNEL_CONTROL);
    return 0;
}

static bool is_requester(const self_t *self, const message_t *message)
{
    const message_t *asked = self->running->message;
    bytes_t theirs = message_identity(message, 0);
    bytes_t ours = message_identity(asked, 0);

    return message_identity_count(message) && message_identity_count(asked)
           && theirs.size == ours.size
           && memcmp(theirs.bytes, ours.bytes, ours.size) == 0;
}

/* An answer counts when one is wanted and the one who was asked gives it. */
int turns_on_stdin(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;
    message_t *message;

    (void) loop;
    (void) socket;
    while ((message = ports_receive(self->ports, CHANNEL_STDIN))) {
        frame_t frame = {
            .type = FRAME_INPUT_REPLY,
            .content = {message_content(message).bytes,
                        message_content(message).size},
        };
        fault_t fault;

        if (strcmp(message_type(message), "input_reply") == 0 && self->running
            && self->input_wanted && is_requester(self, message)) {
            frame.request = self->running->number;
            self->input_wanted = false;
            if (kernel_send(self->kernel, &frame, &fault) < 0)
                log_warning("session=%s input_reply: %s", self->spec->id,
                            fault.text);
        }
        message_destroy(&message);
    }
    return 0;
}
