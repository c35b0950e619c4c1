/* See flow_control.h. */
#include "gateway/session/core/flow_control.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/gate/port.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/requests/request_queue.h"

#include <inttypes.h>

#define LOOK_MS 2 /* between two checks while the kernel or clients wait */

static gate_port_t *iopub(const session_t *self)
{
    return self->channels ? channels_port(self->channels, CHANNEL_IOPUB) : NULL;
}

/* Sums up what the session holds. */
static held_memory_load_t sum_up(const session_t *self, const kernel_t *kernel,
                                 channels_untaken_t peers)
{
    return (held_memory_load_t){
        .link = kernel ? kernel_held(kernel) : 0,
        .peers = peers.outputs + peers.replies,
        .requests = request_queue_held(self->requests),
    };
}

void flow_control_count(session_t *self)
{
    held_memory_load_t load =
        sum_up(self, session_kernel(self), channels_untaken(self->channels));

    if (held_memory_count(self->limits.memory, &load))
        timers_start_once(self->timers, TIMER_MEMORY, HELD_MEMORY_LOOK_MS);
}

bool flow_control_has_memory(session_t *self, size_t bytes)
{
    held_memory_load_t load;
    size_t waiting = request_queue_bytes(self->requests) + bytes;

    if (held_memory_is_free(waiting))
        return true;
    load = sum_up(self, session_kernel(self), channels_untaken(self->channels));
    return held_memory_permits_request(self->limits.memory, &load, bytes);
}

static void end_kernel(session_t *self, const char *what)
{
    const memory_budget_t *budget = held_memory_budget(self->limits.memory);

    stop_begin(self, END_REASON_OUTPUT,
               "the kernel %s, with %zu bytes of a message in the gateway's "
               "memory, which holds %" PRIu64 " of at most %" PRIu64
               " bytes of messages (gateway/message_memory)",
               what, kernel_unfinished(session_kernel(self)),
               memory_budget_held(budget), memory_budget_max(budget));
}

void flow_control_on_memory(void *session)
{
    session_t *self = session;
    held_memory_message_t message = {
        .unfinished =
            session_kernel(self) ? kernel_unfinished(session_kernel(self)) : 0,
        .received =
            session_kernel(self) ? kernel_received(session_kernel(self)) : 0,
        .is_held = backpressure_is_holding(self->limits.backpressure),
        .may_end = session_state_is_at_work(self->state),
    };

    if (held_memory_is_stalled(self->limits.memory, &message,
                               clock_monotonic_ms()))
        end_kernel(self, "stopped in the middle of a message");
    flow_control_count(self);
}

/* ---- the kernel's output ---- */

static backpressure_load_t load_of(session_t *self)
{
    const kernel_t *kernel = session_kernel(self);
    channels_untaken_t peers = channels_untaken(self->channels);
    held_memory_load_t held = sum_up(self, kernel, peers);

    return (backpressure_load_t){
        .outputs = peers.outputs,
        .replies = peers.replies,
        .is_permitted = held_memory_permits_reading(self->limits.memory, &held,
                                                    kernel_growth(kernel)),
        .has_to_be_heard = interrupt_is_on(self->interrupt)
                           || session_state_is(self->state, PHASE_STOPPING),
    };
}

bool flow_control_may_read(session_t *self)
{
    bool was_holding = backpressure_is_holding(self->limits.backpressure);
    backpressure_load_t load = load_of(self);

    if (backpressure_check(self->limits.backpressure, &load,
                           clock_monotonic_ms())
        == BACKPRESSURE_READ)
        return true;
    timers_start_once(self->timers, TIMER_OUTPUTS, LOOK_MS);
    if (!was_holding)
        kernel_link_hold(self->link, true);
    gate_port_wait(iopub(self), true);
    return false;
}

static void cut_subscribers(session_t *self, int64_t waited_ms)
{
    unsigned count = channels_disconnect_slow(self->channels, CHANNEL_IOPUB);

    log_warning("session=%s subscribers=%u took nothing for %" PRId64
                " ms and were disconnected; %zu bytes waited for them",
                self->spec->id, count, waited_ms,
                channels_untaken(self->channels).outputs);
    backpressure_owe(self->limits.backpressure, count);
}

static void cut_clients(session_t *self, int64_t waited_ms)
{
    unsigned count = channels_disconnect_slow(self->channels, CHANNEL_SHELL)
                     + channels_disconnect_slow(self->channels, CHANNEL_CONTROL)
                     + channels_disconnect_slow(self->channels, CHANNEL_STDIN);

    log_warning("session=%s clients=%u took no reply for %" PRId64
                " ms and were disconnected; %zu bytes waited for them",
                self->spec->id, count, waited_ms,
                channels_untaken(self->channels).replies);
}

/* Lets the kernel be read again. */
static void release(session_t *self)
{
    kernel_link_hold(self->link, false);
    gate_port_wait(iopub(self), false);
}

bool flow_control_look(session_t *self)
{
    int64_t now = clock_monotonic_ms();
    int64_t waited_ms = now - backpressure_since(self->limits.backpressure);
    backpressure_load_t load;

    if (!session_kernel(self)) {
        backpressure_end(self->limits.backpressure);
        release(self);
        return false;
    }
    load = load_of(self);
    backpressure_owe(self->limits.backpressure,
                     gate_port_take_ended(iopub(self)));
    switch (backpressure_look(self->limits.backpressure, &load, now)) {
    case BACKPRESSURE_READ:
        release(self);
        return true;
    case BACKPRESSURE_HOLD:
        break;
    case BACKPRESSURE_CUT_SUBSCRIBERS:
        cut_subscribers(self, waited_ms);
        break;
    case BACKPRESSURE_CUT_CLIENTS:
        cut_clients(self, waited_ms);
        break;
    case BACKPRESSURE_CUT_KERNEL:
        end_kernel(self, "said more than there was room for");
        break;
    }
    timers_start(self->timers, TIMER_OUTPUTS, LOOK_MS);
    return false;
}

/* ---- subscribers that come back ---- */

void flow_control_on_latecomers(session_t *self)
{
    unsigned have = channels_subscribers(self->channels);

    if (self->spec->subscribers > have)
        backpressure_owe(self->limits.backpressure,
                         self->spec->subscribers - have);
}

/* Sends `idle` again: a subscriber that is back may still wait for that of a
 * cell which has ended meanwhile. */
void flow_control_on_subscriber(session_t *self)
{
    bytes_t last = request_queue_last(self->requests);

    if (session_state_is(self->state, PHASE_GONE)
        || !backpressure_give(self->limits.backpressure))
        return;
    if (!request_queue_running(self->requests) && last.size)
        publisher_status(self->publisher, "idle", last);
}

/* ---- replies ---- */

bool flow_control_may_take(session_t *self)
{
    if (backpressure_check_replies(self->limits.backpressure,
                                   channels_untaken(self->channels).replies,
                                   clock_monotonic_ms())
        == BACKPRESSURE_READ)
        return true;
    timers_start_once(self->timers, TIMER_REPLIES, LOOK_MS);
    return false;
}

bool flow_control_look_replies(session_t *self)
{
    int64_t now = clock_monotonic_ms();
    int64_t waited_ms =
        now - backpressure_replies_since(self->limits.backpressure);
    backpressure_verdict_t verdict = backpressure_look_replies(
        self->limits.backpressure, channels_untaken(self->channels).replies,
        now);

    if (verdict == BACKPRESSURE_READ) {
        channels_resume(self->channels);
        return true;
    }
    if (verdict == BACKPRESSURE_CUT_CLIENTS)
        cut_clients(self, waited_ms);
    timers_start(self->timers, TIMER_REPLIES, LOOK_MS);
    return false;
}
