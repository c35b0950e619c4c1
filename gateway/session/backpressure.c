/* What peers have not taken lies in the gateway's memory, and is bounded. Of
 * subscribers: beyond the budget the kernel is not read, so that it blocks in
 * its output when its own buffer is full. A subscriber that takes nothing for
 * too long is parted from, so that one does not stop the others. Nobody is made
 * to wait for anything but output: requests, interrupts and ends go on. Of
 * clients that send requests and do not take the replies: beyond the same
 * budget no request is read or begun, and they are parted from, too. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/channels/slow_peers.h"

#include <inttypes.h>

#define LOOK_MS   2 /* between two looks while the kernel waits */
#define RESUME(x) ((x) - (x) / 16)
#define AGAIN_MS  60000 /* who was slow a moment ago gets less patience */

static int on_look(zloop_t *loop, int timer, void *arg);

static void look_again(self_t *self)
{
    session_start_timer(self, &self->pressure.timer, LOOK_MS, on_look);
}

bool pressure_is_high(self_t *self)
{
    /* A kernel that is interrupted or ended must be heard. */
    if (self->pressure.is_ignored || self->rung != RUNG_NONE
        || self->state == LIFE_STOPPING
        || ports_backlog(self->ports) <= self->spec->subscriber_bytes)
        return false;
    if (!self->pressure.timer) {
        self->pressure.since = clock_monotonic_ms();
        look_again(self);
    }
    if (!self->pressure.is_holding) {
        self->pressure.is_holding = true;
        session_watch_link(self);
    }
    return true;
}

static void resume(self_t *self)
{
    self->pressure.is_holding = false;
    if (kernel_link_fd(self->kernel) >= 0) {
        session_watch_link(self);
        events_read(self);
    }
}

static int64_t patience(const self_t *self, int64_t cut_at, int64_t now)
{
    int64_t most = self->spec->subscriber_patience_ms;

    return cut_at && now - cut_at < AGAIN_MS ? most / 8 : most;
}

static void part(self_t *self, int64_t now)
{
    unsigned count = peers_cut(&self->spec->connection, CHANNEL_IOPUB);

    log_warning("session=%s subscribers=%u took nothing for %" PRId64
                " ms and were parted from; %zu bytes waited for them",
                self->spec->id, count, now - self->pressure.since,
                ports_backlog(self->ports));
    self->pressure.cut_at = self->pressure.since = now;
    self->pressure.owed += count;
}

static int on_look(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    int64_t now = clock_monotonic_ms();

    (void) loop;
    (void) timer;
    self->pressure.timer = 0;
    if (!self->kernel) {
        self->pressure.is_holding = false;
        return 0;
    }
    if (self->rung != RUNG_NONE || self->state == LIFE_STOPPING
        || ports_backlog(self->ports) <= RESUME(self->spec->subscriber_bytes)) {
        resume(self);
        return 0;
    }
    if (now - self->pressure.since
        >= patience(self, self->pressure.cut_at, now))
        part(self, now);
    look_again(self);
    return 0;
}

void pressure_on_latecomers(self_t *self)
{
    unsigned have = ports_subscribers(self->ports);

    if (self->spec->subscribers > have)
        self->pressure.owed = self->spec->subscribers - have;
}

/* Who was parted from and is back may wait for the `idle` of a cell that has
 * ended meanwhile. */
void pressure_on_subscriber(self_t *self)
{
    const recent_t *last;

    if (!self->pressure.owed || self->state == LIFE_GONE)
        return;
    self->pressure.owed--;
    last = &self->recent[(self->recent_next + RECENT_MAX - 1) % RECENT_MAX];
    if (!self->running && last->number)
        output_status(self->output, "idle",
                      (bytes_t){last->header.data, last->header.size});
}

static int on_replies(zloop_t *loop, int timer, void *arg);

static void look_at_replies(self_t *self)
{
    session_start_timer(self, &self->pressure.reply_timer, LOOK_MS, on_replies);
}

static void part_from_clients(self_t *self, int64_t now)
{
    const connection_t *connection = &self->spec->connection;
    unsigned count = peers_cut(connection, CHANNEL_SHELL)
                     + peers_cut(connection, CHANNEL_CONTROL)
                     + peers_cut(connection, CHANNEL_STDIN);

    log_warning("session=%s clients=%u took no reply for %" PRId64
                " ms and were parted from; %zu bytes waited for them",
                self->spec->id, count, now - self->pressure.reply_since,
                ports_replies(self->ports));
    self->pressure.reply_cut_at = self->pressure.reply_since = now;
}

static int on_replies(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    int64_t now = clock_monotonic_ms();

    (void) loop;
    (void) timer;
    self->pressure.reply_timer = 0;
    if (ports_replies(self->ports) <= RESUME(self->spec->subscriber_bytes)) {
        ports_resume(self->ports);
        session_settle(self);
        return 0;
    }
    if (now - self->pressure.reply_since
        >= patience(self, self->pressure.reply_cut_at, now))
        part_from_clients(self, now);
    look_at_replies(self);
    return 0;
}

bool pressure_of_replies(self_t *self)
{
    if (self->pressure.reply_timer)
        return true;
    if (!self->ports
        || ports_replies(self->ports) <= self->spec->subscriber_bytes)
        return false;
    self->pressure.reply_since = clock_monotonic_ms();
    look_at_replies(self);
    return true;
}
