/* See loop.h. Everything here is on the caller's stack, in pages that are
 * written to anyway, and nothing is allocated. There is one thread, and no
 * Python code runs: neither its signal handlers nor fork hooks. The caller has
 * run the hooks before the fork, and the payload runs those for after it. */
#include "kernels/hearth_kernel/sandbox/loop.h"

#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

typedef struct {
    const sandbox_t *sandbox;
    int gateway_fd;
    int mapper_fd;
    fd_list_t list; /* owned; of the request that is served */
} served_t;

static void set_reaping(void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGCHLD, &action, NULL);
}

/* Waits for a request. The system reaps children meanwhile, but not during a
 * launch. The pid of a child that has just ended must not be another's yet. */
static ssize_t await_request(served_t *self, loop_t *loop, fault_t *fault)
{
    ssize_t size;

    set_reaping(SIG_IGN);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    size = fd_receive(self->gateway_fd, loop->datagram, sizeof loop->datagram,
                      FD_PASS_MAX, &self->list, fault);
    set_reaping(SIG_DFL);
    return size;
}

/* Returns true if no gateway is left to report to. */
static bool has_gone(int code)
{
    return code == EPIPE || code == ECONNRESET;
}

static int answer(const served_t *self, const zygote_reply_t *said, int pidfd,
                  fault_t *fault)
{
    return fd_send(self->gateway_fd, said, sizeof *said, &pidfd, pidfd >= 0,
                   fault);
}

/* Returns 1 in the payload. */
static int launch(served_t *self, loop_t *loop, fault_t *fault)
{
    const zygote_request_t *request = &loop->request;
    const sandbox_launch_t wanted = {
        .workspace_fd = self->list.fds[0],
        .link_fd = loop->link_fd,
        .init_fd = self->list.fds[2],
        .status_fd = loop->status_fd,
        .host_uid = request->host_uid,
        .host_gid = request->host_gid,
        .init_uid = request->init_uid,
        .init_gid = request->init_gid,
        .limits = &request->limits,
        .cgroup_fds = self->list.fds + ZYGOTE_REQUEST_FDS,
        .cgroup_count = self->list.count - ZYGOTE_REQUEST_FDS,
        .is_cgroup_folder = request->has_cgroup_folder != 0
                            && self->list.count > ZYGOTE_REQUEST_FDS,
        .orphan_seconds = request->orphan_seconds,
        .hostname = loop->texts.hostname,
        .mapper_fd = self->mapper_fd,
        .keeps_status = true,
        .awaits_later = true,
    };
    zygote_reply_t said = {.protocol = ZYGOTE_PROTOCOL,
                           .number = request->number};
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
    int r = zygote_request_decode(loop->datagram, (size_t) size, &loop->request,
                                  &loop->texts, fault);

    if (r < 0)
        return r;
    if (self->list.count < ZYGOTE_REQUEST_FDS)
        return fault_set(fault, EPROTO,
                         "a zygote request with %zu descriptors instead of %d",
                         self->list.count, ZYGOTE_REQUEST_FDS);
    loop->link_fd = self->list.fds[1];
    loop->status_fd = self->list.fds[3];
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
        size = await_request(&served, self, fault);
        if (size <= 0)
            r = (int) size;
        else
            r = serve(&served, self, size, fault);
        if (r == 1)
            return r; /* the sandbox has closed what is not the payload's */
        for (size_t i = 0; i < served.list.count; i++)
            close(served.list.fds[i]);
        served.list.count = 0;
        if (size == 0)
            return 0;
    }
    return has_gone(-r) ? 0 : r;
}
