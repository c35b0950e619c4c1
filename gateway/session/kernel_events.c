/* What the kernel says: frames off its link, checked by kernel_permissions.c,
 * journaled and published by publisher.c. Stream text that is waiting already
 * is merged into one message. A frame that breaks a rule ends the session; a
 * journal that cannot be written closes the link until it can: the kernel keeps
 * what was not acknowledged, so nothing is lost. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/kernel_permissions.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define READS_MAX      32           /* reads before others' turn */
#define MERGE_MAX      (256u << 10) /* bytes of one merged stream message */
#define UNTOLD_MAX     (1u << 20)   /* journaled bytes before an ACK alone */
#define STUCK_RETRY_MS 500          /* the journal is tried again */
#define STUCK_GRACE_MS 5000         /* then the running request fails */

static bytes_t part_bytes(frame_part_t part)
{
    return (bytes_t){part.bytes, part.size};
}

static int on_stuck(zloop_t *loop, int timer, void *arg);

/* Nothing of this connection counts any more; the next one begins behind the
 * last event that the journal holds. */
static void get_stuck(self_t *self, const fault_t *fault)
{
    log_error("session=%s journal: %s", self->spec->id, fault->text);
    if (!self->is_stuck)
        self->stuck_since = clock_monotonic_ms();
    self->is_stuck = true;
    self->is_greeted = false;
    buffer_clear(&self->merge.content);
    self->merge.is_open = false;
    session_unwatch_link(self);
    kernel_disconnect(self->kernel);
    session_start_timer(self, &self->stuck_timer, STUCK_RETRY_MS, on_stuck);
}

static int on_stuck(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    int64_t waited = clock_monotonic_ms() - self->stuck_since;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->stuck_timer = 0;
    if (!self->kernel || self->state == LIFE_GONE)
        return 0;
    if (self->running && !self->running->is_answered && waited > STUCK_GRACE_MS)
        turns_fail(self, self->running, "JournalError",
                   "the session's journal cannot be written; the cell goes on "
                   "and its output is kept and delivered when there is space "
                   "again; variables: preserved");
    session_settle(self);
    /* A note that is written shows that the journal takes records again. */
    if (output_note(self->output, "resumed", 0, "{}", &fault) < 0) {
        session_start_timer(self, &self->stuck_timer, STUCK_RETRY_MS, on_stuck);
        return 0;
    }
    self->is_stuck = false;
    if (events_connect(self, &fault) < 0)
        ending_begin(self, LIFE_REASON_LOST, "the kernel link: %s", fault.text);
    return 0;
}

static void count_journaled(self_t *self, uint64_t seq, size_t bytes)
{
    self->kernel_seq = seq;
    self->untold_bytes += bytes;
    allowance_count(self, bytes);
}

static int flush_merge(self_t *self, fault_t *fault)
{
    merge_t *merge = &self->merge;
    output_event_t event = {
        .type = "stream",
        .request = merge->request,
        .kernel_seq = merge->kernel_seq,
        .parent = turns_parent(self, merge->request),
    };
    int r;

    if (!merge->is_open)
        return 0;
    buffer_text(&merge->content, "\"}");
    event.content = (bytes_t){merge->content.data, merge->content.size};
    r = output_event(self->output, &event, fault);
    if (r < 0)
        return r;
    count_journaled(self, merge->kernel_seq, merge->content.size);
    buffer_clear(&merge->content);
    merge->is_open = false;
    return 0;
}

/* Escaped text joins without being unescaped: checked JSON strings hold no
 * half of a surrogate pair. */
static int on_stream(self_t *self, const frame_t *frame, json_span_t content,
                     fault_t *fault)
{
    merge_t *merge = &self->merge;
    relay_stream_t stream = relay_stream(content);
    json_span_t text = stream.text;
    bool is_error = json_text_equals(stream.name, "stderr");
    int r;

    if (merge->is_open
        && (merge->is_error != is_error || merge->request != frame->request
            || merge->content.size + text.size > MERGE_MAX)) {
        r = flush_merge(self, fault);
        if (r < 0)
            return r;
    }
    if (!merge->is_open)
        buffer_text(&merge->content, is_error
                                         ? "{\"name\":\"stderr\",\"text\":\""
                                         : "{\"name\":\"stdout\",\"text\":\"");
    merge->is_open = true;
    merge->is_error = is_error;
    merge->request = frame->request;
    merge->kernel_seq = frame->seq;
    buffer_append(&merge->content, text.text + 1, text.size - 2);
    return 0;
}

/* A KeyboardInterrupt that a time limit caused is told as what it is. */
static bool is_limit_error(const self_t *self, const frame_t *frame,
                           json_span_t content)
{
    return self->limit_reached && frame->type == FRAME_ERROR && self->running
           && self->running->number == frame->request
           && json_text_equals(json_member(content, "ename"),
                               "KeyboardInterrupt");
}

static void write_limit_error(json_span_t content, buffer_t *out)
{
    json_span_t traceback = json_member(content, "traceback");

    buffer_text(out, "{\"ename\":\"TimeLimitExceeded\",\"evalue\":"
                     "\"the cell ran past its time limit and was "
                     "interrupted\",\"traceback\":");
    buffer_append(out, traceback.text, traceback.size);
    buffer_text(out, "}");
}

static int publish(self_t *self, const frame_t *frame, json_span_t content,
                   fault_t *fault)
{
    bytes_t few[16];
    cleanup_free bytes_t *many = NULL;
    cleanup_buffer buffer_t limited = BUFFER_EMPTY;
    output_event_t event = {
        .type = frame_message_type(frame->type),
        .request = frame->request,
        .kernel_seq = frame->seq,
        .parent = turns_parent(self, frame->request),
        .metadata = part_bytes(frame->metadata),
        .content = part_bytes(frame->content),
        .buffers = few,
        .buffer_count = frame->buffer_count,
    };

    if (frame->buffer_count > 16)
        event.buffers = many = mem_new(frame->buffer_count * sizeof *many);
    for (size_t i = 0; i < frame->buffer_count; i++)
        (many ? many : few)[i] = part_bytes(frame->buffers[i]);
    if (is_limit_error(self, frame, content)) {
        write_limit_error(content, &limited);
        event.content = (bytes_t){limited.data, limited.size};
    }
    return output_event(self->output, &event, fault);
}

static int on_ready(self_t *self, const frame_t *frame, fault_t *fault)
{
    cleanup_free char *content =
        mem_copy(frame->content.bytes, frame->content.size);
    int r = output_note(self->output, "ready", frame->seq, content, fault);

    if (r < 0)
        return r;
    buffer_clear(&self->info);
    buffer_append(&self->info, frame->content.bytes, frame->content.size);
    self->next_count = 1;
    posture_admit(self);
    return 0;
}

static int on_input_request(self_t *self, const frame_t *frame,
                            json_span_t content, fault_t *fault)
{
    output_event_t event = {
        .type = "input_request",
        .request = frame->request,
        .kernel_seq = frame->seq,
        .content = part_bytes(frame->content),
    };
    int r;

    if (!self->running || self->running->number != frame->request)
        return fault_set(fault, EPROTO,
                         "INPUT_REQUEST of a request that does "
                         "not run");
    r = output_input_request(self->output, &event, self->running, fault);
    if (r < 0)
        return r;
    self->input_wanted = true;
    self->input_is_secret =
        json_is(json_member(content, "password"), JSON_KIND_TRUE);
    return 0;
}

static int on_reply(self_t *self, const frame_t *frame, json_span_t content,
                    fault_t *fault)
{
    char type[64];

    /* The answer to SHUTDOWN: its end is what counts. */
    if (!self->running && self->state == LIFE_STOPPING)
        return 0;
    if (!self->running || self->running->number != frame->request)
        return fault_set(fault, EPROTO,
                         "REPLY to request %" PRIu64 ", which does not run",
                         frame->request);
    if (request_reply_type(self->running, type)
        && relay_check_answer(content, self->running->is_execute, fault) < 0)
        return fault_wrap(fault, "request %" PRIu64, frame->request);
    return turns_finish(self, frame->seq, part_bytes(frame->metadata), content,
                        fault);
}

/* In the journal, like every event: numbers have no gaps there. */
static int on_marked(self_t *self, const frame_t *frame, fault_t *fault)
{
    int r = output_note(self->output, "marked", frame->seq, "{}", fault);

    if (r == 0)
        ladder_on_mark(self, frame->request);
    return r;
}

static int on_yielded(self_t *self, const frame_t *frame, fault_t *fault)
{
    int r = output_note(self->output, "yielded", frame->seq, "{}", fault);

    if (r == 0)
        ladder_on_yield(self, frame->request);
    return r;
}

static size_t body_size(const frame_t *frame)
{
    size_t size = frame->content.size + frame->metadata.size;

    for (size_t i = 0; i < frame->buffer_count; i++)
        size += frame->buffers[i].size;
    return size;
}

static int on_event(self_t *self, const frame_t *frame, fault_t *fault)
{
    json_span_t content;
    int r =
        relay_check(frame, self->state, self->info.size > 0, &content, fault);

    if (r < 0)
        return r;
    if (frame->type == FRAME_STREAM)
        return on_stream(self, frame, content, fault);
    r = flush_merge(self, fault);
    if (r < 0)
        return r;
    if (frame->type == FRAME_READY)
        r = on_ready(self, frame, fault);
    else if (frame->type == FRAME_INPUT_REQUEST)
        r = on_input_request(self, frame, content, fault);
    else if (frame->type == FRAME_MARKED)
        r = on_marked(self, frame, fault);
    else if (frame->type == FRAME_YIELDED)
        r = on_yielded(self, frame, fault);
    else if (frame->type == FRAME_REPLY)
        r = on_reply(self, frame, content, fault);
    else
        r = publish(self, frame, content, fault);
    if (r == 0)
        count_journaled(self, frame->seq, body_size(frame));
    return r;
}

/* The answer to HELLO: what the kernel has said so far. */
static int on_welcome(self_t *self, const frame_t *frame, fault_t *fault)
{
    json_span_t content, error;
    int64_t last;

    if (self->is_greeted)
        return fault_set(fault, EPROTO, "a second WELCOME");
    if (json_check(frame->content.bytes, frame->content.size, &content, fault)
        < 0)
        return fault_set(fault, EPROTO, "WELCOME is no JSON");
    error = json_member(content, "error");
    if (json_is(error, JSON_KIND_STRING))
        return fault_set(fault, EPROTO, "the kernel refuses this gateway: %.*s",
                         (int) (error.size < 100 ? error.size : 100),
                         error.text);
    if (!json_to_integer(json_member(content, "last"), &last)
        || last < (int64_t) self->kernel_seq)
        return fault_set(fault, EPROTO, "WELCOME forgets what was said");
    self->is_greeted = true;
    /* What ran when the last connection broke may not have arrived; a kernel
     * that has it knows its number and goes on. */
    if (self->running && !self->running->is_answered)
        turns_send(self, self->running);
    return 0;
}

static uint64_t expected_seq(const self_t *self)
{
    return (self->merge.is_open ? self->merge.kernel_seq : self->kernel_seq)
           + 1;
}

static int on_frame(self_t *self, const frame_t *frame, fault_t *fault)
{
    if (frame->type == FRAME_WELCOME)
        return on_welcome(self, frame, fault);
    if (!self->is_greeted)
        return fault_set(fault, EPROTO, "an event before WELCOME");
    if (frame->seq < expected_seq(self))
        return 0;
    if (frame->seq > expected_seq(self))
        return fault_set(fault, EPROTO,
                         "event %" PRIu64 " where %" PRIu64 " is next",
                         frame->seq, expected_seq(self));
    return on_event(self, frame, fault);
}

static void acknowledge(self_t *self)
{
    fault_t fault;
    int r;

    if (self->told_seq == self->kernel_seq || !self->kernel)
        return;
    r = kernel_acknowledge(self->kernel, self->kernel_seq,
                           self->untold_bytes > UNTOLD_MAX, &fault);
    session_mind_link(self);
    if (r < 0)
        return;
    self->told_seq = self->kernel_seq;
    if (self->untold_bytes > UNTOLD_MAX)
        self->untold_bytes = 0;
}

/* The frames that one read brought. */
static int take_frames(self_t *self, fault_t *fault)
{
    frame_t frame;
    int r;

    while (self->kernel
           && (r = kernel_next(self->kernel, &frame, fault)) != 0) {
        if (r > 0)
            r = on_frame(self, &frame, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

void events_read(self_t *self)
{
    fault_t fault = {0};
    int r = 0, got = 0;

    for (int i = 0; i < READS_MAX && self->kernel && r >= 0 && got != 1; i++) {
        if (pressure_is_high(self))
            break;
        got = kernel_read(self->kernel, &fault);
        if (got <= 0)
            break;
        r = take_frames(self, &fault);
    }
    if (r == 0)
        r = flush_merge(self, &fault);
    if (r == -EPROTO) {
        ending_begin(self, LIFE_REASON_PROTOCOL, "%s", fault.text);
        return;
    }
    if (r < 0) {
        get_stuck(self, &fault);
        return;
    }
    if (got < 0) {
        ending_on_link_closed(self);
        return;
    }
    acknowledge(self);
    session_settle(self);
}

int events_connect(self_t *self, fault_t *fault)
{
    int r =
        kernel_link_fd(self->kernel) >= 0
            ? 0
            : kernel_reconnect(self->kernel, self->spec->runtime_folder, fault);

    self->is_greeted = false;
    if (r < 0 || (r = kernel_hello(self->kernel, self->kernel_seq, fault)) < 0)
        return r;
    session_watch_link(self);
    return 0;
}
