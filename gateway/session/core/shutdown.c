/* See shutdown.h. */
#include "gateway/session/core/shutdown.h"

#include "base/log.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "protocol/jspan_write.h"

#include <stdio.h>
#include <string.h>

#define LEAVE_MS 1000 /* before it is killed */

void shutdown_on_timer(void *session)
{
    session_t *self = session;

    stop_begin(self, END_REASON_DELETED, "%s", "ended on request");
}

/* Writes the request for the kernel and the journal. */
static void describe(bool restart, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_bool(out, "restart", restart);
    jspan_write_end(out);
}

static bool wants_restart(const session_t *self)
{
    return session_state_sequel(self->state) == SEQUEL_RESTART;
}

/* Returns true if an end without a sequel is wanted already. */
static bool wants_end(const session_t *self)
{
    return session_state_sequel(self->state) == SEQUEL_NONE
           || session_state_sequel(self->state) == SEQUEL_CANCELLED;
}

/* Notes the unfinished shutdown; not for a member of the pool, which is never
 * taken over. */
static void note(session_t *self)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    describe(wants_restart(self), &content);
    if (!self->spec->is_pooled
        && publisher_note(self->publisher, "leaving", 0,
                          (const char *) content.data, &fault)
               < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
}

static void explain(session_t *self, bool restart)
{
    end_cause_set(&self->cause, END_REASON_DELETED, "%s",
                  restart ? "restarted on request" : "ended on request");
}

static int send_shutdown(session_t *self, bool restart)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    frame_t frame = {
        .type = FRAME_SHUTDOWN,
        .request = request_queue_number(self->requests),
    };
    fault_t fault;

    describe(restart, &content);
    frame.content = buffer_bytes(&content);
    return kernel_link_send(self->link, &frame, &fault);
}

void shutdown_begin(session_t *self, bool restart)
{
    bool is_busy = session_state_is(self->state, PHASE_BUSY);
    bool was_repeated;
    fault_t fault;

    if (session_state_is(self->state, PHASE_GONE))
        return;
    /* The end is requested while a restart is under way, by request or after a
     * limit: the end counts. */
    if (session_state_is(self->state, PHASE_STOPPING)
        && (restart || !stop_wants_relaunch(self)))
        return;
    was_repeated = session_state_sequel(self->state) == SEQUEL_REPEAT
                   || session_state_sequel(self->state) == SEQUEL_CANCELLED;
    session_state_step(self->state, restart && !self->spec->is_external
                                        ? STATE_ON_WANT_RESTART
                                        : STATE_ON_WANT_END);
    /* A limit that ended the session stays the reason. */
    if (!session_state_is(self->state, PHASE_STOPPING)
        || self->cause.reason == END_REASON_DELETED || was_repeated)
        explain(self, restart);
    note(self);
    if (session_state_is(self->state, PHASE_STOPPING))
        return;
    if (wants_restart(self))
        replies_fail_for_end(self, UINT64_MAX);
    if (is_busy || !session_kernel(self) || !self->info.size
        || !session_state_is_greeted(self->state)
        || send_shutdown(self, restart) < 0) {
        stop_begin(self, END_REASON_DELETED, "%s", "ended on request");
        return;
    }
    /* A session that is deleted waits for no next gateway: it ends with this
     * one. */
    if (!wants_restart(self))
        (void) kernel_command(session_kernel(self), 'U', &fault);
    session_state_step(self->state, STATE_ON_STOP);
    announce_state(self);
    stop_await(self, TIMER_LEAVE, LEAVE_MS);
}

void shutdown_at_once(session_t *self, const char *why)
{
    bool was_wanted = wants_end(self);

    if (session_state_is(self->state, PHASE_GONE))
        return;
    session_state_step(self->state, STATE_ON_WANT_END);
    /* A limit that ended the session stays the reason. */
    if (self->cause.reason == END_REASON_DELETED)
        end_cause_set(&self->cause, END_REASON_DELETED, "%s", why);
    /* Only once, although every request of a client that leaves comes here. */
    if (!was_wanted)
        note(self);
    /* Further requests do not give a killed kernel more time. */
    if (!session_state_is(self->state, PHASE_STOPPING)
        || !timers_is_running(self->timers, TIMER_STOP))
        stop_begin(self, END_REASON_DELETED, "%s", why);
}

void shutdown_go_on(session_t *self)
{
    explain(self, wants_restart(self));
    /* The earlier gateway has most likely asked the kernel, so it is not asked
     * again. */
    if (session_kernel(self) && kernel_pidfd(session_kernel(self)) >= 0)
        stop_begin(self, END_REASON_DELETED, "%s", "ended on request");
    else
        stop_expect(self);
}
