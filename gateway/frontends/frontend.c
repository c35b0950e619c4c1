/* See frontend.h: birth, death, and one descriptor for two sockets, a client of
 * the management protocol for orders and a ROUTER to which sessions connect. */
#include "gateway/frontends/internal.h"

#include "base/log.h"
#include "gateway/config/state_files.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <zmq.h>

static void destroy_any(void **item_p)
{
    free(*item_p);
    *item_p = NULL;
}

void front_forget(front_t *self)
{
    zmsg_destroy(&self->frames);
    message_destroy(&self->answer);
    buffer_clear(&self->farewell);
    free(take_ptr(self->buffers));
}

/* A send may have taken the sign that something came (ZMQ_FD is told once):
 * the descriptor stays readable until front_next has looked. */
void front_wake(front_t *self)
{
    static const uint64_t one = 1;
    ssize_t written = write(self->wake_fd, &one, sizeof one);

    (void) written;
}

/* Closing alone frees the endpoint's name some time later. */
static void close_sessions(front_t *self)
{
    char endpoint[FRONT_ENDPOINT_SIZE];

    if (self->sessions && front_endpoint(self->name, endpoint))
        (void) zmq_unbind(zsock_resolve(self->sessions), endpoint);
    zsock_destroy(&self->sessions);
}

void front_destroy(front_t **self_p)
{
    front_t *self = *self_p;

    if (!self)
        return;
    front_leave_all(self);
    front_forget(self);
    buffer_reset(&self->farewell);
    client_destroy(&self->orders);
    close_sessions(self);
    zhashx_destroy(&self->waiting);
    zhashx_destroy(&self->attached);
    if (self->poll_fd >= 0)
        close(self->poll_fd);
    if (self->wake_fd >= 0)
        close(self->wake_fd);
    free(self);
    *self_p = NULL;
}

static int watch(front_t *self, int fd, fault_t *fault)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0 || epoll_ctl(self->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return fault_set(fault, errno, "cannot watch a socket: %s",
                         strerror(errno));
    return 0;
}

static int bind_sessions(front_t *self, fault_t *fault)
{
    char endpoint[FRONT_ENDPOINT_SIZE];

    if (!front_endpoint(self->name, endpoint))
        return fault_set(fault, EINVAL, "\"%s\" is no name for a front",
                         self->name);
    self->sessions = zsock_new(ZMQ_ROUTER);
    if (!self->sessions)
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    zsock_set_sndhwm(self->sessions, 0);
    zsock_set_rcvhwm(self->sessions, 0);
    zsock_set_router_mandatory(self->sessions, 1);
    /* A session that left and comes again may overtake its own going. */
    zsock_set_router_handover(self->sessions, 1);
    if (zmq_bind(zsock_resolve(self->sessions), endpoint) < 0)
        return fault_set(fault, zmq_errno(), "cannot bind %s: %s", endpoint,
                         zmq_strerror(zmq_errno()));
    return 0;
}

static int open_orders(front_t *self, const char *runtime_dir, fault_t *fault)
{
    cleanup_free char *key = mem_format("%s/%s", runtime_dir, GATEWAY_KEY_FILE);

    return client_new_management(GATEWAY_INPROC_ENDPOINT, key, &self->orders,
                                 fault);
}

int front_new(const char *name, const char *runtime_dir, front_t **ret_front,
              fault_t *fault)
{
    cleanup_front front_t *self = mem_new(sizeof *self);
    int r;

    snprintf(self->name, sizeof self->name, "%s", name);
    self->waiting = zhashx_new();
    self->attached = zhashx_new();
    zhashx_set_destructor(self->waiting, destroy_any);
    zhashx_set_destructor(self->attached, destroy_any);
    self->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if ((r = open_orders(self, runtime_dir, fault)) < 0
        || (r = bind_sessions(self, fault)) < 0
        || (r = watch(self, client_fd(self->orders, CHANNEL_CONTROL), fault))
               < 0
        || (r = watch(self, (int) zsock_fd(self->sessions), fault)) < 0
        || (r = watch(self, self->wake_fd, fault)) < 0)
        return r;
    *ret_front = take_ptr(self);
    return 0;
}

int front_fd(const front_t *self)
{
    return self->poll_fd;
}

bool front_next(front_t *self, front_event_t *ret_event)
{
    uint64_t count;

    front_forget(self);
    /* First: what comes from here on wakes anew. */
    if (read(self->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        log_warning("front=%s eventfd: %s", self->name, strerror(errno));
    *ret_event = (front_event_t){0};
    if (front_next_answer(self, ret_event)
        || front_next_word(self, ret_event)) {
        front_wake(self);
        return true;
    }
    return false;
}
