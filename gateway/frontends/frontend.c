/* See frontend.h: birth, death, and one descriptor for two sockets, a client of
 * the management protocol for requests and a ROUTER to which sessions connect.
 */
#include "gateway/frontends/frontend.h"

#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/attach_wire.h"
#include "gateway/frontends/frontend_rpc.h"
#include "gateway/frontends/frontend_sessions.h"
#include "protocol/czmq_cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

static void destroy_any(void **item_p)
{
    free(*item_p);
    *item_p = NULL;
}

/* Unbinds and closes the socket. Closing alone frees the endpoint's name some
 * time later. */
static void close_sessions(frontend_t *self)
{
    char endpoint[FRONTEND_ENDPOINT_SIZE];

    if (self->sessions && frontend_endpoint(self->name, endpoint))
        (void) zmq_unbind(zsock_resolve(self->sessions), endpoint);
    zsock_destroy(&self->sessions);
}

void frontend_destroy(frontend_t **self_p)
{
    frontend_t *self = *self_p;

    if (!self)
        return;
    frontend_sessions_leave_all(self);
    frontend_forget(self);
    buffer_reset(&self->farewell);
    client_destroy(&self->calls);
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

static int watch(frontend_t *self, int fd, fault_t *fault)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (fd < 0 || epoll_ctl(self->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return fault_set(fault, errno, "cannot watch a socket: %s",
                         strerror(errno));
    return 0;
}

static int bind_sessions(frontend_t *self, fault_t *fault)
{
    char endpoint[FRONTEND_ENDPOINT_SIZE];

    if (!frontend_endpoint(self->name, endpoint))
        return fault_set(fault, EINVAL, "\"%s\" is not a name of a frontend",
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

static int open_calls(frontend_t *self, const char *runtime_dir, fault_t *fault)
{
    cleanup_free char *key = mem_format("%s/%s", runtime_dir, GATEWAY_KEY_FILE);

    return client_new_management(GATEWAY_INPROC_ENDPOINT, key, &self->calls,
                                 fault);
}

int frontend_new(const char *name, const char *runtime_dir,
                 frontend_t **ret_frontend, fault_t *fault)
{
    cleanup_frontend frontend_t *self = mem_new(sizeof *self);
    int r;

    snprintf(self->name, sizeof self->name, "%s", name);
    self->waiting = zhashx_new();
    self->attached = zhashx_new();
    zhashx_set_destructor(self->waiting, destroy_any);
    zhashx_set_destructor(self->attached, destroy_any);
    self->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if ((r = open_calls(self, runtime_dir, fault)) < 0
        || (r = bind_sessions(self, fault)) < 0
        || (r = watch(self, client_fd(self->calls, CHANNEL_CONTROL), fault)) < 0
        || (r = watch(self, (int) zsock_fd(self->sessions), fault)) < 0
        || (r = watch(self, self->wake_fd, fault)) < 0)
        return r;
    *ret_frontend = take_ptr(self);
    return 0;
}

int frontend_fd(const frontend_t *self)
{
    return self->poll_fd;
}

/* Takes answers of the registry until one is to be passed on. */
static bool next_answer(frontend_t *self, frontend_event_t *ret_event)
{
    char attached[FRONTEND_ID_MAX];

    while (frontend_rpc_next(self, attached, ret_event))
        if (!attached[0]
            || frontend_sessions_on_attach(self, attached, ret_event))
            return true;
    return false;
}

bool frontend_next(frontend_t *self, frontend_event_t *ret_event)
{
    uint64_t count;

    frontend_forget(self);
    /* First, because messages from here on wake the frontend again. */
    if (read(self->wake_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        log_warning("front=%s eventfd: %s", self->name, strerror(errno));
    *ret_event = (frontend_event_t){0};
    if (next_answer(self, ret_event)
        || frontend_sessions_next(self, ret_event)) {
        frontend_wake(self);
        return true;
    }
    return false;
}
