/* See dispatch.h. The protocol's rules are in jupyter_client's messaging.rst;
 * busy and idle surround every request. */
#include "gateway/session/actor/dispatch.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/flow_control.h"
#include "gateway/session/core/local_replies.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/monitoring.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/deadlines.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "gateway/session/requests/seed_runner.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_missing.h"
#include "protocol/jspan_write.h"
#include "protocol/reply_metadata.h"

#define RETRY_MS   20  /* until a reply to an absent client is tried again */
#define UNHEARD_MS 200 /* between two checks whether the kernel reads */

static int publish_input(session_t *self, const request_t *request,
                         fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY, metadata = BUFFER_EMPTY;
    bool brings_loss = loss_report_write(self, request, &metadata);
    publisher_event_t event = {
        .type = "execute_input",
        .request = request->number,
        .parent = message_header(request->message),
        .metadata = buffer_bytes(&metadata),
    };
    int r;

    jspan_write_begin(&out);
    jspan_write_raw(&out, "code",
                    (bytes_t){request->code.text, request->code.size});
    jspan_write_integer(&out, "execution_count",
                        request_queue_next_count(self->requests));
    jspan_write_end(&out);
    event.content = buffer_bytes(&out);
    r = publisher_event(self->publisher, &event, fault);
    if (r == 0 && brings_loss)
        loss_report_note(self, request);
    return r;
}

/* Writes the request's metadata with the message's header in it, for widgets
 * that capture output and threads that print for a cell. If a name occurs
 * twice, the last one counts, so ours does. */
static void write_metadata(const message_t *message, buffer_t *out)
{
    static const char *const keys[] = {"view", "secrets", NULL};
    jspan_t object = message_metadata_json(message);
    jspan_t found[2];

    jspan_members(jspan_member(object, "hearth"), keys, found);
    jspan_write_begin(out);
    if (jspan_is(object, JSPAN_OBJECT))
        buffer_append(out, object.text + 1, object.size - 2);
    jspan_write_object(out, "hearth");
    jspan_write_raw(out, "header", message_header(message));
    if (jspan_text_equals(found[0], "model"))
        jspan_write_text(out, "view", "model");
    if (jspan_is(found[1], JSPAN_FALSE))
        jspan_write_bool(out, "secrets", false);
    jspan_write_end(out);
    jspan_write_end(out);
}

static int send_to_kernel(session_t *self, const request_t *request,
                          fault_t *fault)
{
    const message_t *message = request->message;
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;
    frame_t frame = {
        .type = request->frame_type,
        .request = request->number,
        .content = message_content(message),
        .buffers = message_buffers(message),
        .buffer_count = message_buffer_count(message),
    };

    write_metadata(message, &metadata);
    frame.metadata = buffer_bytes(&metadata);
    return kernel_link_send(self->link, &frame, fault);
}

void dispatch_send(session_t *self, const request_t *request)
{
    fault_t fault;

    if (session_kernel(self) && send_to_kernel(self, request, &fault) < 0)
        log_debug("session=%s %s", self->spec->id, fault.text);
}

void dispatch_beside(session_t *self, request_t *request)
{
    if (!request_queue_is_awaiting(self->requests)
        || !session_state_is_greeted(self->state)
        || session_state_service(self->state) == SERVICE_DRAINING)
        return;
    dispatch_send(self, request);
    replies_announce(self, request);
}

void dispatch_all_beside(session_t *self)
{
    request_t *at = NULL;

    while ((at = request_queue_next_comm(self->requests, at)))
        dispatch_beside(self, at);
}

void dispatch_on_cell_limit(void *session)
{
    session_t *self = session;

    /* After a take-over the cell may be over, with its reply still in the link.
     */
    if (session_state_is_held(self->state)
        || !session_state_is_greeted(self->state)) {
        timers_start(self->timers, TIMER_CELL, UNHEARD_MS);
        return;
    }
    escalation_begin_for_limit(self, CELL_LIMIT_TIME);
}

static void begin_cell(session_t *self, const request_t *request)
{
    int64_t limit = replies_cell_limit(self, request);

    monitoring_cell_begin(self);
    timers_stop(self->timers, TIMER_IDLE);
    output_limit_begin_cell(self->limits.output,
                            request_queue_next_count(self->requests));
    if (limit)
        timers_start(self->timers, TIMER_CELL,
                     deadlines_left(limit, request->begun_us, clock_wall_us()));
}

/* Notes the beginning for the audit log, before the journal has it: the next
 * gateway takes a cell that is in the journal as one that was noted. */
static void note_cell(session_t *self, const request_t *request)
{
    announce_start(self);
    if (request_is_seed(request))
        return;
    if (request_is_started(request))
        audit_events_cell_resume(self->audit, request);
    else
        audit_events_cell_begin(self->audit, request);
}

void dispatch_start(session_t *self, request_t **request_p)
{
    request_t *request = *request_p;
    bool is_fresh = !request_is_started(request);
    fault_t fault;

    if (!session_state_step(self->state, STATE_ON_BEGIN))
        return;
    request_queue_start(self->requests, request_p);
    if (request_is_execute(request))
        begin_cell(self, request);
    if (request_is_execute(request) && is_fresh)
        tool_calls_begin_cell(self->tools.calls);
    dispatch_send(self, request);
    if (request_is_execute(request))
        note_cell(self, request);
    replies_announce(self, request);
    if (request_is_execute(request) && is_fresh && !request->silent
        && publish_input(self, request, &fault) < 0)
        log_warning("session=%s execute_input: %s", self->spec->id, fault.text);
}

/* Returns the seed's next cell, which is then in the journal. */
static request_t *next_seed_cell(session_t *self)
{
    cleanup_request request_t *request = seed_runner_next(self->start.seed);
    fault_t fault;

    if (!request)
        return NULL;
    if (publisher_request(self->publisher, request, &fault) < 0) {
        stop_begin(self, END_REASON_LAUNCH,
                   "the seed was not run: the session's journal cannot be "
                   "written (%.150s)",
                   fault.text);
        return NULL;
    }
    request->is_journaled = true;
    return take_ptr(request);
}

static void next(session_t *self)
{
    while ((request_queue_size(self->requests) || self->spec->seed.is_running)
           && session_state_is(self->state, PHASE_IDLE)
           && session_state_is_greeted(self->state)
           && session_state_service(self->state) != SERVICE_DRAINING
           && flow_control_may_take(self)) {
        request_t *request = self->spec->seed.is_running
                                 ? next_seed_cell(self)
                                 : request_queue_pop(self->requests);

        if (!request)
            return;
        if (request->frame_type) {
            dispatch_start(self, &request);
            return;
        }
        local_replies_give(self, request);
        request_destroy(&request);
    }
}

void dispatch_on_retry(void *session)
{
    session_t *self = session;

    if (self->channels && channels_retry(self->channels))
        timers_start(self->timers, TIMER_RETRY, RETRY_MS);
}

void dispatch_settle(session_t *self)
{
    next(self);
    flow_control_count(self);
    announce_state(self);
    if (self->channels && channels_is_holding(self->channels))
        timers_start_once(self->timers, TIMER_RETRY, RETRY_MS);
}

void dispatch_on_replies(void *session)
{
    session_t *self = session;

    if (flow_control_look_replies(self))
        dispatch_settle(self);
}

bool dispatch_aborts(const request_t *running, jspan_t status)
{
    return request_is_execute(running) && running->stop_on_error
           && !running->silent && jspan_text_equals(status, "error");
}

/* Replaces KeyboardInterrupt by the limit's sentence; a cell that has caught
 * the interrupt gets a remark. */
static int explain_limit(session_t *self, request_t *request, jspan_t *content,
                         buffer_t *out, fault_t *fault)
{
    cell_limit_t limit = interrupt_limit(self->interrupt);

    if (limit == CELL_LIMIT_NONE)
        return 0;
    if (jspan_text_equals(jspan_member(*content, "status"), "error")) {
        replies_write_limit(self, request, out);
        return jspan_check(out->data, out->size, content, fault);
    }
    if (limit == CELL_LIMIT_TIME && request_is_execute(request))
        replies_remark_limit(self, request);
    return 0;
}

/* Decides after the reply to one of the seed's cells. */
static void judge_seed(session_t *self, jspan_t content)
{
    char text[200];

    if (!self->spec->seed.is_running
        || !session_state_is(self->state, PHASE_IDLE))
        return;
    switch (seed_runner_judge(self->start.seed, content, text)) {
    case SEED_RUNNER_GOES_ON:
        break;
    case SEED_RUNNER_DONE:
        timers_stop(self->timers, TIMER_SEED);
        (void) persist_now(self);
        announce_ready(self);
        break;
    case SEED_RUNNER_FAILED:
        stop_begin(self, END_REASON_LAUNCH, "%s", text);
        break;
    }
}

/* Records a reply that was sent. `said` is the metadata from the kernel. */
static void record_reply(session_t *self, const request_t *request,
                         jspan_t said, jspan_t content, int64_t cell)
{
    cell_cost_t cost = resource_monitor_cost(self->limits.monitor);

    revive_note_reply(self->start.revival, request);
    if (request_is_execute(request))
        buffer_clear(&self->tools.missing);
    if (!request_is_answered(request))
        publisher_turn(self->publisher, "idle", request);
    if (request_is_execute(request) && !request_is_seed(request))
        audit_events_cell_end(self->audit, request, content,
                              output_limit_cell_bytes(self->limits.output),
                              &cost);
    if (request_is_execute(request))
        monitoring_apply(self, said, cell);
    latency_count(&self->latency, request, clock_monotonic_us());
    if (self->latency.gathered.count)
        timers_start_once(self->timers, TIMER_LATENCY, LATENCY_MS);
}

/* Ends the running request: the session is idle again. */
static void end_turn(session_t *self, jspan_t content, bool aborts)
{
    cleanup_request request_t *request = NULL;

    timers_stop(self->timers, TIMER_CELL);
    session_state_step(self->state, STATE_ON_END);
    escalation_end(self, "interrupted", "preserved");
    request = request_queue_finish(self->requests);
    if (request_is_execute(request))
        activity_touch(self);
    if (aborts)
        replies_abort_cells(self);
    if (request_is_seed(request))
        judge_seed(self, content);
}

/* Writes what the gateway adds to `hearth` in the reply's metadata. */
static void write_members(session_t *self, const request_t *request,
                          buffer_t *members)
{
    if (request_is_execute(request)) {
        resource_monitor_cell_end(self->limits.monitor, clock_monotonic_ms(),
                                  members);
        tool_missing_write(&self->tools.missing, members);
    }
    revive_write(self->start.revival, request, members);
}

int dispatch_finish(session_t *self, const frame_t *frame,
                    const kernel_permissions_content_t *content, bool aborts,
                    fault_t *fault)
{
    request_t *request = request_queue_running(self->requests);
    int64_t cell = request_queue_next_count(self->requests);
    cleanup_buffer buffer_t members = BUFFER_EMPTY;
    cleanup_buffer buffer_t extended = BUFFER_EMPTY;
    cleanup_buffer buffer_t limited = BUFFER_EMPTY;
    jspan_t reply = content->object;
    bytes_t metadata = frame->metadata;
    int r;

    if (request_is_execute(request))
        request_queue_read_count(self->requests, content->metadata);
    write_members(self, request, &members);
    if (members.size) {
        reply_metadata_add(content->metadata, buffer_bytes(&members),
                           &extended);
        metadata = buffer_bytes(&extended);
    }
    r = explain_limit(self, request, &reply, &limited, fault);
    if (r == 0)
        r = publisher_reply(self->publisher, request, frame->seq, metadata,
                            (bytes_t){reply.text, reply.size}, fault);
    if (r < 0) {
        /* The kernel repeats it, and it has to be the same then. */
        request_queue_set_next_count(self->requests, cell);
        return r;
    }
    record_reply(self, request, content->metadata, reply, cell);
    end_turn(self, reply, aborts);
    return 0;
}

int dispatch_finish_beside(session_t *self, const request_t *request,
                           uint64_t kernel_seq, jspan_t content, fault_t *fault)
{
    const request_t *running = request_queue_running(self->requests);
    cleanup_request request_t *ended = NULL;
    int r = publisher_reply(self->publisher, request, kernel_seq, (bytes_t){0},
                            (bytes_t){content.text, content.size}, fault);

    if (r < 0)
        return r;
    ended = request_queue_take(self->requests, request->number);
    replies_announce(self, ended);
    publisher_turn(self->publisher, "idle", ended);
    request_queue_remember(self->requests, ended);
    /* A frontend shows the last state that it has read, so `busy` is sent once
     * more. */
    if (running)
        publisher_turn(self->publisher, "busy", running);
    return 0;
}
