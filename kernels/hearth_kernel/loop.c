/* Everything here lives on the caller's stack, in pages that are written to
 * anyway, and allocates nothing. One thread, without Python: neither its
 * handlers of signals run nor anybody's hooks, which the caller has run before
 * and which are owed in the payload alone. */
#include "kernels/hearth_kernel/loop.h"

#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

typedef struct {
    const sandbox_t *sandbox;
    int gateway_fd;
    int mapper_fd;
    int fds[FD_PASS_MAX]; /* owned; of the order that is served */
    size_t fd_count;
} served_t;

static void set_reaping(void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGCHLD, &action, NULL);
}

/* While it waits the system reaps. Not while it launches: the pid of a child
 * that has just ended must not be another's yet. */
static ssize_t await_order(served_t *self, loop_t *loop, fault_t *fault)
{
    ssize_t size;

    set_reaping(SIG_IGN);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    size = fd_receive(self->gateway_fd, loop->datagram, sizeof loop->datagram,
                      self->fds, FD_PASS_MAX, &self->fd_count, fault);
    set_reaping(SIG_DFL);
    return size;
}

/* Whether there is nobody left to tell. */
static bool has_gone(int code)
{
    return code == EPIPE || code == ECONNRESET;
}

static int answer(const served_t *self, const order_answer_t *said, int pidfd,
                  fault_t *fault)
{
    return fd_send(self->gateway_fd, said, sizeof *said, &pidfd, pidfd >= 0,
                   fault);
}

/* 1 in the payload. */
static int launch(served_t *self, loop_t *loop, fault_t *fault)
{
    const order_t *order = &loop->order;
    const sandbox_launch_t wanted = {
        .workspace_fd = self->fds[0],
        .link_fd = loop->link_fd,
        .init_fd = self->fds[2],
        .status_fd = loop->status_fd,
        .host_uid = order->host_uid,
        .host_gid = order->host_gid,
        .init_uid = order->init_uid,
        .init_gid = order->init_gid,
        .limits = &order->limits,
        .cgroup_fds = self->fds + ORDER_FDS,
        .cgroup_count = self->fd_count - ORDER_FDS,
        .is_cgroup_folder =
            order->has_cgroup_folder != 0 && self->fd_count > ORDER_FDS,
        .orphan_seconds = order->orphan_seconds,
        .hostname = loop->texts.hostname,
        .mapper_fd = self->mapper_fd,
        .keeps_status = true,
        .awaits_later = true,
    };
    order_answer_t said = {.protocol = ORDER_PROTOCOL, .number = order->number};
    sandbox_child_t child = {.fd = -1, .processor = -1};
    cleanup_fd int pidfd = -1;
    int failed, r;

    failed = sandbox_fork(self->sandbox, &wanted, &child, &said.fault);
    if (failed == 0 && child.pid == 0) {
        loop->init_fd = child.fd;
        return 1;
    }
    pidfd = child.fd;
    said.pid = child.pid;
    said.processor = child.processor;
    r = answer(self, &said, pidfd, fault);
    /* The mapper has ended: so will all other launches. */
    if (r == 0 && failed == -ECHILD) {
        *fault = said.fault;
        return failed;
    }
    return r;
}

static int serve(served_t *self, loop_t *loop, ssize_t size, fault_t *fault)
{
    int r = order_decode(loop->datagram, (size_t) size, &loop->order,
                         &loop->texts, fault);

    if (r < 0)
        return r;
    if (self->fd_count < ORDER_FDS)
        return fault_set(fault, EPROTO,
                         "an order with %zu descriptors, %d are wanted",
                         self->fd_count, ORDER_FDS);
    loop->link_fd = self->fds[1];
    loop->status_fd = self->fds[3];
    return launch(self, loop, fault);
}

int loop_run(loop_t *self, const sandbox_t *sandbox, int gateway_fd,
             int mapper_fd, fault_t *fault)
{
    served_t served = {
        .sandbox = sandbox, .gateway_fd = gateway_fd, .mapper_fd = mapper_fd};
    ssize_t size;
    int r = 0;

    while (r == 0) {
        size = await_order(&served, self, fault);
        if (size <= 0)
            r = (int) size;
        else
            r = serve(&served, self, size, fault);
        if (r == 1)
            return r; /* the sandbox has closed what is not the payload's */
        for (size_t i = 0; i < served.fd_count; i++)
            close(served.fds[i]);
        served.fd_count = 0;
        if (size == 0)
            return 0;
    }
    return has_gone(-r) ? 0 : r;
}
