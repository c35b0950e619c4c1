/* Who comes to a session: subscribers are greeted, and after a take-over
 * requests wait until as many are back as there were, or for a moment. */
#include "gateway/session/internal.h"

#include "base/log.h"

#define HOLD_MS 5000 /* a taken-over session waits for its subscribers */

/* Not while the session is held: a request that is answered before its
 * client's subscription is back would lose its `idle`. */
static void watch_requests(self_t *self)
{
    zsock_t *front;

    ports_listen(self->ports, CHANNEL_SHELL, self->loop, intake_on_shell, self);
    ports_listen(self->ports, CHANNEL_CONTROL, self->loop, intake_on_control,
                 self);
    for (size_t i = 0; (front = viewers_socket(self->viewers, i)); i++)
        zloop_reader(self->loop, front, intake_on_front, self);
}

static void release(self_t *self)
{
    fault_t fault;

    if (!self->is_held)
        return;
    self->is_held = false;
    if (self->state != LIFE_GONE)
        session_save_soon(self);
    session_stop_timer(self, &self->hold_timer);
    recovery_repeat(self);
    if (self->state != LIFE_GONE && self->is_relaunching)
        recovery_refuse_old(self);
    watch_requests(self);
    if (self->state == LIFE_GONE) {
        /* It died with requests that nobody has answered. */
        recovery_refuse(self);
    } else if (self->is_end_held) {
        ending_finish(self);
    } else if (self->kernel && self->watched_pidfd >= 0
               && events_connect(self, &fault) < 0) {
        log_notice("session=%s kernel link: %s", self->spec->id, fault.text);
        ending_on_link_closed(self);
    }
    session_settle(self);
}

static int on_hold(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->hold_timer = 0;
    pressure_on_latecomers(self);
    release(self);
    return 0;
}

void reception_hold(self_t *self)
{
    self->is_held = true;
    session_start_timer(self, &self->hold_timer,
                        self->spec->subscribers ? HOLD_MS : 1, on_hold);
}

static int on_greeted(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->greeted_timer = 0;
    if (self->is_subscribed)
        pressure_on_subscriber(self);
    /* A new one at once: should this gateway be killed, the next one holds what
     * is to be published until as many are back. What it has asked for
     * meanwhile is on its way before that. */
    if (self->state != LIFE_GONE && !self->is_held) {
        if (self->is_subscribed) {
            intake_take_all(self);
            session_settle(self);
            session_save(self);
        } else {
            session_save_soon(self);
        }
    }
    self->is_subscribed = false;
    if (self->is_held
        && ports_subscribers(self->ports) >= self->spec->subscribers)
        release(self);
    return 0;
}

/* Another message may be about to be published: what else follows from a
 * subscription waits for a turn of its own. */
void reception_greet(void *arg, bool is_new, bytes_t topic)
{
    self_t *self = arg;

    if (is_new)
        output_welcome(self->output, topic);
    self->is_subscribed |= is_new;
    if (!self->greeted_timer)
        session_start_timer(self, &self->greeted_timer, 1, on_greeted);
}

static int on_iopub(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) socket;
    ports_take_subscriptions(self->ports);
    return 0;
}

static int on_heartbeat(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) socket;
    ports_beat(self->ports);
    return 0;
}

void reception_open(self_t *self)
{
    ports_listen(self->ports, CHANNEL_STDIN, self->loop, intake_on_stdin, self);
    ports_listen(self->ports, CHANNEL_IOPUB, self->loop, on_iopub, self);
    ports_listen(self->ports, CHANNEL_HB, self->loop, on_heartbeat, self);
    if (!self->is_held)
        watch_requests(self);
}
