/* See link.h. */
#include "gateway/gate/link.h"

#include "base/fault.h"
#include "base/fd.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

gate_link_t *gate_link_new(gate_port_t *port, int fd)
{
    gate_link_t *self = mem_new(sizeof *self);
    const int on = 1;

    self->port = port;
    self->ends[LINK_PEER].fd = fd;
    self->ends[LINK_INNER].fd = -1;
    self->ends[LINK_PEER].watch = (gate_watch_t){WATCH_PEER, self, 0};
    self->ends[LINK_INNER].watch = (gate_watch_t){WATCH_INNER, self, 0};
    (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A client that has gone without a word must not keep its place. */
    (void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    tcp_peer(fd, self->address);
    return self;
}

static void shut(link_end_t *end)
{
    cleanup_fd_p(&end->fd);
    end->fd = -1;
    end->watch.events = 0; /* epoll forgets a closed socket */
    buffer_reset(&end->untaken);
}

void gate_link_close(gate_link_t *self)
{
    shut(&self->ends[LINK_PEER]);
    shut(&self->ends[LINK_INNER]);
}

void gate_link_destroy(gate_link_t **self_p)
{
    gate_link_t *self = *self_p;

    if (!self)
        return;
    gate_link_close(self);
    free(self);
    *self_p = NULL;
}

/* Ends one side; the other one gets what is left for it. */
static link_verdict_t end_side(gate_link_t *self, link_side_t side)
{
    link_end_t *other = &self->ends[!side];

    shut(&self->ends[side]);
    self->is_ending = true;
    return other->fd < 0 || other->untaken.size == 0 ? LINK_IS_OVER
                                                     : LINK_GOES_ON;
}

static bool is_for_later(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* Returns how many of the bytes a side has taken; -1 if it is gone. */
static ssize_t offer(gate_link_t *self, link_side_t side, const uint8_t *bytes,
                     size_t size)
{
    ssize_t r =
        send(self->ends[side].fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (r > 0 && side == LINK_PEER)
        self->given += (uint64_t) r;
    return r < 0 && is_for_later() ? 0 : r;
}

/* Stops writing to a side that takes no more. It is still read to its end: what
 * it said last is for the other one. */
static void deafen(gate_link_t *self, link_side_t side)
{
    self->ends[side].is_deaf = true;
    buffer_reset(&self->ends[side].untaken);
    self->is_ending = true;
}

/* Gives bytes to a side, and keeps for it what it does not take. */
static void give(gate_link_t *self, link_side_t side, const uint8_t *bytes,
                 size_t size)
{
    link_end_t *end = &self->ends[side];
    ssize_t taken = 0;

    if (end->is_deaf)
        return;
    if (end->fd >= 0 && end->untaken.size == 0)
        taken = offer(self, side, bytes, size);
    if (taken < 0)
        deafen(self, side);
    else if ((size_t) taken < size)
        buffer_append(&end->untaken, bytes + taken, size - (size_t) taken);
}

static link_verdict_t give_untaken(gate_link_t *self, link_side_t side)
{
    link_end_t *end = &self->ends[side];
    ssize_t taken = offer(self, side, end->untaken.data, end->untaken.size);

    if (taken < 0)
        deafen(self, side);
    else
        buffer_consume(&end->untaken, (size_t) taken);
    if (end->untaken.size > 0)
        return LINK_GOES_ON;
    buffer_reset(&end->untaken);
    return self->is_ending && self->ends[!side].fd < 0 ? LINK_IS_OVER
                                                       : LINK_GOES_ON;
}

bool gate_link_is_waiting(const gate_link_t *self)
{
    return self->ends[LINK_INNER].fd < 0 && !self->is_ending
           && self->follower.greeted >= ZMTP_SIGNATURE;
}

link_verdict_t gate_link_connect(gate_link_t *self)
{
    link_end_t *inner = &self->ends[LINK_INNER];
    fault_t fault;
    int r;

    if (!gate_link_is_waiting(self))
        return LINK_GOES_ON;
    r = fd_connect_unix(self->port->inner, &inner->fd, &fault);
    if (r == -EAGAIN)
        return LINK_GOES_ON;
    return r < 0 ? LINK_IS_OVER : give_untaken(self, LINK_INNER);
}

static link_verdict_t read_peer(gate_link_t *self, uint8_t *room,
                                zmtp_verdict_t *ret_rule)
{
    ssize_t r = recv(self->ends[LINK_PEER].fd, room, LINK_READ, MSG_DONTWAIT);
    uint64_t finished = self->follower.finished;

    if (r < 0 && is_for_later())
        return LINK_GOES_ON;
    if (r <= 0)
        return end_side(self, LINK_PEER);
    *ret_rule =
        zmtp_follow(&self->follower, &self->port->limits, room, (size_t) r);
    if (self->follower.subscribed > 0 && !self->is_subscriber) {
        self->is_subscriber = true;
        self->port->subscribers++;
    }
    if (*ret_rule != ZMTP_OK)
        return LINK_BREAKS_RULE;
    gate_port_add(self->port, self->follower.finished - finished);
    give(self, LINK_INNER, room, (size_t) r);
    return gate_link_connect(self);
}

static link_verdict_t read_inner(gate_link_t *self, uint8_t *room)
{
    ssize_t r = recv(self->ends[LINK_INNER].fd, room, LINK_READ, MSG_DONTWAIT);

    if (r < 0 && is_for_later())
        return LINK_GOES_ON;
    if (r <= 0)
        return end_side(self, LINK_INNER);
    give(self, LINK_PEER, room, (size_t) r);
    return LINK_GOES_ON;
}

link_verdict_t gate_link_step(gate_link_t *self, link_side_t side,
                              uint32_t events, uint8_t *room,
                              zmtp_verdict_t *ret_rule)
{
    uint32_t wants = gate_link_wants(self, side);
    link_verdict_t verdict = LINK_GOES_ON;

    /* Without one of the others EPOLLERR and EPOLLHUP would go unheard. */
    if ((events & (EPOLLERR | EPOLLHUP)) != 0)
        events |= EPOLLIN | EPOLLOUT;
    if ((events & wants & EPOLLOUT) != 0)
        verdict = give_untaken(self, side);
    if (verdict == LINK_GOES_ON && (events & wants & EPOLLIN) != 0
        && self->ends[side].fd >= 0)
        verdict = side == LINK_PEER ? read_peer(self, room, ret_rule)
                                    : read_inner(self, room);
    return verdict;
}

/* Returns true if the client may be read. Before the inner side is there, what
 * the client says is kept for it. */
static bool may_read_peer(const gate_link_t *self)
{
    const link_end_t *inner = &self->ends[LINK_INNER];

    if (self->port->is_held || gate_link_is_waiting(self))
        return false;
    return inner->fd < 0 ? !self->is_ending : inner->untaken.size == 0;
}

static bool may_read_inner(const gate_link_t *self)
{
    const link_end_t *peer = &self->ends[LINK_PEER];

    return peer->fd >= 0 && peer->untaken.size == 0;
}

uint32_t gate_link_wants(const gate_link_t *self, link_side_t side)
{
    const link_end_t *end = &self->ends[side];
    bool may_read =
        side == LINK_PEER ? may_read_peer(self) : may_read_inner(self);
    uint32_t events = 0;

    if (end->fd < 0)
        return 0;
    if (may_read)
        events |= EPOLLIN;
    if (end->untaken.size > 0)
        events |= EPOLLOUT;
    return events;
}
