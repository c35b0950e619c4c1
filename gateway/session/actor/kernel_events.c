/* See kernel_events.h. */
#include "gateway/session/actor/kernel_events.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/kernel_output.h"
#include "gateway/session/actor/launch.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/flow_control.h"
#include "gateway/session/core/imported.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/kernel_permissions.h"
#include "gateway/session/kernel/output_batch.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_events.h"

#include <errno.h>
#include <inttypes.h>

#define READS_MAX      32   /* reads in a row, before other events */
#define LINK_GRACE_MS  300  /* from a closed link to the end of its kernel */
#define STUCK_RETRY_MS 500  /* until the journal is tried again */
#define STUCK_GRACE_MS 5000 /* then the running request fails */

/* Cuts the link: the journal cannot be written. The next connection begins
 * after the last event that the journal holds. */
static void get_stuck(session_t *self, const fault_t *fault)
{
    log_error("session=%s journal: %s", self->spec->id, fault->text);
    if (session_state_step(self->state, STATE_ON_STUCK))
        self->clocks.stuck = clock_monotonic_ms();
    kernel_output_forget(self);
    kernel_link_cut(self->link);
    timers_start(self->timers, TIMER_JOURNAL, STUCK_RETRY_MS);
}

void kernel_events_on_journal(void *session)
{
    session_t *self = session;
    request_t *running = request_queue_running(self->requests);
    int64_t waited = clock_monotonic_ms() - self->clocks.stuck;
    fault_t fault;

    if (!session_kernel(self) || session_state_is(self->state, PHASE_GONE))
        return;
    if (running && !request_is_answered(running) && waited > STUCK_GRACE_MS)
        replies_fail(
            self, running, "JournalError",
            "the session's journal cannot be written; the cell goes on "
            "and its output is kept and delivered when there is space "
            "again; variables: preserved");
    dispatch_settle(self);
    /* A note that is written shows that the journal takes records again. */
    if (publisher_note(self->publisher, "resumed", 0, "{}", &fault) < 0) {
        timers_start(self->timers, TIMER_JOURNAL, STUCK_RETRY_MS);
        return;
    }
    session_state_step(self->state, STATE_ON_UNSTUCK);
    if (launch_connect(self, &fault) < 0)
        stop_begin(self, END_REASON_LOST, "the kernel link: %s", fault.text);
}

static int on_ready(session_t *self, const frame_t *frame,
                    const kernel_permissions_content_t *content, fault_t *fault)
{
    (void) content;
    cleanup_free char *text =
        mem_copy(frame->content.bytes, frame->content.size);
    int r = publisher_note(self->publisher, "ready", frame->seq, text, fault);

    if (r < 0)
        return r;
    buffer_clear(&self->info);
    buffer_append(&self->info, frame->content.bytes, frame->content.size);
    request_queue_set_next_count(self->requests, 1);
    launch_admit(self);
    return 0;
}

static int on_input_request(session_t *self, const frame_t *frame,
                            const kernel_permissions_content_t *content,
                            fault_t *fault)
{
    publisher_event_t event = {
        .type = "input_request",
        .request = frame->request,
        .kernel_seq = frame->seq,
        .content = frame->content,
    };
    int r;

    if (!request_queue_runs(self->requests, frame->request))
        return fault_set(fault, EPROTO,
                         "INPUT_REQUEST of a request that is not running");
    r = publisher_input_request(self->publisher, &event,
                                request_queue_running(self->requests), fault);
    if (r < 0)
        return r;
    request_queue_want_input(
        self->requests,
        jspan_is(jspan_member(content->object, "password"), JSPAN_TRUE)
            ? REQUEST_QUEUE_PASSWORD
            : REQUEST_QUEUE_TEXT);
    return 0;
}

/* Ends a comm message that the kernel has served beside a cell. It was sent
 * before if it waits here: by this gateway or the one before. */
static int on_reply_beside(session_t *self, const frame_t *frame,
                           jspan_t content, fault_t *fault)
{
    const request_t *request =
        request_queue_find_comm(self->requests, frame->request);

    if (!request)
        return fault_set(fault, EPROTO,
                         "REPLY to request %" PRIu64 ", which is not running",
                         frame->request);
    return dispatch_finish_beside(self, request, frame->seq, content, fault);
}

static int on_reply(session_t *self, const frame_t *frame,
                    const kernel_permissions_content_t *content, fault_t *fault)
{
    request_t *running = request_queue_running(self->requests);
    bool aborts;
    char type[64];

    /* This is the answer to SHUTDOWN; only the kernel's end matters. */
    if (!running && session_state_is(self->state, PHASE_STOPPING))
        return 0;
    if (!running || running->number != frame->request)
        return on_reply_beside(self, frame, content->object, fault);
    if (request_reply_type(running, type)
        && kernel_permissions_check_answer(content->reply.status,
                                           request_is_execute(running), fault)
               < 0)
        return fault_wrap(fault, "request %" PRIu64, frame->request);
    /* Requests that have arrived by now are aborted with the failed cell. Later
     * ones are not: their client may know of the failure. */
    aborts = dispatch_aborts(running, content->reply.status);
    if (aborts) {
        receive_take_all(self);
        if (request_queue_running(self->requests) != running)
            return 0;
    }
    return dispatch_finish(self, frame, content, aborts, fault);
}

static int on_struck(session_t *self, const frame_t *frame,
                     const kernel_permissions_content_t *content,
                     fault_t *fault)
{
    int r = publisher_note(self->publisher, "struck", frame->seq, "{}", fault);

    if (r == 0)
        escalation_on_strike(
            self, frame->request,
            jspan_is(jspan_member(content->object, "taken"), JSPAN_TRUE));
    return r;
}

static void on_awaiting(session_t *self, uint64_t request)
{
    if (request_queue_note_awaiting(self->requests, request))
        dispatch_all_beside(self);
}

/* The consequences of an event; one without a row is published. All are
 * journaled, so that the journal's numbers have no gap. */
static const struct {
    const char *note; /* journaled before `react`; NULL: `handle` does it */
    void (*react)(session_t *, uint64_t request);
    int (*handle)(session_t *, const frame_t *,
                  const kernel_permissions_content_t *, fault_t *);
} rows[] = {
    [FRAME_READY] = {.handle = on_ready},
    [FRAME_INPUT_REQUEST] = {.handle = on_input_request},
    [FRAME_REPLY] = {.handle = on_reply},
    [FRAME_MARKED] = {.note = "marked", .react = escalation_on_mark},
    [FRAME_YIELDED] = {.note = "yielded", .react = escalation_on_yield},
    [FRAME_AWAITING] = {.note = "awaiting", .react = on_awaiting},
    [FRAME_CALL] = {.handle = tool_events_on_call},
    [FRAME_UNCALL] = {.handle = tool_events_on_uncall},
    [FRAME_STRUCK] = {.handle = on_struck},
    [FRAME_LOOKED] = {.handle = imported_on_looked},
};

static int follow(session_t *self, const frame_t *frame,
                  const kernel_permissions_content_t *content, fault_t *fault)
{
    size_t type = frame->type < sizeof rows / sizeof *rows ? frame->type : 0;
    int r;

    if (rows[type].handle)
        return rows[type].handle(self, frame, content, fault);
    if (!rows[type].note)
        return kernel_output_publish(self, frame, content, fault);
    r = publisher_note(self->publisher, rows[type].note, frame->seq, "{}",
                       fault);
    if (r == 0)
        rows[type].react(self, frame->request);
    return r;
}

static int on_event(session_t *self, const frame_t *frame, fault_t *fault)
{
    kernel_permissions_content_t content;
    size_t weight = output_limit_weight(frame);
    bool is_output = output_limit_bounds(frame, weight);
    int r = kernel_permissions_check(frame, session_state_phase(self->state),
                                     self->info.size > 0, &content, fault);

    if (r < 0)
        return r;
    if (is_output && kernel_output_is_past_limit(self, frame, weight, &content))
        return kernel_output_drop(self, frame, fault);
    if (frame->type == FRAME_STREAM)
        return kernel_output_stream(self, frame, &content.stream, fault);
    if (is_output && output_batch_permits(frame))
        return kernel_output_add(self, frame, fault);
    r = kernel_output_flush(self, fault);
    if (r < 0)
        return r;
    r = follow(self, frame, &content, fault);
    if (r < 0)
        return r;
    if (frame->type == FRAME_CALL)
        kernel_output_count_call(self);
    kernel_output_count(self, frame->seq, weight, is_output);
    return 0;
}

/* Reads the answer to HELLO: the number of the kernel's last event. */
static int on_welcome(session_t *self, const frame_t *frame, fault_t *fault)
{
    const request_t *running;
    jspan_t content, error;
    int64_t last;

    if (session_state_is_greeted(self->state))
        return fault_set(fault, EPROTO, "a second WELCOME");
    if (jspan_check(frame->content.bytes, frame->content.size, &content, fault)
        < 0)
        return fault_set(fault, EPROTO, "WELCOME is not JSON");
    error = jspan_member(content, "error");
    if (jspan_is(error, JSPAN_STRING))
        return fault_set(fault, EPROTO, "the kernel refuses this gateway: %.*s",
                         (int) (error.size < 100 ? error.size : 100),
                         error.text);
    if (!jspan_to_integer(jspan_member(content, "last"), &last)
        || last < (int64_t) kernel_link_seq(self->link))
        return fault_set(fault, EPROTO,
                         "WELCOME forgets events that the journal has");
    session_state_step(self->state, STATE_ON_WELCOME);
    host_tools_greet(self, content);
    imported_greet(self, content);
    interrupt_set_reports(
        self->interrupt, jspan_is(jspan_member(content, "struck"), JSPAN_TRUE));
    /* The request that was sent before the last connection broke may not have
     * arrived. A kernel that has it knows its number and ignores the
     * repetition. */
    running = request_queue_running(self->requests);
    if (running && !request_is_answered(running))
        dispatch_send(self, running);
    if (running && jspan_is(jspan_member(content, "awaiting"), JSPAN_TRUE)
        && request_queue_note_awaiting(self->requests, running->number))
        dispatch_all_beside(self);
    return 0;
}

static int on_frame(session_t *self, const frame_t *frame, fault_t *fault)
{
    uint64_t next;

    if (frame->type == FRAME_WELCOME)
        return on_welcome(self, frame, fault);
    if (!session_state_is_greeted(self->state))
        return fault_set(fault, EPROTO, "an event before WELCOME");
    next = kernel_output_next_seq(self);
    if (frame->seq < next)
        return 0;
    if (frame->seq > next)
        return fault_set(fault, EPROTO,
                         "event %" PRIu64 " where %" PRIu64 " is next",
                         frame->seq, next);
    return on_event(self, frame, fault);
}

/* Handles the frames of one read. */
static int take_frames(session_t *self, kernel_t *kernel, fault_t *fault)
{
    frame_t frame;
    int r;

    while ((r = kernel_next(kernel, &frame, fault)) != 0) {
        if (r > 0)
            r = on_frame(self, &frame, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Waits a moment for the reason: in most cases the kernel is ending, and pid 1
 * reports how. */
void kernel_events_on_closed(session_t *self)
{
    kernel_link_cut(self->link);
    session_state_step(self->state, STATE_ON_LINK_CLOSED);
    if (!session_state_is(self->state, PHASE_STOPPING)
        && !session_state_is(self->state, PHASE_GONE)
        && kernel_pidfd(session_kernel(self)) >= 0)
        stop_await(self, TIMER_LINK, LINK_GRACE_MS);
}

void kernel_events_on_link(void *session)
{
    session_t *self = session;

    if (session_kernel(self) && !kernel_link_is_connected(self->link))
        stop_begin(self, END_REASON_PROTOCOL,
                   "the kernel closed its link to the gateway");
}

void kernel_events_read(session_t *self)
{
    /* The kernel outlives the frames: only termination.c ends it. */
    kernel_t *kernel = session_kernel(self);
    fault_t fault = {0};
    int r = 0, got = 0;

    for (int i = 0; i < READS_MAX && kernel && r >= 0 && got != 1; i++) {
        if (!flow_control_may_read(self))
            break;
        got = kernel_read(kernel, &fault);
        if (got <= 0)
            break;
        r = take_frames(self, kernel, &fault);
    }
    if (r == 0)
        r = kernel_output_flush(self, &fault);
    if (r == -EPROTO) { /* what came before it is published */
        fault_t ignored;

        (void) kernel_output_flush(self, &ignored);
        kernel_output_forget(self); /* the next kernel counts from 1 again */
        stop_begin(self, END_REASON_PROTOCOL, "%s", fault.text);
        return;
    }
    if (r < 0) {
        get_stuck(self, &fault);
        return;
    }
    if (got < 0) {
        kernel_events_on_closed(self);
        return;
    }
    kernel_link_acknowledge(self->link);
    dispatch_settle(self);
}

void kernel_events_on_outputs(void *session)
{
    session_t *self = session;

    if (flow_control_look(self) && kernel_link_is_connected(self->link))
        kernel_events_read(self);
}
