/* The gateway at the other end: it comes, greets, asks, acknowledges, goes; and
 * events go to it in their order. */
#include "kernels/hearth_kernel/link_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void unwatch_connection(link_t *self)
{
    if (self->loop >= 0)
        epoll_ctl(self->loop, EPOLL_CTL_DEL, self->connection, NULL);
    epoll_ctl(self->epoll, EPOLL_CTL_DEL, self->connection, NULL);
}

/* EPOLLEXCLUSIVE: of those that wait, the first in the row is woken, and a
 * loop that runs a cell does not wait. Without it each request would wake the
 * thread too, and the loop would stand before its lock. Such an entry cannot be
 * changed (EPOLL_CTL_MOD), only made anew. */
void link_watch_connection(link_t *self)
{
    struct epoll_event by_loop = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    struct epoll_event by_thread = {
        .events = EPOLLIN | EPOLLEXCLUSIVE,
        .data.u64 = self->generation << 8 | CONNECTION,
    };

    if (self->connection < 0)
        return;
    if (self->is_stuck)
        by_thread.events |= EPOLLOUT;
    unwatch_connection(self);
    /* The loop knows requests_fd, and does the same for both. */
    by_loop.data.fd = self->requests_fd;
    if (self->loop >= 0)
        epoll_ctl(self->loop, EPOLL_CTL_ADD, self->connection, &by_loop);
    epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->connection, &by_thread);
}

static void close_connection(link_t *self)
{
    if (self->connection >= 0) {
        /* A forked child may hold it open: closing is not enough. */
        unwatch_connection(self);
        close(self->connection);
    }
    self->connection = -1;
    self->is_greeted = self->is_stuck = false;
    frame_decoder_clear(self->decoder);
    outbox_stop(self->outbox);
}

void link_send_events(link_t *self)
{
    int r;

    if (!self->is_greeted || self->is_stuck)
        return;
    r = outbox_send(self->outbox, self->connection);
    if (r == -EAGAIN) {
        self->is_stuck = true;
        link_watch_connection(self);
    } else if (r < 0) {
        close_connection(self);
    }
}

int link_emit(link_t *self, frame_t *frame, bool hold)
{
    size_t size =
        FRAME_HEADER_SIZE + frame->metadata.size + frame->content.size;
    int r = 0;

    for (size_t i = 0; i < frame->buffer_count; i++)
        size += frame->buffers[i].size;
    pthread_mutex_lock(&self->lock);
    if (self->is_child) {
        pthread_mutex_unlock(&self->lock);
        return 0;
    }
    link_drain_pipes(self);
    link_commit_text(self);
    if (frame->type == FRAME_INPUT_REQUEST && frame->request != self->running) {
        r = -ESTALE;
    } else if (frame->type == FRAME_YIELDED
               || outbox_has_room(self->outbox, size)) {
        outbox_put(self->outbox, frame);
        if (frame->type == FRAME_REPLY && frame->request == self->running)
            self->running = 0;
    } else {
        self->is_awaited = true;
        hold = false;
        r = -EAGAIN;
    }
    if (hold)
        link_arm_timer(self);
    else
        link_send_events(self);
    pthread_mutex_unlock(&self->lock);
    return r;
}

bool link_is_sent(link_t *self)
{
    bool is_sent;

    pthread_mutex_lock(&self->lock);
    is_sent = self->is_child || outbox_is_sent(self->outbox);
    pthread_mutex_unlock(&self->lock);
    return is_sent;
}

/* The number behind "key": in an object as the gateway writes it. */
static bool find_number(frame_part_t content, const char *key,
                        uint64_t *ret_number)
{
    const char *text = content.bytes;
    const char *end = text + content.size;
    const char *at =
        content.size ? memmem(text, content.size, key, strlen(key)) : NULL;
    uint64_t number = 0;
    bool found = false;

    if (!at)
        return false;
    at += strlen(key);
    while (at < end && (*at == ' ' || *at == ':'))
        at++;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t) (*at - '0');
        found = true;
    }
    if (found)
        *ret_number = number;
    return found;
}

/* Wakes whoever waits for room. */
static void tell_room(link_t *self)
{
    if (self->is_awaited)
        link_signal(self->room_fd);
    self->is_awaited = false;
    if (self->is_choked && outbox_has_room(self->outbox, 1)) {
        self->is_choked = false;
        link_watch_pipes(self, EPOLLIN);
    }
}

/* The request that is served, or will be next; or 0. */
static uint64_t busy_with(const link_t *self)
{
    if (self->running || !self->requests.first)
        return self->running;
    return request_frame(self->requests.first)->request;
}

static void refuse(link_t *self)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    frame_t welcome = {.type = FRAME_WELCOME};

    buffer_format(&content,
                  "{\"protocol\":%d,\"error\":\"the kernel speaks "
                  "protocol %d\"}",
                  FRAME_VERSION, FRAME_VERSION);
    welcome.content = (frame_part_t){content.data, content.size};
    frame_encode(&welcome, &bytes);
    send(self->connection, bytes.data, bytes.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    close_connection(self);
}

static void on_hello(link_t *self, const frame_t *hello)
{
    uint64_t protocol = 0, acked = 0;
    uint64_t newest = outbox_newest(self->outbox);
    frame_t welcome = {.type = FRAME_WELCOME};
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    bool is_lost;

    if (!find_number(hello->content, "\"protocol\"", &protocol)
        || !find_number(hello->content, "\"acked\"", &acked)
        || protocol != FRAME_VERSION) {
        refuse(self);
        return;
    }
    is_lost = acked + 1 < outbox_oldest(self->outbox) || acked > newest;
    buffer_format(
        &content, "{\"protocol\":%d,\"last\":%llu,\"lost\":%s,\"busy\":%llu}",
        FRAME_VERSION, (unsigned long long) newest, is_lost ? "true" : "false",
        (unsigned long long) busy_with(self));
    welcome.content = (frame_part_t){content.data, content.size};
    outbox_restart(self->outbox, &welcome, acked);
    tell_room(self);
    self->is_greeted = true;
    link_send_events(self);
}

static void enqueue(request_row_t *row, const frame_t *frame)
{
    request_t *request = request_new(frame);

    request_row_put(row, &request);
}

static void put_request(link_t *self, const frame_t *frame)
{
    enqueue(&self->requests, frame);
    if (self->is_polling || self->is_signalled)
        return;
    link_signal(self->requests_fd);
    self->is_signalled = true;
}

static void on_request(link_t *self, const frame_t *frame)
{
    if (frame->request <= self->accepted)
        return;
    self->accepted = frame->request;
    put_request(self, frame);
}

/* Behind what was said so far, whether or not there is room. */
static void on_mark(link_t *self, const frame_t *mark)
{
    frame_t marked = {
        .type = FRAME_MARKED,
        .request = mark->request,
        .content = {"{}", 2},
    };

    outbox_put(self->outbox, &marked);
    link_send_events(self);
}

static void on_frame(link_t *self, const frame_t *frame)
{
    if (!self->is_greeted && frame->type == FRAME_HELLO) {
        on_hello(self, frame);
        return;
    }
    if (!self->is_greeted) {
        close_connection(self);
        return;
    }
    if (frame->type == FRAME_ACK) {
        outbox_forget(self->outbox, frame->seq);
        tell_room(self);
    } else if (frame->type == FRAME_INPUT_REPLY) {
        enqueue(&self->inputs, frame);
        link_signal(self->inputs_fd);
    } else if (frame->type >= FRAME_EXECUTE && frame->type <= FRAME_SHUTDOWN) {
        on_request(self, frame);
    } else if (frame->type == FRAME_REHEARSE) {
        put_request(self, frame);
    } else if (frame->type == FRAME_MARK) {
        on_mark(self, frame);
    } else {
        close_connection(self);
    }
}

static void take_frames(link_t *self)
{
    uint64_t generation = self->generation;
    frame_t frame;
    fault_t fault;
    int r = 1;

    while (r > 0 && self->connection >= 0 && generation == self->generation) {
        r = frame_decoder_next(self->decoder, &frame, &fault);
        if (r > 0)
            on_frame(self, &frame);
        else if (r < 0)
            close_connection(self);
    }
}

/* All that is there: the thread is not told again of what was left. */
void link_read_connection(link_t *self)
{
    uint64_t generation = self->generation;
    size_t space = 0;
    ssize_t size = 0;

    while (size == (ssize_t) space && self->connection >= 0
           && generation == self->generation) {
        void *bytes = frame_decoder_space(self->decoder, &space);

        size = recv(self->connection, bytes, space, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0) {
            close_connection(self);
            return;
        }
        frame_decoder_added(self->decoder, (size_t) size);
        take_frames(self);
    }
}

void link_accept(link_t *self)
{
    int fd = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    /* What the older one said before counts. */
    link_read_connection(self);
    close_connection(self);
    self->connection = fd;
    self->generation++;
    link_watch_connection(self);
}

void link_on_connection(link_t *self, uint32_t events)
{
    if (self->is_stuck && (events & EPOLLOUT)) {
        self->is_stuck = false;
        link_send_events(self);
        if (self->connection >= 0 && !self->is_stuck)
            link_watch_connection(self);
    }
    if (self->connection >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        link_read_connection(self);
}
