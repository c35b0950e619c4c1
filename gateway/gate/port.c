/* See port.h. Heartbeats and subscriptions are signed by no key: their
 * connections may send no more than they need. */
#include "gateway/gate/port.h"

#include "base/buffer.h"
#include "base/log.h"
#include "protocol/limits.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEAT_FRAMES 16 /* a client's has 2 */
/* libzmq's tree of prefixes needs 31 times the bytes of a subscription. */
#define SUBSCRIPTIONS_MAX (8 << 10)

static zmtp_limits_t limits_of(channel_t channel)
{
    switch (channel) {
    case CHANNEL_IOPUB:
        return (zmtp_limits_t){.frame = WIRE_SUBSCRIPTION_MAX,
                               .message = 2 * WIRE_SUBSCRIPTION_MAX,
                               .frames = 1,
                               .subscriptions = SUBSCRIPTIONS_MAX};
    case CHANNEL_HB:
        return (zmtp_limits_t){.frame = WIRE_BEAT_MAX,
                               .message = 2 * WIRE_BEAT_MAX,
                               .frames = BEAT_FRAMES};
    case CHANNEL_SHELL:
    case CHANNEL_CONTROL:
    case CHANNEL_STDIN:
    case CHANNEL_COUNT:
        break;
    }
    return (zmtp_limits_t){.frame = WIRE_FRAME_MAX,
                           .message = WIRE_MESSAGE_MAX
                                      + WIRE_FRAMES_MAX * ZMTP_FRAME_COST,
                           .frames = WIRE_FRAMES_MAX};
}

gate_port_t *gate_port_new(const char *session, channel_t channel,
                           const char *inner, listener_t listener)
{
    gate_port_t *self = mem_new(sizeof *self);

    self->session = mem_text(session);
    self->channel = channel;
    self->inner = mem_text(inner);
    self->address = listener.address;
    pthread_mutex_init(&self->lock, NULL);
    self->listener = listener.fd;
    self->watch = (gate_watch_t){WATCH_PORT, self, 0};
    self->limits = limits_of(channel);
    return self;
}

void gate_port_destroy(gate_port_t **self_p)
{
    gate_port_t *self = *self_p;

    if (!self)
        return;
    gate_port_shut(self);
    pthread_mutex_destroy(&self->lock);
    free(self->session);
    free(self->inner);
    free(self);
    *self_p = NULL;
}

/* Shuts the listening socket down, which does not hold its port then:
 * SO_REUSEADDR. */
void gate_port_vacate(gate_port_t *self)
{
    pthread_mutex_lock(&self->lock);
    self->is_vacated = true;
    if (self->listener >= 0)
        (void) shutdown(self->listener, SHUT_RDWR);
    pthread_mutex_unlock(&self->lock);
}

bool gate_port_listen(gate_port_t *self)
{
    int fd = -1;

    if (self->listener >= 0)
        return true;
    pthread_mutex_lock(&self->lock);
    if (!self->is_vacated && listener_retry(&self->address, &fd) == 0)
        self->listener = fd;
    pthread_mutex_unlock(&self->lock);
    if (fd < 0)
        return false;
    log_notice("session=%s channel=%s port %u is free again", self->session,
               channel_name(self->channel), tcp_address_port(&self->address));
    return true;
}

void gate_port_shut(gate_port_t *self)
{
    int fd;

    pthread_mutex_lock(&self->lock);
    self->is_vacated = true;
    fd = atomic_exchange(&self->listener, -1);
    pthread_mutex_unlock(&self->lock);
    if (fd >= 0)
        close(fd);
}

void gate_port_took(gate_port_t *self, size_t bytes, size_t frames)
{
    long long size = (long long) (bytes + frames * ZMTP_FRAME_COST);

    if (!self)
        return;
    /* Below zero it would let later messages wait uncounted. */
    if (atomic_fetch_sub(&self->waiting, size) < size)
        atomic_store(&self->waiting, 0);
}

void gate_port_looked(gate_port_t *self, bool has_found)
{
    if (!self)
        return;
    atomic_store(&self->is_left, false);
    if (!has_found)
        atomic_store(&self->waiting, 0);
}

void gate_port_leave(gate_port_t *self)
{
    if (self)
        atomic_store(&self->is_left, true);
}

void gate_port_wait(gate_port_t *self, bool is_waiting)
{
    if (self)
        atomic_store(&self->is_waited_for, is_waiting);
}

unsigned gate_port_take_ended(gate_port_t *self)
{
    return self ? atomic_exchange(&self->ended, 0) : 0;
}

/* Counts bytes of sockets for requests alone, which have an owner that notes
 * what it takes. What the other two may send is bounded by the length of
 * libzmq's queue. */
void gate_port_add(gate_port_t *self, uint64_t bytes)
{
    if (self->channel != CHANNEL_IOPUB && self->channel != CHANNEL_HB)
        atomic_fetch_add(&self->waiting, (long long) bytes);
}

uint64_t gate_port_waiting(const gate_port_t *self)
{
    long long waiting = atomic_load(&self->waiting);

    return waiting > 0 ? (uint64_t) waiting : 0;
}

bool gate_port_is_full(gate_port_t *self, int64_t now_ms)
{
    uint64_t waiting = gate_port_waiting(self);

    if (waiting != self->seen || atomic_load(&self->is_left)) {
        self->seen = waiting;
        self->changed_ms = now_ms;
    } else if (waiting > 0 && now_ms - self->changed_ms >= GATE_LOST_MS) {
        atomic_store(&self->waiting, 0);
        waiting = 0;
    }
    return waiting > GATE_WAITING_MAX;
}
