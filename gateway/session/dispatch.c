/* Clients' requests in their turn. The session keeps them in one queue and
 * hands them to the kernel one at a time, so that it knows at every moment what
 * runs, what waits and what an abort takes away. The protocol's rules are in
 * jupyter_client's messaging.rst; busy and idle surround every request. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define UNHEARD_MS 200 /* between two looks whether the kernel is heard */

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

void turns_remember(self_t *self, const request_t *request)
{
    recent_t *recent = &self->recent[self->recent_next++ % RECENT_MAX];
    bytes_t header = message_header(request->message);

    recent->number = request->number;
    buffer_clear(&recent->header);
    buffer_append(&recent->header, header.bytes, header.size);
}

/* The one line of traceback has the form of IPython's last one. */
void turns_write_flaw(buffer_t *out, const char *ename, const char *evalue)
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

void turns_write_error(const self_t *self, const request_t *request,
                       const char *ename, const char *evalue, buffer_t *out)
{
    buffer_text(out, "{\"status\":\"error\",");
    turns_write_flaw(out, ename, evalue);
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
        output_turn(self->output, "busy", request);
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
    turns_write_flaw(&content, ename, evalue);
    buffer_text(&content, "}");
    event.content = buffer_bytes(&content);
    if (output_event(self->output, &event, &fault) < 0)
        output_broadcast(self->output, "error", event.parent, event.content);
}

/* The client hears of it whether or not the journal takes it: nobody waits
 * for ever because a disk is full. */
static bool reply_anyway(self_t *self, const request_t *request,
                         bytes_t content)
{
    fault_t fault;

    if (output_reply(self->output, request, 0, (bytes_t){0}, content, &fault)
        == 0)
        return true;
    log_warning("session=%s reply not journaled: %s", self->spec->id,
                fault.text);
    output_send_reply(self->output, request, (bytes_t){0}, content);
    return false;
}

/* False when the journal does not know of it. */
static bool fail(self_t *self, request_t *request, const char *ename,
                 const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    bool is_journaled;

    if (request->is_answered)
        return false;
    turns_announce(self, request);
    if (request->is_execute && !request->silent)
        publish_error(self, request, ename, evalue);
    turns_write_error(self, request, ename, evalue, &content);
    is_journaled = reply_anyway(self, request, buffer_bytes(&content));
    request->is_journaled &= is_journaled;
    output_turn(self->output, "idle", request);
    request->is_answered = true;
    return is_journaled;
}

void turns_fail(self_t *self, request_t *request, const char *ename,
                const char *evalue)
{
    (void) fail(self, request, ename, evalue);
}

/* For good: no kernel has it, nor will. */
static void fail_for_good(self_t *self, request_t *request, const char *ename,
                          const char *evalue)
{
    if (!fail(self, request, ename, evalue))
        debts_add(self, request->number);
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
    self->queue_bytes -= request->bytes;
    return request;
}

void turns_push(self_t *self, request_t **request_p)
{
    request_t *request = take_ptr(*request_p);

    *self->queue_end = request;
    self->queue_end = &request->next;
    self->queue_size++;
    self->queue_bytes += request->bytes;
}

void turns_fail_all(self_t *self, const char *ename, const char *evalue)
{
    request_t *request;

    if (self->running) {
        fail_for_good(self, self->running, ename, evalue);
        turns_remember(self, self->running);
        request_destroy(&self->running);
    }
    while ((request = turns_pop(self))) {
        fail_for_good(self, request, ename, evalue);
        request_destroy(&request);
    }
    debts_pay(self);
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
    size_t kept_size = 0, kept_bytes = 0;

    while ((request = turns_pop(self))) {
        char content[96];
        int size;

        if (!request->is_execute) {
            *kept_end = request;
            kept_end = &request->next;
            kept_size++;
            kept_bytes += request->bytes;
            continue;
        }
        turns_announce(self, request);
        size =
            snprintf(content, sizeof content,
                     "{\"status\":\"aborted\",\"execution_count\":%" PRId64 "}",
                     self->next_count - 1);
        if (!reply_anyway(self, request, (bytes_t){content, (size_t) size})) {
            request->is_journaled = false;
            debts_add(self, request->number);
        }
        output_turn(self->output, "idle", request);
        request_destroy(&request);
    }
    self->queue = kept;
    self->queue_end = kept ? kept_end : &self->queue;
    self->queue_size = kept_size;
    self->queue_bytes = kept_bytes;
    debts_pay(self);
}

static int publish_input(self_t *self, const request_t *request, fault_t *fault)
{
    json_span_t code =
        json_member(message_content_json(request->message), "code");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    output_event_t event = {
        .type = "execute_input",
        .request = request->number,
        .parent = message_header(request->message),
    };

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
    bytes_t header = message_header(message);
    json_span_t object = message_metadata_json(message), value;
    size_t cursor = 0;

    buffer_text(out, "{");
    if (json_is(object, JSON_KIND_OBJECT)
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
    return session_send(self, &frame, fault);
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
    /* After a take-over the cell may be over, and its reply wait in the link.
     */
    if (self->is_held || !self->is_greeted) {
        session_start_timer(self, &self->limit_timer, UNHEARD_MS, on_limit);
        return 0;
    }
    self->limit_reached = true;
    ladder_climb(self, true);
    return 0;
}

/* In milliseconds; 0: none. */
static int64_t limit_of(const self_t *self, const request_t *request)
{
    return request->time_limit_ms ? request->time_limit_ms
                                  : self->spec->cell_limit_ms;
}

/* What is left of a limit for a cell that began under another gateway. The
 * machine's clock may have been set meanwhile: never more than all of it. */
static int64_t time_left(const request_t *request, int64_t limit)
{
    int64_t left = limit - (clock_wall_us() - request->begun_us) / 1000;

    if (!request->begun_us || left > limit)
        return limit;
    return left > 0 ? left : 1;
}

static void begin_cell(self_t *self, const request_t *request)
{
    int64_t limit = limit_of(self, request);

    watch_cell_begin(self);
    session_stop_timer(self, &self->idle_timer);
    allowance_begin_cell(self);
    if (limit)
        session_start_timer(self, &self->limit_timer, time_left(request, limit),
                            on_limit);
}

/* The kernel gets it first and works on it while the others are told; what it
 * says is read by this thread, so that all of it comes behind. */
void turns_start(self_t *self, request_t *request)
{
    bool is_fresh = !request->is_started;
    fault_t fault;

    if (!life_step(&self->state, LIFE_ON_BEGIN))
        return;
    self->running = request;
    if (request->is_execute)
        begin_cell(self, request);
    turns_send(self, request);
    turns_announce(self, request);
    if (!request->is_execute)
        return;
    session_note_start(self);
    if (!request->is_seed)
        record_cell_begin(self, request);
    if (is_fresh && !request->silent
        && publish_input(self, request, &fault) < 0)
        log_warning("session=%s execute_input: %s", self->spec->id, fault.text);
}

void turns_next(self_t *self)
{
    while (self->state == LIFE_IDLE && self->is_greeted && !self->is_draining
           && (self->queue || self->spec->is_seeding)
           && !pressure_of_replies(self)) {
        request_t *request =
            self->spec->is_seeding ? seeding_next(self) : turns_pop(self);

        if (!request)
            return;
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
    cleanup_free char *evalue = mem_format(
        "the cell ran past its time limit of %g s and was interrupted; "
        "variables: preserved",
        (double) limit_of(self, request) / 1000);

    turns_write_error(self, request, "TimeLimitExceeded", evalue, out);
}

/* Its code has caught KeyboardInterrupt, and what it did in its place went
 * well: so does the cell, and who reads it learns that it was cut short. */
static void tell_of_limit(self_t *self, const request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    output_event_t event = {
        .type = "stream",
        .request = request->number,
        .parent = message_header(request->message),
    };
    fault_t fault;

    buffer_format(&content,
                  "{\"name\":\"stderr\",\"text\":\"[hearth: the cell ran past "
                  "its time limit of %g s and was interrupted, which it "
                  "caught]\\n\"}",
                  (double) limit_of(self, request) / 1000);
    event.content = buffer_bytes(&content);
    if (output_event(self->output, &event, &fault) < 0)
        log_warning("session=%s stream: %s", self->spec->id, fault.text);
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

int turns_finish(self_t *self, uint64_t kernel_seq, bytes_t metadata,
                 json_span_t content, fault_t *fault)
{
    request_t *request = self->running;
    cleanup_buffer buffer_t limited = BUFFER_EMPTY;
    cleanup_buffer buffer_t told = BUFFER_EMPTY;
    cleanup_buffer buffer_t extended = BUFFER_EMPTY;
    bool failed = json_text_equals(json_member(content, "status"), "error");
    bool aborts = failed && request->is_execute && request->stop_on_error
                  && !request->silent;
    int64_t cell = self->next_count;
    bytes_t said = metadata;
    int r;

    /* What has come by now is aborted; what is sent by somebody who knows of
     * the failure already is not. */
    if (aborts)
        intake_take_all(self);
    if (self->running != request)
        return 0;
    if (request->is_execute) {
        read_next_count(self, metadata);
        metadata = watch_cell_end(self, metadata, &told);
    }
    if (self->limit_reached && failed) {
        write_limit_reply(self, request, &limited);
        r = json_check(limited.data, limited.size, &content, fault);
        if (r < 0)
            return r;
    } else if (self->limit_reached && request->is_execute) {
        tell_of_limit(self, request);
    }
    r = output_reply(self->output, request, kernel_seq,
                     revival_tell(self, metadata, &extended),
                     (bytes_t){content.text, content.size}, fault);
    if (r < 0)
        return r;
    revival_told(self, request);
    if (!request->is_answered)
        output_turn(self->output, "idle", request);
    if (request->is_execute) {
        if (!request->is_seed)
            record_cell_end(self, request, content);
        watch_heed(self, said, cell);
    }
    trips_count(self, request);
    session_stop_timer(self, &self->limit_timer);
    life_step(&self->state, LIFE_ON_END);
    ladder_done(self, "interrupted", "preserved");
    self->input_wanted = false;
    self->running = NULL;
    if (request->is_execute)
        session_touch(self);
    if (aborts)
        abort_queue(self);
    turns_remember(self, request);
    if (request->is_seed)
        seeding_on_reply(self, content);
    request_destroy(&request);
    return 0;
}
