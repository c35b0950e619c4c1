/* See traffic.h. Links with a deadline are looked at in turns. Without one, and
 * without a port that is held, the thread sleeps until something happens. A
 * link or a port is freed after all events that epoll has reported with it. */
#include "gateway/gate/traffic.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/tcp.h"
#include "gateway/config/fd_limits.h"
#include "gateway/gate/links.h"
#include "gateway/gate/refusals.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EVENTS_MAX     64
#define ACCEPTS_A_TURN 16
#define DESCRIPTORS    3   /* of a connection: two here, one of libzmq's */
#define LINKS_PART     2   /* this part of the descriptors, at most */
#define HELD_MS        5   /* between two looks, while a port is held */
#define TURN_MS        250 /* ... while there is a deadline */

struct traffic {
    int epoll;            /* owned */
    refusals_t *refusals; /* owned */
    memory_share_t memory;
    gate_port_t *ports; /* owned */
    links_t links;
    size_t count_max;     /* of links */
    size_t held, resting; /* of ports */
    int64_t next_ms;      /* monotonic; of the next look */
    int64_t stop_ms;      /* monotonic; 0: it goes on */
    bool is_untidy;       /* a closed port may be without links */
    uint8_t room[LINK_READ];
};

static size_t most_links(void)
{
    size_t most = fd_limits_descriptors() / LINKS_PART / DESCRIPTORS;

    return most < TRAFFIC_LINKS_MAX ? most : TRAFFIC_LINKS_MAX;
}

traffic_t *traffic_new(int epoll, memory_budget_t *memory)
{
    traffic_t *self = mem_new(sizeof *self);

    self->epoll = epoll;
    self->memory.budget = memory;
    self->count_max = most_links();
    self->refusals = refusals_new();
    return self;
}

/* ---- links ---- */

static void watch_link(const traffic_t *self, gate_link_t *link)
{
    for (unsigned side = LINK_PEER; side <= LINK_INNER; side++)
        gate_watch_set(&link->ends[side].watch, self->epoll,
                       link->ends[side].fd,
                       gate_link_wants(link, (link_side_t) side));
}

static void add_link(traffic_t *self, gate_port_t *port, int fd)
{
    gate_link_t *link = gate_link_new(port, fd);

    links_add(&self->links, link);
    links_set_deadline(&self->links, link,
                       clock_monotonic_ms() + TRAFFIC_GREETING_MS);
    watch_link(self, link);
}

static void close_link(traffic_t *self, gate_link_t *link)
{
    links_close(&self->links, link);
    self->is_untidy = true;
}

static void refuse_link(traffic_t *self, gate_link_t *link, refusal_t why)
{
    refusals_note(self->refusals, link->port, link->address, why);
    close_link(self, link);
}

/* ---- memory ---- */

/* Counts what libzmq holds for clients. Ports that are not held have little. */
static void count_memory(traffic_t *self)
{
    uint64_t bytes = self->links.unfinished;

    for (const gate_port_t *at = self->ports; at && self->held; at = at->next)
        if (at->is_held)
            bytes += gate_port_waiting(at);
    memory_share_set(&self->memory, bytes);
}

/* Refuses links until the memory suffices. The message that has been unfinished
 * for longest goes first, so that no client is refused that sends without a
 * pause. */
static void keep_to_memory(traffic_t *self)
{
    gate_link_t *oldest;

    count_memory(self);
    while (!memory_share_permits(&self->memory, 0)
           && (oldest = links_find_oldest(&self->links))) {
        refuse_link(self, oldest, REFUSAL_MEMORY);
        count_memory(self);
    }
}

static void hold(traffic_t *self, gate_port_t *port, bool is_held)
{
    if (port->is_held == is_held)
        return;
    port->is_held = is_held;
    self->held += is_held ? 1 : (size_t) -1;
    self->next_ms = 0;
    for (gate_link_t *at = self->links.first; at; at = at->next)
        if (at->port == port)
            watch_link(self, at);
}

/* Counts what a client has sent since its follower was as in `before`. */
static void count_link(traffic_t *self, gate_link_t *link,
                       const zmtp_follower_t *before)
{
    const zmtp_follower_t *follower = &link->follower;
    bool is_further = follower->finished != before->finished;
    int64_t now_ms = clock_monotonic_ms();

    if (follower->unfinished > 0 && (before->unfinished == 0 || is_further))
        link->begun_ms = now_ms;
    if (is_further)
        hold(self, link->port, gate_port_is_full(link->port, now_ms));
    if (follower->unfinished != before->unfinished) {
        self->links.unfinished += follower->unfinished - before->unfinished;
        keep_to_memory(self);
    }
}

/* ---- events ---- */

/* Notes since when the client has taken nothing that waits for it. It had taken
 * `given` bytes before. */
static void time_client(traffic_t *self, gate_link_t *link, uint64_t given)
{
    bool has_waiting = link->ends[LINK_PEER].untaken.size > 0;

    if (!has_waiting)
        links_set_stalled(&self->links, link, 0);
    else if (link->stalled_ms == 0 || link->given != given)
        links_set_stalled(&self->links, link, clock_monotonic_ms());
}

static void on_link(traffic_t *self, gate_link_t *link, link_side_t side,
                    uint32_t events)
{
    zmtp_verdict_t rule = ZMTP_OK;
    zmtp_follower_t before = link->follower;
    uint64_t given = link->given;
    bool was_ending = link->is_ending;
    link_verdict_t verdict;

    if (link->is_closed)
        return; /* in this turn */
    verdict = gate_link_step(link, side, events, self->room, &rule);
    if (link->is_ending && !was_ending)
        links_set_deadline(&self->links, link,
                           clock_monotonic_ms() + TRAFFIC_LEFT_MS);
    else if (link->follower.is_settled && !link->is_ending)
        links_set_deadline(&self->links, link, 0);
    time_client(self, link, given);
    count_link(self, link, &before);
    if (link->is_closed)
        return; /* for the memory */
    if (verdict == LINK_BREAKS_RULE)
        refuse_link(self, link, REFUSAL_RULE + rule);
    else if (verdict == LINK_IS_OVER)
        close_link(self, link);
    else
        watch_link(self, link);
}

static void take_connection(traffic_t *self, gate_port_t *port, int fd)
{
    char peer[TCP_PEER_SIZE];

    if (port->links < GATE_PORT_LINKS_MAX
        && self->links.count < self->count_max) {
        add_link(self, port, fd);
        return;
    }
    tcp_peer(fd, peer);
    close(fd);
    refusals_note(self->refusals, port, peer,
                  port->links < GATE_PORT_LINKS_MAX ? REFUSAL_ALL_FULL
                                                    : REFUSAL_PORT_FULL);
}

static void listen_to(traffic_t *self, gate_port_t *port, bool is_on)
{
    gate_watch_set(&port->watch, self->epoll, port->listener,
                   is_on ? EPOLLIN : 0);
}

static void rest(traffic_t *self, gate_port_t *port, bool is_resting)
{
    if (port->is_resting == is_resting)
        return;
    port->is_resting = is_resting;
    self->resting += is_resting ? 1 : (size_t) -1;
    listen_to(self, port, !is_resting);
}

static void on_port(traffic_t *self, gate_port_t *port)
{
    for (int i = 0; i < ACCEPTS_A_TURN && port->listener >= 0; i++) {
        int fd =
            accept4(port->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0)
            take_connection(self, port, fd);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM
                 || errno == ENOBUFS)
            rest(self, port, true);
        if (fd < 0)
            return;
    }
}

static void dispatch(traffic_t *self, const struct epoll_event *event,
                     bool *ret_called)
{
    const gate_watch_t *watch = event->data.ptr;

    if (!watch) {
        *ret_called = true;
        return;
    }
    switch (watch->kind) {
    case WATCH_PORT:
        on_port(self, watch->owner);
        break;
    case WATCH_PEER:
        on_link(self, watch->owner, LINK_PEER, event->events);
        break;
    case WATCH_INNER:
        on_link(self, watch->owner, LINK_INNER, event->events);
        break;
    }
}

/* ---- time ---- */

static void look_at_ports(traffic_t *self, int64_t now_ms)
{
    for (gate_port_t *at = self->ports; at; at = at->next) {
        if (at->is_held)
            hold(self, at, gate_port_is_full(at, now_ms));
        if (gate_port_listen(at))
            rest(self, at, false);
    }
}

static void look_at_link(traffic_t *self, gate_link_t *link, int64_t now_ms)
{
    if (gate_link_connect(link) != LINK_GOES_ON)
        close_link(self, link);
    else if (now_ms < link->deadline_ms)
        watch_link(self, link);
    else if (link->is_ending)
        close_link(self, link);
    else
        refuse_link(self, link, REFUSAL_SLOW_GREETING);
}

/* Returns true for a subscriber that stops the session and all others. If all
 * of them take nothing, the session's own patience decides. A connection that
 * has subscribed to nothing does not count: no one waits for what it takes. */
static bool is_in_the_way(const gate_link_t *link, int64_t now_ms)
{
    return link->stalled_ms != 0 && now_ms - link->stalled_ms >= GATE_STALLED_MS
           && atomic_load(&link->port->is_waited_for)
           && link->port->stalled < link->port->subscribers;
}

static void end_stalled(traffic_t *self, gate_link_t *link)
{
    atomic_fetch_add(&link->port->ended, 1);
    refuse_link(self, link, REFUSAL_STALLED);
}

static void look(traffic_t *self, int64_t now_ms)
{
    bool has_any = self->links.timed || self->links.stalled;
    gate_link_t *next;

    for (gate_link_t *at = self->links.first; at && has_any; at = next) {
        next = at->next;
        if (is_in_the_way(at, now_ms))
            end_stalled(self, at);
        else if (at->deadline_ms != 0)
            look_at_link(self, at, now_ms);
    }
    if (self->held || self->resting)
        look_at_ports(self, now_ms);
}

static int find_timeout(const traffic_t *self)
{
    if (self->held)
        return HELD_MS;
    return self->links.timed || self->links.stalled || self->resting
                   || self->stop_ms
               ? TURN_MS
               : -1;
}

/* Frees the ports that were closed and have no connection any more. */
static void tidy(traffic_t *self)
{
    gate_port_t **at = &self->ports;

    while (self->is_untidy && *at) {
        gate_port_t *port = *at;

        if (!port->is_closed || port->links > 0) {
            at = &port->next;
            continue;
        }
        hold(self, port, false);
        *at = port->next;
        gate_port_destroy(&port);
    }
    self->is_untidy = false;
}

/* ---- for the gate ---- */

void traffic_open(traffic_t *self, gate_port_t *port)
{
    port->next = self->ports;
    self->ports = port;
    if (gate_port_listen(port))
        listen_to(self, port, true);
    else
        rest(self, port, true);
}

/* Closes the connections that have no inner side: they would wait for one, and
 * the path may soon be another socket's. */
static void close_unconnected(traffic_t *self, const gate_port_t *port)
{
    gate_link_t *next;

    for (gate_link_t *at = self->links.first; at; at = next) {
        next = at->next;
        if (at->port == port && at->ends[LINK_INNER].fd < 0)
            close_link(self, at);
    }
}

void traffic_close(traffic_t *self, gate_port_t *port)
{
    rest(self, port, false);
    gate_port_shut(port);
    port->is_closed = true;
    close_unconnected(self, port);
    self->is_untidy = true;
    tidy(self);
}

void traffic_stop(traffic_t *self)
{
    self->stop_ms = clock_monotonic_ms() + TRAFFIC_STOP_MS;
}

bool traffic_turn(traffic_t *self, bool *ret_called)
{
    struct epoll_event events[EVENTS_MAX];
    int timeout = find_timeout(self);
    int count = epoll_wait(self->epoll, events, EVENTS_MAX, timeout);
    int64_t now_ms = clock_monotonic_ms();

    *ret_called = false;
    for (int i = 0; i < count; i++)
        dispatch(self, &events[i], ret_called);
    if (timeout >= 0 && (count == 0 || now_ms >= self->next_ms)) {
        look(self, now_ms);
        self->next_ms = now_ms + timeout;
    }
    links_free_closed(&self->links);
    tidy(self);
    count_memory(self);
    return !self->stop_ms || (self->links.first && now_ms < self->stop_ms);
}

void traffic_destroy(traffic_t **self_p)
{
    traffic_t *self = *self_p;

    if (!self)
        return;
    links_clear(&self->links);
    while (self->ports) {
        gate_port_t *port = self->ports;

        self->ports = port->next;
        gate_port_destroy(&port);
    }
    memory_share_set(&self->memory, 0);
    refusals_destroy(&self->refusals);
    cleanup_fd_p(&self->epoll);
    free(self);
    *self_p = NULL;
}
