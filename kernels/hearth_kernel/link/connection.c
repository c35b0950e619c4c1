/* The connection to the gateway: which thread waits for it, and events on their
 * way into it. gateway.c handles the gateway's messages. */
#include "kernels/hearth_kernel/link/connection.h"
#include "kernels/hearth_kernel/link/keepers.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static void unwatch_connection(link_t *self)
{
    if (self->loop >= 0)
        epoll_ctl(self->loop, EPOLL_CTL_DEL, self->connection.fd, NULL);
    epoll_ctl(self->epoll, EPOLL_CTL_DEL, self->connection.fd, NULL);
}

/* Watches the connection with EPOLLEXCLUSIVE, which wakes only the first waiter
 * in the row. A loop that runs a cell does not wait. Without it each request
 * would wake the thread too, and the loop would wait for its lock. Such an
 * entry cannot be changed (EPOLL_CTL_MOD), only made anew. */
void link_watch_connection(link_t *self)
{
    struct epoll_event by_loop = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    struct epoll_event by_thread = {
        .events = EPOLLIN | EPOLLEXCLUSIVE,
        .data.u64 = self->connection.generation << 8 | CONNECTION,
    };

    if (self->connection.fd < 0)
        return;
    if (self->connection.is_stuck)
        by_thread.events |= EPOLLOUT;
    unwatch_connection(self);
    /* The loop knows requests_fd, and does the same for both. */
    by_loop.data.fd = self->incoming.requests_fd;
    if (self->loop >= 0)
        epoll_ctl(self->loop, EPOLL_CTL_ADD, self->connection.fd, &by_loop);
    epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->connection.fd, &by_thread);
}

void link_close_connection(link_t *self)
{
    if (self->connection.fd >= 0) {
        /* A forked child may hold it open: closing is not enough. */
        unwatch_connection(self);
        close(self->connection.fd);
    }
    self->connection.fd = -1;
    self->connection.is_greeted = self->connection.is_stuck = false;
    frame_decoder_clear(self->connection.decoder);
    link_keepers_forget(self);
    outbox_stop(self->outbox);
}

void link_send_events(link_t *self)
{
    int r;

    if (!self->connection.is_greeted || self->connection.is_stuck)
        return;
    r = outbox_send(self->outbox, self->connection.fd);
    if (outbox_is_sent(self->outbox))
        pthread_cond_broadcast(&self->sent);
    if (r == -EAGAIN) {
        self->connection.is_stuck = true;
        link_watch_connection(self);
    } else if (r < 0) {
        link_close_connection(self);
    }
}
