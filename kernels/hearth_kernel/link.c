/* See link.h. One lock guards everything. The thread waits in epoll and does
 * its work under the lock; callers send from their own thread when the socket
 * takes it, so that a reply does not wait for a second thread to wake up.
 *
 * Events keep one order: text that was printed, bytes that arrived in the
 * pipes and events are put in one row, and a reply is behind all of them.
 * Text that waits has one stream and one cause; other text pushes it out. */
#include "kernels/hearth_kernel/link.h"

#include "kernels/hearth_kernel/outbox.h"
#include "kernels/hearth_kernel/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define THREAD_STACK (128 * 1024)
#define PIPE_READ    (64 * 1024)        /* what a pipe holds by default */
#define DRAIN_MAX    (256 * 1024)       /* read for one caller's sake */
#define MILLISECOND  1000000            /* in nanoseconds */
#define TEXT_DELAY   (20 * MILLISECOND) /* a partial line is seen after it */
#define TEXT_PAUSE   (5 * MILLISECOND)  /* a line after it is sent at once */
/* Nobody writes to a pipe in less than the time of a system call: between two
 * pieces of text that follow each other faster the pipes need no look. */
#define WRITE_GAP 1000

enum source {
    LISTENER,
    CONNECTION,
    TIMER,
    PIPE_STDOUT,
    PIPE_STDERR
};

struct link {
    pthread_mutex_t lock;
    bool is_child; /* a fork of the process that owns the link */
    int epoll;     /* owned, as all descriptors here */
    int front;     /* another epoll: what Python's loop waits for */
    int listener;
    int connection;      /* -1: no gateway */
    uint64_t generation; /* of the connection; epoll may tell of an old one */
    bool is_greeted;     /* HELLO came on this connection */
    bool is_stuck;       /* the socket is full: the thread goes on */
    bool is_choked;      /* no room: the pipes are not read */
    bool is_awaited;     /* somebody waits for room */
    bool is_armed;       /* the timer runs */
    int timer, requests_fd, inputs_fd, room_fd;
    int pipes[2]; /* reading ends */
    text_decoder_t decoders[2];
    frame_decoder_t *decoder; /* owned */

    request_row_t requests, inputs;
    uint64_t accepted;   /* the highest number of a request that came */
    uint64_t running;    /* the request that is served, or 0 */
    uint64_t attributed; /* cause of text of unknown origin */

    buffer_t text; /* waits to become an event */
    link_stream_t text_stream;
    uint64_t text_request;
    int64_t committed_at; /* when text last became an event */
    int64_t written_at;   /* when text was last written */
    buffer_t content;     /* scratch of commit_text */

    outbox_t *outbox; /* owned */
    uint8_t bytes[PIPE_READ];
};

static link_t *instance;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 * MILLISECOND + now.tv_nsec;
}

static void signal_fd(int fd)
{
    eventfd_write(fd, 1);
}

/* Sending */

static void watch_connection(link_t *self, int operation, uint32_t events)
{
    struct epoll_event event = {
        .events = events,
        .data.u64 = self->generation << 8 | CONNECTION,
    };

    epoll_ctl(self->epoll, operation, self->connection, &event);
}

static void close_connection(link_t *self)
{
    if (self->connection >= 0)
        close(self->connection);
    self->connection = -1;
    self->is_greeted = self->is_stuck = false;
    frame_decoder_clear(self->decoder);
    outbox_stop(self->outbox);
}

/* Sends until the socket is full; then the thread goes on when it is not. */
static void send_events(link_t *self)
{
    int r;

    if (!self->is_greeted || self->is_stuck)
        return;
    r = outbox_send(self->outbox, self->connection);
    if (r == -EAGAIN) {
        self->is_stuck = true;
        watch_connection(self, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    } else if (r < 0) {
        close_connection(self);
    }
}

/* Text */

static void arm_timer(link_t *self)
{
    static const struct itimerspec once = {.it_value.tv_nsec = TEXT_DELAY};

    if (self->is_armed)
        return;
    self->is_armed = true;
    timerfd_settime(self->timer, 0, &once, NULL);
}

static void commit_text(link_t *self)
{
    frame_t frame = {.type = FRAME_STREAM, .request = self->text_request};

    if (!self->text.size)
        return;
    buffer_clear(&self->content);
    buffer_text(&self->content, self->text_stream == LINK_STDOUT
                                    ? "{\"name\":\"stdout\",\"text\":\""
                                    : "{\"name\":\"stderr\",\"text\":\"");
    text_escape((const char *) self->text.data, self->text.size,
                &self->content);
    buffer_text(&self->content, "\"}");
    frame.content = (frame_part_t){self->content.data, self->content.size};
    outbox_put(self->outbox, &frame);
    buffer_clear(&self->text);
    if (self->content.capacity > LINK_TEXT_MAX)
        buffer_reset(&self->content);
    self->committed_at = now_ns();
}

/* Makes the text that waits be of this stream and request, with room. */
static void prepare_text(link_t *self, link_stream_t stream, uint64_t request,
                         size_t size)
{
    if (self->text.size
        && (self->text_stream != stream || self->text_request != request
            || self->text.size + size > LINK_TEXT_MAX))
        commit_text(self);
    self->text_stream = stream;
    self->text_request = request;
}

/* Reads what is in a pipe, up to `max` bytes. */
static void read_pipe(link_t *self, link_stream_t stream, size_t max)
{
    while (max > 0 && outbox_has_room(self->outbox, 1)) {
        size_t want = max < PIPE_READ ? max : PIPE_READ;
        ssize_t size = read(self->pipes[stream], self->bytes, want);

        /* No end is left to write to: user code closed the descriptor. */
        if (size == 0)
            epoll_ctl(self->epoll, EPOLL_CTL_DEL, self->pipes[stream], NULL);
        if (size <= 0)
            return;
        /* At worst every byte becomes the three of U+FFFD. */
        prepare_text(self, stream, self->attributed, 3 * (size_t) size + 4);
        text_decode(&self->decoders[stream], self->bytes, (size_t) size,
                    &self->text);
        arm_timer(self);
        max -= (size_t) size;
    }
}

static void drain_pipes(link_t *self)
{
    read_pipe(self, LINK_STDOUT, DRAIN_MAX);
    read_pipe(self, LINK_STDERR, DRAIN_MAX);
}

static void watch_pipes(link_t *self, uint32_t events)
{
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = events,
                                    .data.u64 = PIPE_STDOUT + (uint64_t) i};

        epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->pipes[i], &event);
    }
}

/* What is in the pipes is left there while there is no room, so that whoever
 * writes to them waits too. */
static void choke(link_t *self)
{
    if (!self->is_choked)
        watch_pipes(self, 0);
    self->is_choked = true;
}

/* In a child the lines stay whole, so that children can share a pipe. */
static void write_child(link_t *self)
{
    const uint8_t *bytes = self->text.data;
    size_t size = self->text.size;

    while (size > 0) {
        ssize_t written =
            write(self->text_stream == LINK_STDOUT ? 1 : 2, bytes, size);

        if (written < 0 && errno != EINTR)
            break;
        if (written > 0) {
            bytes += written;
            size -= (size_t) written;
        }
    }
    buffer_clear(&self->text);
}

static void write_as_child(link_t *self, link_stream_t stream, const char *text,
                           size_t size)
{
    if (self->text_stream != stream)
        write_child(self);
    self->text_stream = stream;
    buffer_append(&self->text, text, size);
    if (memchr(text, '\n', size) || self->text.size > PIPE_READ)
        write_child(self);
}

int link_write(link_t *self, link_stream_t stream, uint64_t request,
               const char *text, size_t size)
{
    int64_t now;
    bool is_taken;

    if (!size)
        return 0;
    pthread_mutex_lock(&self->lock);
    if (self->is_child) {
        write_as_child(self, stream, text, size);
        pthread_mutex_unlock(&self->lock);
        return 0;
    }
    now = now_ns();
    if (now - self->written_at > WRITE_GAP)
        drain_pipes(self);
    self->written_at = now;
    is_taken = outbox_has_room(self->outbox, self->text.size + size);
    if (is_taken) {
        prepare_text(self, stream, request, size);
        buffer_append(&self->text, text, size);
        if (text[size - 1] == '\n' && now - self->committed_at > TEXT_PAUSE) {
            commit_text(self);
            send_events(self);
        } else {
            arm_timer(self);
        }
    } else {
        self->is_awaited = true;
        commit_text(self);
        send_events(self);
    }
    pthread_mutex_unlock(&self->lock);
    return is_taken ? 0 : -EAGAIN;
}

void link_flush(link_t *self)
{
    pthread_mutex_lock(&self->lock);
    if (self->is_child) {
        write_child(self);
    } else {
        drain_pipes(self);
        commit_text(self);
        send_events(self);
    }
    pthread_mutex_unlock(&self->lock);
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
    drain_pipes(self);
    commit_text(self);
    if (frame->type == FRAME_INPUT_REQUEST && frame->request != self->running) {
        r = -ESTALE;
    } else if (outbox_has_room(self->outbox, size)) {
        outbox_put(self->outbox, frame);
        if (frame->type == FRAME_REPLY && frame->request == self->running)
            self->running = 0;
    } else {
        self->is_awaited = true;
        hold = false;
        r = -EAGAIN;
    }
    if (hold)
        arm_timer(self);
    else
        send_events(self);
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

/* What the gateway says */

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
        signal_fd(self->room_fd);
    self->is_awaited = false;
    if (self->is_choked && outbox_has_room(self->outbox, 1)) {
        self->is_choked = false;
        watch_pipes(self, EPOLLIN);
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
    send_events(self);
}

static void enqueue(request_row_t *row, const frame_t *frame, int fd)
{
    request_t *request = request_new(frame);

    request_row_put(row, &request);
    signal_fd(fd);
}

static void on_request(link_t *self, const frame_t *frame)
{
    if (frame->request <= self->accepted)
        return;
    self->accepted = frame->request;
    enqueue(&self->requests, frame, self->requests_fd);
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
        enqueue(&self->inputs, frame, self->inputs_fd);
    } else if (frame->type >= FRAME_EXECUTE && frame->type <= FRAME_SHUTDOWN) {
        on_request(self, frame);
    } else {
        close_connection(self);
    }
}

static void read_connection(link_t *self)
{
    uint64_t generation = self->generation;
    size_t space;
    void *bytes = frame_decoder_space(self->decoder, &space);
    ssize_t size = recv(self->connection, bytes, space, MSG_DONTWAIT);
    frame_t frame;
    fault_t fault;
    int r = 1;

    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        close_connection(self);
        return;
    }
    frame_decoder_added(self->decoder, (size_t) size);
    while (r > 0 && self->connection >= 0 && generation == self->generation) {
        r = frame_decoder_next(self->decoder, &frame, &fault);
        if (r > 0)
            on_frame(self, &frame);
        else if (r < 0)
            close_connection(self);
    }
}

/* Python's loop waits for the gateway itself too: when it is idle, a request
 * wakes it without a detour by the thread. Both may come; one finds nothing. */
static int watch_front(link_t *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(self->front, EPOLL_CTL_ADD, fd, &event);
}

/* The newest gateway is the right one: an older may be a dead one's. */
static void accept_connection(link_t *self)
{
    int fd = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    close_connection(self);
    self->connection = fd;
    self->generation++;
    watch_connection(self, EPOLL_CTL_ADD, EPOLLIN);
    watch_front(self, fd);
}

/* The thread */

static void on_connection(link_t *self, uint32_t events)
{
    if (self->is_stuck && (events & EPOLLOUT)) {
        self->is_stuck = false;
        send_events(self);
        if (self->connection >= 0 && !self->is_stuck)
            watch_connection(self, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (self->connection >= 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        read_connection(self);
}

static void on_timer(link_t *self)
{
    uint64_t expirations;

    if (read(self->timer, &expirations, sizeof expirations) < 0)
        return;
    self->is_armed = false;
    commit_text(self);
    send_events(self);
}

static void on_pipe(link_t *self, link_stream_t stream)
{
    read_pipe(self, stream, PIPE_READ);
    if (!outbox_has_room(self->outbox, 1))
        choke(self);
    if (self->text.size && self->text.data[self->text.size - 1] == '\n'
        && now_ns() - self->committed_at > TEXT_PAUSE) {
        commit_text(self);
        send_events(self);
    }
}

static void on_event(link_t *self, const struct epoll_event *event)
{
    switch ((enum source)(event->data.u64 & 0xff)) {
    case LISTENER:
        accept_connection(self);
        break;
    case CONNECTION:
        if (event->data.u64 >> 8 == self->generation && self->connection >= 0)
            on_connection(self, event->events);
        break;
    case TIMER:
        on_timer(self);
        break;
    case PIPE_STDOUT:
        on_pipe(self, LINK_STDOUT);
        break;
    case PIPE_STDERR:
        on_pipe(self, LINK_STDERR);
        break;
    }
}

static void *serve(void *argument)
{
    link_t *self = argument;

    for (;;) {
        struct epoll_event events[8];
        int count = epoll_wait(self->epoll, events, 8, -1);

        if (count < 0 && errno != EINTR)
            return NULL;
        pthread_mutex_lock(&self->lock);
        for (int i = 0; i < count; i++)
            on_event(self, &events[i]);
        pthread_mutex_unlock(&self->lock);
    }
}

/* Fork: the child has the lock in a known state and gives up the link, so
 * that the gateway's connection ends with the kernel and not with it. */

static void before_fork(void)
{
    pthread_mutex_lock(&instance->lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&instance->lock);
}

static void after_fork_in_child(void)
{
    link_t *self = instance;

    if (!self->is_child) {
        self->is_child = true;
        close(self->listener);
        if (self->connection >= 0)
            close(self->connection);
        close(self->pipes[0]);
        close(self->pipes[1]);
        buffer_clear(&self->text);
    }
    pthread_mutex_unlock(&self->lock);
}

/* Birth */

static int watch(link_t *self, int fd, enum source source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = source};

    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_pipe(link_t *self, link_stream_t stream)
{
    cleanup_fd int writing = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    self->pipes[stream] = ends[0];
    writing = ends[1];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0
        || dup2(writing, stream == LINK_STDOUT ? 1 : 2) < 0)
        return -1;
    return watch(self, ends[0], PIPE_STDOUT + (enum source) stream);
}

static int open_all(link_t *self, fault_t *fault)
{
    const int flags = EFD_CLOEXEC | EFD_NONBLOCK;

    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->front = epoll_create1(EPOLL_CLOEXEC);
    self->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    self->requests_fd = eventfd(0, flags);
    self->inputs_fd = eventfd(0, flags);
    self->room_fd = eventfd(0, flags);
    if (self->epoll < 0 || self->front < 0 || self->timer < 0
        || self->requests_fd < 0 || self->inputs_fd < 0 || self->room_fd < 0
        || open_pipe(self, LINK_STDOUT) < 0 || open_pipe(self, LINK_STDERR) < 0
        || watch_front(self, self->requests_fd) < 0
        || watch(self, self->timer, TIMER) < 0
        || fcntl(self->listener, F_SETFL, O_NONBLOCK) < 0
        || watch(self, self->listener, LISTENER) < 0)
        return fault_set(fault, errno, "descriptors of the link: %s",
                         strerror(errno));
    return 0;
}

/* Signals are for Python's threads. */
static int start_thread(link_t *self, fault_t *fault)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    int code;

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    code = pthread_create(&thread, &attributes, serve, self);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (code)
        return fault_set(fault, code, "thread of the link: %s", strerror(code));
    return 0;
}

/* A link that could not be made is the end of its process: nothing is freed. */
int link_new(int listener, size_t retain, link_t **ret_link, fault_t *fault)
{
    link_t *self;
    int r;

    if (instance)
        return fault_set(fault, EBUSY, "there is a link already");
    self = mem_new(sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    self->listener = listener;
    self->connection = -1;
    self->decoder = frame_decoder_new();
    self->outbox = outbox_new(retain);
    instance = self;
    if ((r = open_all(self, fault)) < 0 || (r = start_thread(self, fault)) < 0)
        return r;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    *ret_link = self;
    return 0;
}

bool link_is_child(const link_t *self)
{
    return self->is_child;
}

int link_requests_fd(const link_t *self)
{
    return self->front;
}

void link_poll(link_t *self)
{
    eventfd_t value;

    pthread_mutex_lock(&self->lock);
    if (!self->is_child) {
        eventfd_read(self->requests_fd, &value);
        if (self->connection >= 0)
            read_connection(self);
    }
    pthread_mutex_unlock(&self->lock);
}

int link_inputs_fd(const link_t *self)
{
    return self->inputs_fd;
}

int link_room_fd(const link_t *self)
{
    return self->room_fd;
}

request_t *link_next(link_t *self)
{
    request_t *request;

    pthread_mutex_lock(&self->lock);
    request = self->is_child ? NULL : request_row_take(&self->requests);
    if (request)
        self->running = request_frame(request)->request;
    pthread_mutex_unlock(&self->lock);
    return request;
}

request_t *link_next_input(link_t *self, uint64_t request)
{
    request_t *input;

    pthread_mutex_lock(&self->lock);
    while ((input = request_row_take(&self->inputs))
           && request_frame(input)->request != request)
        request_destroy(&input);
    pthread_mutex_unlock(&self->lock);
    return input;
}

void link_clear_inputs(link_t *self)
{
    request_t *input;

    pthread_mutex_lock(&self->lock);
    while ((input = request_row_take(&self->inputs)))
        request_destroy(&input);
    pthread_mutex_unlock(&self->lock);
}

/* What lies in the pipes was written before: it belongs to the old cause. */
void link_attribute(link_t *self, uint64_t request)
{
    pthread_mutex_lock(&self->lock);
    if (!self->is_child)
        drain_pipes(self);
    self->attributed = request;
    pthread_mutex_unlock(&self->lock);
}

uint64_t link_attributed(link_t *self)
{
    uint64_t request;

    pthread_mutex_lock(&self->lock);
    request = self->attributed;
    pthread_mutex_unlock(&self->lock);
    return request;
}
