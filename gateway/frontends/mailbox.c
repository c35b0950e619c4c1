/* See mailbox.h. Each line is a DEALER with a number for its name, which no
 * other line gets again: what an actor sent before it was destroyed is dropped.
 */
#include "gateway/frontends/mailbox.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/cpu_affinity.h"
#include "protocol/czmq_cleanup.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define ENDPOINT_SIZE   48
#define MEETING_MS      10000
#define MEETING_LOOK_MS 5

static atomic_uint made; /* mailboxes of this program */

struct mailbox {
    zsock_t *socket; /* owned; ROUTER */
    char endpoint[ENDPOINT_SIZE];
    zhashx_t *lines; /* owned; number -> mailbox_line_t, borrowed */
    uint64_t counter;
    handover_destroy_fn *destroy_sent;     /* to actors */
    handover_destroy_fn *destroy_received; /* from actors */
};

struct mailbox_line {
    mailbox_t *mailbox; /* borrowed */
    void *owner;        /* borrowed */
    char number[24];
    pthread_t thread;
    pthread_mutex_t lock; /* of has_ended */
    pthread_cond_t end;
    bool has_ended;
    zsock_t *pipe; /* owned; the thread's while that runs */
    zactor_fn *actor;
    void *args;
};

mailbox_t *mailbox_new(handover_destroy_fn *destroy_sent,
                       handover_destroy_fn *destroy_received)
{
    mailbox_t *self = mem_new(sizeof *self);

    self->destroy_sent = destroy_sent;
    self->destroy_received = destroy_received;

    self->lines = zhashx_new();
    self->socket = zsock_new(ZMQ_ROUTER);
    /* libzmq gives a name free some time after its socket was closed. */
    snprintf(self->endpoint, sizeof self->endpoint, "inproc://mailbox-%u",
             atomic_fetch_add(&made, 1));
    zsock_set_sndhwm(self->socket, 0);
    zsock_set_rcvhwm(self->socket, 0);
    zsock_set_router_mandatory(self->socket, 1);
    zsock_set_rcvtimeo(self->socket, 0);
    if (zsock_bind(self->socket, "%s", self->endpoint) < 0)
        assert(!"a name that no user has");
    return self;
}

zsock_t *mailbox_socket(mailbox_t *self)
{
    return self->socket;
}

void *mailbox_receive(mailbox_t *self, void **ret_owner)
{
    while (zsock_events(self->socket) & ZMQ_POLLIN) {
        cleanup_zmsg zmsg_t *message = zmsg_recv(self->socket);
        cleanup_free char *number = message ? zmsg_popstr(message) : NULL;
        const mailbox_line_t *line =
            number ? zhashx_lookup(self->lines, number) : NULL;
        void *object = number ? handover_unpack(message) : NULL;

        if (object && line) {
            *ret_owner = line->owner;
            return object;
        }
        if (object)
            self->destroy_received(&object);
    }
    return NULL;
}

void mailbox_destroy(mailbox_t **self_p)
{
    mailbox_t *self = *self_p;
    void *owner;

    if (!self)
        return;
    (void) mailbox_receive(self, &owner); /* no line is left: destroys all */
    zsock_destroy(&self->socket);
    zhashx_destroy(&self->lines);
    free(self);
    *self_p = NULL;
}

void mailbox_line_send(mailbox_line_t *self, void *object)
{
    cleanup_zmsg zmsg_t *message = zmsg_new();

    zmsg_addstr(message, self->number);
    zmsg_addmem(message, &object, sizeof object);
    if (zmsg_send(&message, self->mailbox->socket) < 0)
        self->mailbox->destroy_sent(&object);
}

void mailbox_line_stop(mailbox_line_t *self)
{
    cleanup_zmsg zmsg_t *message = zmsg_new();

    zmsg_addstr(message, self->number);
    zmsg_addstr(message, "$TERM");
    (void) zmsg_send(&message, self->mailbox->socket);
}

static void *run(void *arg)
{
    mailbox_line_t *self = arg;

    self->actor(self->pipe, self->args);
    pthread_mutex_lock(&self->lock);
    self->has_ended = true;
    pthread_cond_signal(&self->end);
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void prepare_end(mailbox_line_t *self)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->end, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void forget_end(mailbox_line_t *self)
{
    pthread_cond_destroy(&self->end);
    pthread_mutex_destroy(&self->lock);
}

/* Waits for the thread's end; false if it has not ended at the deadline. */
static bool await_end(mailbox_line_t *self, int64_t deadline_ms)
{
    struct timespec until = {.tv_sec = deadline_ms / 1000,
                             .tv_nsec = deadline_ms % 1000 * 1000000};
    bool has_ended;
    int r = 0;

    pthread_mutex_lock(&self->lock);
    while (!self->has_ended && r == 0)
        r = pthread_cond_timedwait(&self->end, &self->lock, &until);
    has_ended = self->has_ended;
    pthread_mutex_unlock(&self->lock);
    return has_ended;
}

static int say_nothing(mailbox_line_t *self)
{
    cleanup_zmsg zmsg_t *message = zmsg_new();

    zmsg_addstr(message, self->number);
    zmsg_addstr(message, "");
    return zmsg_send(&message, self->mailbox->socket);
}

/* Waits until another thread sends the socket a command, after all earlier
 * commands were processed (zsock_events). It waits for a moment only, because
 * the call before may have consumed the edge of the descriptor. */
static void await_command(zsock_t *socket)
{
    zmq_pollitem_t item = {.fd = zsock_fd(socket), .events = ZMQ_POLLIN};

    (void) zmq_poll(&item, 1, MEETING_LOOK_MS);
}

/* Waits until the ROUTER knows the line: before that no message can be sent to
 * it. The ROUTER may learn of it a moment late. libzmq wakes it once for the
 * reports of several threads, and the thread that has to may have been stopped
 * right before. The first message shows that the ROUTER has, and goes no
 * further. */
static int meet(mailbox_line_t *self, fault_t *fault)
{
    cleanup_zmsg zmsg_t *message = NULL;
    int64_t begun = clock_monotonic_ms();

    while (say_nothing(self) < 0) {
        if (zmq_errno() != EHOSTUNREACH && zmq_errno() != EINTR)
            return fault_set(fault, zmq_errno(), "no line to a session: %s",
                             zmq_strerror(zmq_errno()));
        if (clock_monotonic_ms() - begun > MEETING_MS)
            return fault_set(fault, ETIMEDOUT,
                             "no line to a session within %d ms", MEETING_MS);
        (void) zsock_events(self->mailbox->socket);
        await_command(self->mailbox->socket);
    }
    do
        message = zmsg_recv(self->pipe);
    while (!message && zmq_errno() == EINTR);
    return message ? 0
                   : fault_set(fault, zmq_errno(), "no line to a session: %s",
                               zmq_strerror(zmq_errno()));
}

static int connect_pipe(mailbox_line_t *self, fault_t *fault)
{
    self->pipe = zsock_new(ZMQ_DEALER);
    if (!self->pipe)
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    zsock_set_identity(self->pipe, self->number);
    zsock_set_sndhwm(self->pipe, 0);
    zsock_set_rcvhwm(self->pipe, 0);
    if (zsock_connect(self->pipe, "%s", self->mailbox->endpoint) < 0)
        return fault_set(fault, zmq_errno(), "no line to a session: %s",
                         zmq_strerror(zmq_errno()));
    return meet(self, fault);
}

int mailbox_line_new(mailbox_t *mailbox, zactor_fn *actor, void *args,
                     void *owner, mailbox_line_t **ret_line, fault_t *fault)
{
    cleanup_free mailbox_line_t *self = mem_new(sizeof *self);
    int r;

    self->mailbox = mailbox;
    self->owner = owner;
    self->actor = actor;
    self->args = args;
    snprintf(self->number, sizeof self->number, "%" PRIu64, ++mailbox->counter);
    r = connect_pipe(self, fault);
    prepare_end(self);
    if (r == 0) {
        int code = pthread_create(&self->thread, NULL, run, self);

        if (code)
            r = fault_set(fault, code, "no thread for a session: %s",
                          strerror(code));
    }
    if (r < 0) {
        zsock_destroy(&self->pipe);
        forget_end(self);
        return r;
    }
    zhashx_update(mailbox->lines, self->number, self);
    *ret_line = take_ptr(self);
    return 0;
}

/* Destroys what the actor has not taken. Its thread has ended. */
static void clear_pipe(mailbox_line_t *self)
{
    while (zsock_events(self->pipe) & ZMQ_POLLIN) {
        void *object = handover_receive(self->pipe);

        if (object)
            self->mailbox->destroy_sent(&object);
    }
    zsock_destroy(&self->pipe);
}

static void discard(mailbox_line_t **self_p)
{
    mailbox_line_t *self = *self_p;

    (void) pthread_join(self->thread, NULL);
    clear_pipe(self);
    forget_end(self);
    zhashx_delete(self->mailbox->lines, self->number);
    free(self);
    *self_p = NULL;
}

void mailbox_line_destroy(mailbox_line_t **self_p)
{
    if (!*self_p)
        return;
    mailbox_line_stop(*self_p);
    discard(self_p);
}

bool mailbox_line_end(mailbox_line_t **self_p, int64_t deadline_ms)
{
    if (!*self_p)
        return true;
    mailbox_line_stop(*self_p);
    if (!await_end(*self_p, deadline_ms)) {
        *self_p = NULL; /* its thread's, for as long as that runs */
        return false;
    }
    discard(self_p);
    return true;
}

void mailbox_line_keep_off(mailbox_line_t *self, int processor)
{
    cpu_set_t set;

    if (pthread_getaffinity_np(self->thread, sizeof set, &set) == 0
        && cpu_affinity_leave_out(processor, &set))
        (void) pthread_setaffinity_np(self->thread, sizeof set, &set);
}
