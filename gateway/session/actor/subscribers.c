/* See subscribers.h. */
#include "gateway/session/actor/subscribers.h"

#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/launch.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/flow_control.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"

#define HOLD_MS 5000 /* a taken-over session waits for its subscribers */

/* Reads requests, but not while the session waits for its subscribers: a client
 * whose subscription is not back yet would lose the `idle` of its request. */
static void watch_requests(session_t *self)
{
    zsock_t *frontend;

    channels_listen(self->channels, CHANNEL_SHELL, self->loop, receive_on_shell,
                    self);
    channels_listen(self->channels, CHANNEL_CONTROL, self->loop,
                    receive_on_control, self);
    for (size_t i = 0; (frontend = frontends_socket(self->frontends, i)); i++)
        zloop_reader(self->loop, frontend, receive_on_frontend, self);
}

static void release(session_t *self)
{
    bool has_ended;
    fault_t fault;

    if (!session_state_is_held(self->state))
        return;
    has_ended =
        session_state_subscribers(self->state) == SUBSCRIBERS_HELD_ENDED;
    session_state_step(self->state, STATE_ON_RELEASE);
    if (!session_state_is(self->state, PHASE_GONE))
        persist_soon(self);
    timers_stop(self->timers, TIMER_HOLD);
    recovery_repeat(self);
    if (!session_state_is(self->state, PHASE_GONE)
        && session_state_sequel(self->state) == SEQUEL_RESTART)
        recovery_refuse_old(self);
    watch_requests(self);
    if (session_state_is(self->state, PHASE_GONE)) {
        /* The kernel died with requests that have no answer. */
        recovery_refuse(self);
    } else if (has_ended) {
        termination_finish(self);
    } else if (kernel_link_has_process(self->link)
               && launch_connect(self, &fault) < 0) {
        log_notice("session=%s kernel link: %s", self->spec->id, fault.text);
        kernel_events_on_closed(self);
    }
    dispatch_settle(self);
}

void subscribers_on_hold(void *session)
{
    session_t *self = session;

    flow_control_on_latecomers(self);
    release(self);
}

void subscribers_hold(session_t *self)
{
    session_state_step(self->state, STATE_ON_HOLD);
    timers_start(self->timers, TIMER_HOLD,
                 self->spec->subscribers ? HOLD_MS : 1);
}

static void release_when_all_are_back(session_t *self)
{
    if (session_state_is_held(self->state)
        && channels_subscribers(self->channels) >= self->spec->subscribers)
        release(self);
}

void subscribers_on_new(void *session)
{
    session_t *self = session;

    flow_control_on_subscriber(self);
    /* Saved at once: if this gateway is killed, the next one holds publications
     * until as many subscribers are back. Messages that the new subscriber has
     * requested meanwhile were sent before. */
    if (!session_state_is(self->state, PHASE_GONE)
        && !session_state_is_held(self->state)) {
        receive_take_more(self);
        dispatch_settle(self);
        (void) persist_now(self);
    }
    release_when_all_are_back(self);
}

void subscribers_on_change(void *session)
{
    session_t *self = session;

    if (!session_state_is(self->state, PHASE_GONE)
        && !session_state_is_held(self->state))
        persist_soon(self);
    release_when_all_are_back(self);
}

void subscribers_greet(void *arg, bool is_new, bytes_t topic)
{
    session_t *self = arg;

    if (is_new)
        publisher_welcome(self->publisher, topic);
    timers_start_once(self->timers,
                      is_new ? TIMER_SUBSCRIBED : TIMER_UNSUBSCRIBED, 1);
}

static int on_iopub(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;

    (void) loop;
    (void) socket;
    channels_take_subscriptions(self->channels);
    return 0;
}

static int on_heartbeat(zloop_t *loop, zsock_t *socket, void *arg)
{
    session_t *self = arg;

    (void) loop;
    (void) socket;
    channels_beat(self->channels);
    return 0;
}

void subscribers_open(session_t *self)
{
    channels_listen(self->channels, CHANNEL_STDIN, self->loop, receive_on_stdin,
                    self);
    channels_listen(self->channels, CHANNEL_IOPUB, self->loop, on_iopub, self);
    channels_listen(self->channels, CHANNEL_HB, self->loop, on_heartbeat, self);
    if (!session_state_is_held(self->state))
        watch_requests(self);
}
