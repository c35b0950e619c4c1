/* The gateway at the other end: it comes, greets, asks, acknowledges, goes; and
 * events go to it in their order. */
#include "kernels/hearth_kernel/link/gateway.h"
#include "kernels/hearth_kernel/link/connection.h"
#include "kernels/hearth_kernel/link/keepers.h"
#include "kernels/hearth_kernel/link/streams.h"

#include "protocol/jspan_write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Notes what an event reports about the kernel, or about the running
 * request. */
static void note_running(link_t *self, const frame_t *event)
{
    if (event->request != self->served.number)
        return;
    if (event->type == FRAME_READY)
        self->served.strikes = STRIKES; /* it is the first event */
    if (event->type == FRAME_AWAITING)
        self->served.is_awaiting = true;
    if (event->type == FRAME_REPLY) {
        self->served.number = 0;
        self->served.is_awaiting = false;
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
    if (frame->type == FRAME_INPUT_REQUEST
        && frame->request != self->served.number) {
        r = -ESTALE;
    } else if (frame->type == FRAME_YIELDED
               || outbox_has_room(self->outbox, size)) {
        outbox_put(self->outbox, frame);
        note_running(self, frame);
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

/* Counts down, because code that signals itself for ever must not make events
 * for ever. Only a signal of the gateway's comes with a MARK. */
void link_strike(link_t *self, bool is_taken)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    frame_t struck = {.type = FRAME_STRUCK};

    jspan_write_begin(&content);
    jspan_write_bool(&content, "taken", is_taken);
    jspan_write_end(&content);
    struck.content = buffer_bytes(&content);
    pthread_mutex_lock(&self->lock);
    if (!self->is_child && self->served.strikes) {
        self->served.strikes--;
        struck.request = self->served.number;
        outbox_put(self->outbox, &struck);
        link_send_events(self);
    }
    pthread_mutex_unlock(&self->lock);
}

void link_await_sent(link_t *self, unsigned seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&self->lock);
    while (!self->is_child && !outbox_is_sent(self->outbox)
           && pthread_cond_timedwait(&self->sent, &self->lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&self->lock);
}

/* Finds the number after "key": in an object as the gateway writes it. */
static bool find_number(bytes_t content, const char *key, uint64_t *ret_number)
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

/* Wakes the threads that wait for room. */
static void signal_room(link_t *self)
{
    if (self->is_awaited)
        link_signal(self->room_fd);
    self->is_awaited = false;
    if (self->printed.is_choked && outbox_has_room(self->outbox, 1)) {
        self->printed.is_choked = false;
        link_watch_pipes(self, EPOLLIN);
    }
}

/* Returns the number of the request that is served, or will be next; 0 if no
 * request is there. */
static uint64_t busy_with(const link_t *self)
{
    if (self->served.number || !self->incoming.requests.first)
        return self->served.number;
    return link_request_frame(self->incoming.requests.first)->request;
}

static void refuse(link_t *self)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    frame_t welcome = {.type = FRAME_WELCOME};
    cleanup_free char *error =
        mem_format("the kernel speaks protocol %d", FRAME_VERSION);

    jspan_write_begin(&content);
    jspan_write_integer(&content, "protocol", FRAME_VERSION);
    jspan_write_text(&content, "error", error);
    jspan_write_end(&content);
    welcome.content = buffer_bytes(&content);
    frame_encode(&welcome, &bytes);
    send(self->connection.fd, bytes.data, bytes.size,
         MSG_DONTWAIT | MSG_NOSIGNAL);
    link_close_connection(self);
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
    jspan_write_begin(&content);
    jspan_write_integer(&content, "protocol", FRAME_VERSION);
    jspan_write_count(&content, "last", newest);
    jspan_write_bool(&content, "lost", is_lost);
    jspan_write_count(&content, "busy", busy_with(self));
    jspan_write_bool(&content, "awaiting", self->served.is_awaiting);
    jspan_write_bool(&content, "tools", true);
    jspan_write_bool(&content, "struck", true);
    jspan_write_bool(&content, "looks", true);
    jspan_write_end(&content);
    welcome.content = buffer_bytes(&content);
    outbox_restart(self->outbox, &welcome, acked);
    signal_room(self);
    self->connection.is_greeted = true;
    link_send_events(self);
}

static void enqueue(request_row_t *row, const frame_t *frame)
{
    link_request_t *request = link_request_new(frame);

    request_row_put(row, &request);
}

static void put_request(link_t *self, const frame_t *frame)
{
    enqueue(&self->incoming.requests, frame);
    if (self->incoming.is_polling || self->incoming.is_signalled)
        return;
    link_signal(self->incoming.requests_fd);
    self->incoming.is_signalled = true;
}

static void on_request(link_t *self, const frame_t *frame)
{
    /* While a cell awaits, a comm message overtakes the cells that wait. */
    uint64_t *accepted = frame_is_comm_request(frame->type)
                             ? &self->incoming.accepted_comm
                             : &self->incoming.accepted;

    if (frame->request <= *accepted)
        return;
    *accepted = frame->request;
    put_request(self, frame);
}

/* Queues the mark after everything that was sent before, whether or not there
 * is room. */
static void on_mark(link_t *self, const frame_t *mark)
{
    frame_t marked = {
        .type = FRAME_MARKED,
        .request = mark->request,
        .content = {"{}", 2},
    };

    if (self->served.strikes < STRIKES)
        self->served.strikes++;
    outbox_put(self->outbox, &marked);
    link_send_events(self);
}

static void on_tools(link_t *self, const frame_t *frame)
{
    link_request_destroy(&self->incoming.tools);
    self->incoming.tools = link_request_new(frame);
    self->incoming.tools_count++;
}

static void on_frame(link_t *self, const frame_t *frame)
{
    if (!self->connection.is_greeted && frame->type == FRAME_HELLO) {
        on_hello(self, frame);
        return;
    }
    if (!self->connection.is_greeted) {
        link_close_connection(self);
        return;
    }
    switch (frame->type) {
    case FRAME_ACK:
        outbox_forget(self->outbox, frame->seq);
        signal_room(self);
        break;
    case FRAME_INPUT_REPLY:
        enqueue(&self->incoming.inputs, frame);
        link_signal(self->incoming.inputs_fd);
        break;
    case FRAME_EXECUTE:
    case FRAME_COMPLETE:
    case FRAME_INSPECT:
    case FRAME_IS_COMPLETE:
    case FRAME_HISTORY:
    case FRAME_COMM_INFO:
    case FRAME_COMM_OPEN_IN:
    case FRAME_COMM_MSG_IN:
    case FRAME_COMM_CLOSE_IN:
    case FRAME_SHUTDOWN:
        on_request(self, frame);
        break;
    case FRAME_REHEARSE:
    case FRAME_LOOK:
        put_request(self, frame);
        break;
    case FRAME_MARK:
        on_mark(self, frame);
        break;
    case FRAME_TOOLS:
        on_tools(self, frame);
        break;
    case FRAME_CALLED:
        enqueue(&self->incoming.answers, frame);
        pthread_cond_signal(&self->answered);
        break;
    case FRAME_KEEP:
        link_keepers_start(self);
        break;
    default:
        link_close_connection(self);
    }
}

static void take_frames(link_t *self)
{
    uint64_t generation = self->connection.generation;
    frame_t frame;
    fault_t fault;
    int r = 1;

    while (r > 0 && self->connection.fd >= 0
           && generation == self->connection.generation) {
        r = frame_decoder_next(self->connection.decoder, &frame, &fault);
        if (r > 0)
            on_frame(self, &frame);
        else if (r < 0)
            link_close_connection(self);
    }
}

/* Reads everything that is there: the thread is not woken again for what is
 * left. */
void link_read_connection(link_t *self)
{
    uint64_t generation = self->connection.generation;
    size_t space = 0;
    ssize_t size = 0;

    while (size == (ssize_t) space && self->connection.fd >= 0
           && generation == self->connection.generation) {
        void *bytes = frame_decoder_space(self->connection.decoder, &space);

        size = link_keepers_receive(self, bytes, space);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0) {
            link_close_connection(self);
            return;
        }
        frame_decoder_added(self->connection.decoder, (size_t) size);
        take_frames(self);
    }
}

void link_accept(link_t *self)
{
    int fd = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    /* Requests that the earlier gateway sent still count. */
    link_read_connection(self);
    link_close_connection(self);
    self->connection.fd = fd;
    self->connection.generation++;
    link_watch_connection(self);
}

void link_on_connection(link_t *self, uint32_t events)
{
    if (self->connection.is_stuck && (events & EPOLLOUT)) {
        self->connection.is_stuck = false;
        link_send_events(self);
        if (self->connection.fd >= 0 && !self->connection.is_stuck)
            link_watch_connection(self);
    }
    if (self->connection.fd >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        link_read_connection(self);
}
