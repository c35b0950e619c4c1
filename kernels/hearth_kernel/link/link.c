/* See link.h. One lock protects all of it. The thread waits in epoll and works
 * under the lock. Callers send from their own thread if the socket accepts it,
 * so that a reply does not wait for a second thread to wake up. Events keep one
 * order: printed text, bytes from the pipes and events go into one queue, and a
 * reply comes after all of them. */
#include "kernels/hearth_kernel/link/connection.h"
#include "kernels/hearth_kernel/link/gateway.h"
#include "kernels/hearth_kernel/link/keepers.h"
#include "kernels/hearth_kernel/link/streams.h"

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

static link_t *instance;

/* The thread */

static void on_event(link_t *self, const struct epoll_event *event)
{
    switch ((enum source)(event->data.u64 & 0xff)) {
    case LISTENER:
        link_accept(self);
        break;
    case CONNECTION:
        if (event->data.u64 >> 8 == self->connection.generation
            && self->connection.fd >= 0)
            link_on_connection(self, event->events);
        break;
    case TIMER:
        link_on_timer(self);
        break;
    case PIPE_STDOUT:
        link_on_pipe(self, LINK_STDOUT);
        break;
    case PIPE_STDERR:
        link_on_pipe(self, LINK_STDERR);
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

/* Handlers of fork. The child gets the lock in a known state. It gives up the
 * link, so that the gateway's connection ends with the kernel, even if the
 * child lives longer. */

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
        if (self->connection.fd >= 0)
            close(self->connection.fd);
        close(self->printed.pipes[0]);
        close(self->printed.pipes[1]);
        link_keepers_forget(self);
        buffer_clear(&self->printed.text);
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
    self->printed.pipes[stream] = ends[0];
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
    self->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    self->incoming.requests_fd = eventfd(0, flags);
    self->incoming.inputs_fd = eventfd(0, flags);
    self->room_fd = eventfd(0, flags);
    if (self->epoll < 0 || self->timer < 0 || self->incoming.requests_fd < 0
        || self->incoming.inputs_fd < 0 || self->room_fd < 0
        || open_pipe(self, LINK_STDOUT) < 0 || open_pipe(self, LINK_STDERR) < 0
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

/* Frees nothing on a failure: a link that could not be made is the end of its
 * process. */
int link_new(int listener, size_t retain, link_t **ret_link, fault_t *fault)
{
    pthread_condattr_t clock;
    link_t *self;
    int r;

    if (instance)
        return fault_set(fault, EBUSY, "there is a link already");
    self = mem_new(sizeof *self);
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&self->sent, &clock);
    pthread_cond_init(&self->answered, &clock);
    pthread_condattr_destroy(&clock);
    self->listener = listener;
    self->connection.fd = self->loop = -1;
    self->connection.decoder = frame_decoder_new();
    self->outbox = outbox_new(retain);
    link_keepers_begin(self);
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
    return self->incoming.requests_fd;
}

void link_join(link_t *self, int epoll)
{
    pthread_mutex_lock(&self->lock);
    self->loop = epoll;
    link_watch_connection(self);
    pthread_mutex_unlock(&self->lock);
}

void link_poll(link_t *self)
{
    eventfd_t value;

    pthread_mutex_lock(&self->lock);
    if (!self->is_child) {
        if (self->incoming.is_signalled)
            eventfd_read(self->incoming.requests_fd, &value);
        self->incoming.is_signalled = false;
        self->incoming.is_polling = true;
        link_read_connection(self);
        self->incoming.is_polling = false;
    }
    pthread_mutex_unlock(&self->lock);
}

bool link_has_next(link_t *self)
{
    bool has_next;

    pthread_mutex_lock(&self->lock);
    has_next = !self->is_child && self->incoming.requests.first != NULL;
    pthread_mutex_unlock(&self->lock);
    return has_next;
}

int link_inputs_fd(const link_t *self)
{
    return self->incoming.inputs_fd;
}

int link_room_fd(const link_t *self)
{
    return self->room_fd;
}

link_request_t *link_next(link_t *self)
{
    link_request_t *request;

    pthread_mutex_lock(&self->lock);
    request =
        self->is_child ? NULL : request_row_take(&self->incoming.requests);
    if (request) {
        self->served.number = link_request_frame(request)->request;
        self->served.strikes = STRIKES;
    }
    pthread_mutex_unlock(&self->lock);
    return request;
}

link_request_t *link_next_comm(link_t *self)
{
    const link_request_t *first;
    link_request_t *request = NULL;

    pthread_mutex_lock(&self->lock);
    first = self->incoming.requests.first;
    if (!self->is_child && first
        && frame_is_comm_request(link_request_frame(first)->type))
        request = request_row_take(&self->incoming.requests);
    pthread_mutex_unlock(&self->lock);
    return request;
}

link_request_t *link_next_input(link_t *self, uint64_t request)
{
    link_request_t *input;

    pthread_mutex_lock(&self->lock);
    while ((input = request_row_take(&self->incoming.inputs))
           && link_request_frame(input)->request != request)
        link_request_destroy(&input);
    pthread_mutex_unlock(&self->lock);
    return input;
}

void link_clear_inputs(link_t *self)
{
    link_request_t *input;

    pthread_mutex_lock(&self->lock);
    while ((input = request_row_take(&self->incoming.inputs)))
        link_request_destroy(&input);
    pthread_mutex_unlock(&self->lock);
}

link_request_t *link_tools(link_t *self, uint64_t known, uint64_t *ret_count)
{
    link_request_t *tools = NULL;

    pthread_mutex_lock(&self->lock);
    *ret_count = self->incoming.tools_count;
    if (self->incoming.tools && self->incoming.tools_count > known)
        tools = link_request_new(link_request_frame(self->incoming.tools));
    pthread_mutex_unlock(&self->lock);
    return tools;
}

link_request_t *link_await_answer(link_t *self)
{
    link_request_t *answer = NULL;

    pthread_mutex_lock(&self->lock);
    while (!self->is_child
           && !(answer = request_row_take(&self->incoming.answers)))
        pthread_cond_wait(&self->answered, &self->lock);
    pthread_mutex_unlock(&self->lock);
    return answer;
}
