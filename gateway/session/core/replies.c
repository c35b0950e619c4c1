/* See replies.h. */
#include "gateway/session/core/replies.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/config/session_gone.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/deadlines.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/error_reply.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/unlogged_replies.h"

#define UNLOGGED_MS 500 /* between attempts to journal replies */

static int64_t last_count(const session_t *self)
{
    return request_queue_next_count(self->requests) - 1;
}

void replies_announce(session_t *self, request_t *request)
{
    if (!request_is_started(request)) {
        publisher_turn(self->publisher, "busy", request);
        request->progress = REQUEST_STARTED;
    }
}

static void publish_error(session_t *self, const request_t *request,
                          const char *ename, const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    publisher_event_t event = {
        .type = "error",
        .request = request->number,
        .parent = message_header(request->message),
    };
    fault_t fault;

    error_reply_write_event(ename, evalue, &content);
    event.content = buffer_bytes(&content);
    if (publisher_event(self->publisher, &event, &fault) < 0)
        publisher_broadcast(self->publisher, "error", event.parent,
                            event.content);
}

/* Sends a reply, whether or not the journal can be written. Returns true if the
 * journal has it. */
static bool reply_anyway(session_t *self, const request_t *request,
                         bytes_t metadata, bytes_t content)
{
    fault_t fault;

    if (publisher_reply(self->publisher, request, 0, metadata, content, &fault)
        == 0)
        return true;
    log_warning("session=%s reply not journaled: %s", self->spec->id,
                fault.text);
    publisher_send_reply(self->publisher, request, metadata, content);
    return false;
}

/* Ends a request with an error. Returns false if the journal does not have it.
 */
static bool fail(session_t *self, request_t *request, const char *ename,
                 const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, metadata = BUFFER_EMPTY;
    bool is_journaled;

    if (request_is_answered(request))
        return false;
    replies_announce(self, request);
    if (request_is_execute(request) && !request->silent)
        publish_error(self, request, ename, evalue);
    error_reply_write(request, last_count(self), ename, evalue, &content);
    loss_report_write_foreseen(self, request, &metadata);
    is_journaled = reply_anyway(self, request, buffer_bytes(&metadata),
                                buffer_bytes(&content));
    request->is_journaled &= is_journaled;
    publisher_turn(self->publisher, "idle", request);
    request->progress = REQUEST_ANSWERED;
    return is_journaled;
}

void replies_fail(session_t *self, request_t *request, const char *ename,
                  const char *evalue)
{
    (void) fail(self, request, ename, evalue);
}

/* Ends a request with an error for good: the next gateway must not run it. */
static void fail_for_good(session_t *self, request_t *request,
                          const char *ename, const char *evalue)
{
    if (!fail(self, request, ename, evalue))
        unlogged_replies_add(self->unlogged, request->number);
}

static int note_unlogged(void *arg, const char *content, fault_t *fault)
{
    session_t *self = arg;

    return publisher_note(self->publisher, "answered", 0, content, fault);
}

static void pay(session_t *self)
{
    fault_t fault;

    if (unlogged_replies_pay(self->unlogged, note_unlogged, self, &fault) < 0) {
        log_warning("session=%s answers not noted: %s", self->spec->id,
                    fault.text);
        timers_start(self->timers, TIMER_UNLOGGED, UNLOGGED_MS);
    } else {
        timers_stop(self->timers, TIMER_UNLOGGED);
    }
}

void replies_on_unlogged(void *session)
{
    pay(session);
}

void replies_fail_until(session_t *self, uint64_t last, const char *ename,
                        const char *evalue)
{
    request_t *request = request_queue_finish(self->requests);

    if (request) {
        fail_for_good(self, request, ename, evalue);
        request_destroy(&request);
    }
    while ((request = request_queue_pop_until(self->requests, last))) {
        fail_for_good(self, request, ename, evalue);
        request_destroy(&request);
    }
    pay(self);
}

void replies_fail_all(session_t *self, const char *ename, const char *evalue)
{
    replies_fail_until(self, UINT64_MAX, ename, evalue);
}

/* Ends a cell that has not begun; it is taken. */
static void abort_cell(session_t *self, request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    replies_announce(self, request);
    error_reply_write_aborted(last_count(self), &content);
    if (!reply_anyway(self, request, (bytes_t){0}, buffer_bytes(&content))) {
        request->is_journaled = false;
        unlogged_replies_add(self->unlogged, request->number);
    }
    publisher_turn(self->publisher, "idle", request);
    request_destroy(&request);
}

void replies_abort(session_t *self, uint64_t number)
{
    request_t *request = request_queue_take(self->requests, number);

    if (request)
        abort_cell(self, request);
    pay(self);
}

void replies_abort_cells(session_t *self)
{
    request_t *request;

    while ((request = request_queue_pop_execute(self->requests)))
        abort_cell(self, request);
    pay(self);
}

void replies_fail_for_end(session_t *self, uint64_t last)
{
    const char *ename = "KernelDied";
    cleanup_free char *evalue = NULL;

    if (self->cause.reason == END_REASON_WALL)
        ename = "TimeLimitExceeded";
    else if (!stop_wants_relaunch(self)
             && (self->cause.reason == END_REASON_DELETED
                 || self->cause.reason == END_REASON_IDLE_TIMEOUT
                 || self->cause.reason == END_REASON_LIFETIME))
        ename = "SessionGone";
    evalue =
        stop_wants_relaunch(self)
            ? mem_format("%s: %s; its variables are lost; a fresh kernel takes "
                         "over",
                         end_reason_name(self->cause.reason),
                         self->cause.detail)
            : mem_format("%s: %s; its variables are lost. `hearth session "
                         "revive %s` runs its recorded cells again; `hearth "
                         "session create` begins a new session",
                         end_reason_name(self->cause.reason),
                         self->cause.detail, self->spec->id);
    loss_report_foresee(self, last, ename);
    replies_fail_until(self, last, ename, evalue);
    loss_report_forget(self);
}

void replies_write_gone(const session_t *self, const char **ret_name,
                        buffer_t *ret_sentence)
{
    const session_spec_t *spec = self->spec;
    cleanup_free char *text = NULL;
    char iso[CLOCK_ISO_SIZE];

    clock_iso(spec->end.ended_us, iso);
    text = session_gone_text(spec->id, iso, spec->end.reason, spec->end.detail);
    *ret_name = "SessionGone";
    buffer_text(ret_sentence, text);
}

int64_t replies_cell_limit(const session_t *self, const request_t *request)
{
    return deadlines_cell_limit(request->time_limit_ms,
                                self->spec->times.cell_limit_ms);
}

const char *replies_limit_error(const session_t *self)
{
    return interrupt_limit(self->interrupt) == CELL_LIMIT_OUTPUT
               ? "OutputLimitExceeded"
               : "TimeLimitExceeded";
}

void replies_write_limit(const session_t *self, const request_t *request,
                         buffer_t *out)
{
    cleanup_free char *evalue =
        interrupt_limit(self->interrupt) == CELL_LIMIT_OUTPUT
            ? mem_format("%s, and was interrupted; print less of it, or write "
                         "it to a file; variables: preserved",
                         output_limit_text(self->limits.output))
            : mem_format("the cell ran past its time limit of %g s and was "
                         "interrupted; variables: preserved",
                         (double) replies_cell_limit(self, request) / 1000);

    error_reply_write(request, last_count(self), replies_limit_error(self),
                      evalue, out);
}

bool replies_remark(session_t *self, const request_t *request,
                    const char *remark)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_free char *text = mem_format("[hearth: %s]\n", remark);
    publisher_event_t event = {
        .type = "stream",
        .request = request->number,
        .parent = message_header(request->message),
    };
    fault_t fault;

    message_write_stream(&content, "stderr", text);
    event.content = buffer_bytes(&content);
    if (publisher_event(self->publisher, &event, &fault) == 0)
        return true;
    log_warning("session=%s stream: %s", self->spec->id, fault.text);
    return false;
}

void replies_remark_limit(session_t *self, request_t *request)
{
    cleanup_free char *remark =
        mem_format("the cell ran past its time limit of %g s and was "
                   "interrupted, which it caught",
                   (double) replies_cell_limit(self, request) / 1000);

    if (!request->is_remarked)
        request->is_remarked = replies_remark(self, request, remark);
}
