/* See kernel_link.h. */
#include "gateway/session/kernel/kernel_link.h"

#include "base/buffer.h"

#include <errno.h>
#include <unistd.h>

#define UNACKED_MAX                                                            \
    (1u << 20) /* journaled bytes after which an ACK is sent on its own */

struct kernel_link {
    zloop_t *loop;                /* borrowed */
    const kernel_link_ops_t *ops; /* borrowed */
    void *arg;                    /* the session's */
    kernel_t *kernel;             /* owned, or NULL */
    kernel_end_t end;             /* how the last kernel ended */
    int watched_link;             /* descriptors in the loop; -1: none */
    int watched_init;             /* that may be closed by now */
    int watched_pidfd;
    bool is_writing;    /* the loop waits for room in the link */
    bool is_held;       /* and not for input */
    int status_fd;      /* owned; faults of the launch come from it; -1: none */
    uint64_t seq;       /* the last event in the journal */
    uint64_t acked_seq; /* the last that was acknowledged */
    size_t unacked_bytes; /* journaled or dropped since an ACK was sent */
};

kernel_link_t *kernel_link_new(zloop_t *loop, const kernel_link_ops_t *ops,
                               void *arg)
{
    kernel_link_t *self = mem_new(sizeof *self);

    self->loop = loop;
    self->ops = ops;
    self->arg = arg;
    self->watched_link = self->watched_init = self->watched_pidfd = -1;
    self->status_fd = -1;
    return self;
}

void kernel_link_destroy(kernel_link_t **self_p)
{
    kernel_link_t *self = *self_p;

    if (!self)
        return;
    kernel_destroy(&self->kernel);
    if (self->status_fd >= 0)
        close(self->status_fd);
    free(self);
    *self_p = NULL;
}

/* ---- the loop ---- */

static void watch(kernel_link_t *self, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN | ZMQ_POLLERR};

    if (fd < 0)
        return;
    zloop_poller(self->loop, &item, handler, self);
    zloop_poller_set_tolerant(self->loop, &item);
}

static void unwatch(kernel_link_t *self, int *fd)
{
    zmq_pollitem_t item = {.fd = *fd};

    if (*fd >= 0)
        zloop_poller_end(self->loop, &item);
    *fd = -1;
}

static void watch_link(kernel_link_t *self);

/* Watches the link for writing while data waits. */
static void mind(kernel_link_t *self)
{
    if (kernel_is_writing(self->kernel) != self->is_writing)
        watch_link(self);
}

static int on_link(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    kernel_link_t *self = arg;
    fault_t fault;

    (void) loop;
    if (!self->kernel)
        return 0;
    if (item->revents & ZMQ_POLLOUT) {
        (void) kernel_flush(self->kernel, &fault);
        mind(self);
    }
    if (item->revents & (ZMQ_POLLIN | ZMQ_POLLERR))
        self->ops->on_input(self->arg);
    return 0;
}

static void unwatch_link(kernel_link_t *self)
{
    unwatch(self, &self->watched_link);
    self->is_writing = false;
}

static void watch_link(kernel_link_t *self)
{
    zmq_pollitem_t item = {.fd = kernel_link_fd(self->kernel)};

    unwatch_link(self);
    self->is_writing = kernel_is_writing(self->kernel);
    if (!self->is_held)
        item.events |= ZMQ_POLLIN | ZMQ_POLLERR;
    if (self->is_writing)
        item.events |= ZMQ_POLLOUT;
    if (item.fd < 0 || !item.events)
        return;
    zloop_poller(self->loop, &item, on_link, self);
    zloop_poller_set_tolerant(self->loop, &item);
    self->watched_link = item.fd;
}

static int on_init(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    kernel_link_t *self = arg;

    (void) loop;
    (void) item;
    if (!self->kernel)
        return 0;
    if (kernel_read_end(self->kernel, &self->end)) {
        self->ops->on_end(self->arg);
    } else if (kernel_init_fd(self->kernel) < 0) {
        unwatch(self, &self->watched_init);
        self->ops->on_silent(self->arg);
    }
    return 0;
}

static int on_pidfd(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    kernel_link_t *self = arg;

    (void) loop;
    (void) item;
    if (!self->kernel)
        return 0;
    kernel_link_read_end(self);
    self->ops->on_end(self->arg);
    return 0;
}

static int on_status(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    kernel_link_t *self = arg;

    (void) loop;
    (void) item;
    self->ops->on_status(self->arg);
    return 0;
}

/* ---- the kernel ---- */

int kernel_link_open(kernel_link_t *self, const char *folder, bool shares_user,
                     fault_t *fault)
{
    int r = kernel_new(folder, shares_user, &self->kernel, fault);

    if (r < 0)
        return r;
    self->watched_init = kernel_init_fd(self->kernel);
    watch(self, self->watched_init, on_init);
    return 0;
}

static void watch_process(kernel_link_t *self)
{
    self->watched_pidfd = kernel_pidfd(self->kernel);
    watch(self, self->watched_pidfd, on_pidfd);
}

void kernel_link_set_process(kernel_link_t *self, pid_t pid, int pidfd)
{
    kernel_set_process(self->kernel, pid, pidfd);
    watch_process(self);
}

int kernel_link_adopt(kernel_link_t *self, pid_t pid, uint64_t start_time,
                      fault_t *fault)
{
    int r = kernel_adopt_process(self->kernel, pid, start_time, fault);

    if (r == 0)
        watch_process(self);
    return r;
}

kernel_t *kernel_link_kernel(const kernel_link_t *self)
{
    return self->kernel;
}

bool kernel_link_has_process(const kernel_link_t *self)
{
    return self->kernel && self->watched_pidfd >= 0;
}

void kernel_link_unwatch(kernel_link_t *self)
{
    unwatch_link(self);
    unwatch(self, &self->watched_init);
    unwatch(self, &self->watched_pidfd);
}

void kernel_link_close(kernel_link_t *self)
{
    if (self->kernel)
        kernel_kill(self->kernel);
    kernel_destroy(&self->kernel);
}

const kernel_end_t *kernel_link_end(const kernel_link_t *self)
{
    return &self->end;
}

void kernel_link_read_end(kernel_link_t *self)
{
    if (self->kernel)
        kernel_read_end(self->kernel, &self->end);
}

/* ---- the launch ---- */

void kernel_link_watch_status(kernel_link_t *self, int fd)
{
    self->status_fd = fd;
    watch(self, fd, on_status);
}

void kernel_link_forget_status(kernel_link_t *self)
{
    zmq_pollitem_t item = {.fd = self->status_fd};

    if (self->status_fd < 0)
        return;
    zloop_poller_end(self->loop, &item);
    close(take_fd(&self->status_fd));
}

int kernel_link_read_status(kernel_link_t *self, fault_t *ret_fault)
{
    ssize_t size;

    if (self->status_fd < 0)
        return 0;
    size = read(self->status_fd, ret_fault, sizeof *ret_fault);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    kernel_link_forget_status(self);
    return size == (ssize_t) sizeof *ret_fault;
}

/* ---- the link ---- */

int kernel_link_connect(kernel_link_t *self, const char *folder, fault_t *fault)
{
    int r = kernel_link_is_connected(self)
                ? 0
                : kernel_reconnect(self->kernel, folder, fault);

    if (r < 0 || (r = kernel_hello(self->kernel, self->seq, fault)) < 0)
        return r;
    watch_link(self);
    return 0;
}

void kernel_link_cut(kernel_link_t *self)
{
    unwatch_link(self);
    if (self->kernel)
        kernel_disconnect(self->kernel);
}

bool kernel_link_is_connected(const kernel_link_t *self)
{
    return self->kernel && kernel_link_fd(self->kernel) >= 0;
}

void kernel_link_hold(kernel_link_t *self, bool is_held)
{
    self->is_held = is_held;
    if (kernel_link_is_connected(self))
        watch_link(self);
}

int kernel_link_send(kernel_link_t *self, const frame_t *frame, fault_t *fault)
{
    int r = kernel_send(self->kernel, frame, fault);

    /* An acknowledgement that was not urgent goes along. */
    if (r == 0 && self->acked_seq == self->seq)
        self->unacked_bytes = 0;
    mind(self);
    return r;
}

int kernel_link_keep(kernel_link_t *self, int listener, fault_t *fault)
{
    int r = kernel_keep(self->kernel, listener, fault);

    mind(self);
    return r;
}

/* ---- acknowledgements ---- */

void kernel_link_note(kernel_link_t *self, uint64_t seq, size_t bytes)
{
    self->seq = seq;
    self->unacked_bytes += bytes;
}

void kernel_link_note_dropped(kernel_link_t *self, size_t bytes)
{
    self->unacked_bytes += bytes;
}

uint64_t kernel_link_seq(const kernel_link_t *self)
{
    return self->seq;
}

void kernel_link_set_seq(kernel_link_t *self, uint64_t seq)
{
    self->seq = self->acked_seq = seq;
}

void kernel_link_reset(kernel_link_t *self)
{
    kernel_link_set_seq(self, 0);
    self->end = (kernel_end_t){0};
}

void kernel_link_acknowledge(kernel_link_t *self)
{
    bool is_urgent = self->unacked_bytes > UNACKED_MAX;
    fault_t fault;
    int r;

    if (self->acked_seq == self->seq || !self->kernel)
        return;
    r = kernel_acknowledge(self->kernel, self->seq, is_urgent, &fault);
    mind(self);
    if (r < 0)
        return;
    self->acked_seq = self->seq;
    if (is_urgent)
        self->unacked_bytes = 0;
}
