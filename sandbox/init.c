/* Pid 1 of the sandbox: reaps, tells the gateway how the payload ended, and
 * passes on its signals (docs/PROTOCOL.init.md). It has one listening socket,
 * one connection at most, and one payload; when it ends, the system ends all
 * that is left. Its code runs in the image of the zygote's process, so it calls
 * nothing that allocates, and its filter would not let it.
 *
 * It trusts nobody inside: it reads nothing from the payload. */
#include "sandbox/internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    int signal_fd;        /* readable when a child ended */
    int listener;         /* the gateway connects here */
    int gateway;          /* the connection; -1: none */
    pid_t payload;        /* 0: it has ended */
    int64_t orphan_ms;    /* how long without a gateway; 0: for ever */
    int64_t orphan_since; /* when the last one went, monotonic ms */
    char line[96];        /* what a gateway is told */
} init_t;

enum {
    WATCH_SIGNAL,
    WATCH_LISTENER,
    WATCH_GATEWAY,
    WATCHES
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void drop_gateway(init_t *self)
{
    if (self->gateway < 0)
        return;
    close(self->gateway);
    self->gateway = -1;
    self->orphan_since = now_ms();
}

static _Noreturn void end_all(void)
{
    kill(-1, SIGKILL);
    _exit(0);
}

/* Tells the line; after the last one there is nothing left to do. */
static void tell(init_t *self)
{
    size_t size = strlen(self->line);

    if (self->gateway < 0)
        return;
    /* So little always fits into a live connection that is read at all. */
    if (send(self->gateway, self->line, size, MSG_NOSIGNAL | MSG_DONTWAIT)
        != (ssize_t) size)
        drop_gateway(self);
    else if (self->payload == 0)
        end_all();
}

static void on_gateway(init_t *self)
{
    char command;
    ssize_t got = recv(self->gateway, &command, 1, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop_gateway(self);
        return;
    }
    if (command == 'K')
        kill(-1, SIGKILL);
    else if (self->payload == 0)
        return;
    else if (command == 'I')
        kill(-self->payload, SIGINT);
    else if (command == 'T')
        kill(-self->payload, SIGTERM);
    else
        drop_gateway(self);
}

static void on_listener(init_t *self)
{
    int fd = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    /* The newer gateway is the one that lives. */
    drop_gateway(self);
    self->gateway = fd;
    /* It may have given its order and gone already. */
    on_gateway(self);
    tell(self);
}

static void on_payload_end(init_t *self, int status, const struct rusage *used)
{
    long long cpu_ms =
        (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000LL
        + (used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1000;
    bool killed = WIFSIGNALED(status);

    self->payload = 0;
    kill(-1, SIGKILL);
    snprintf(self->line, sizeof self->line, "%s %d %lld %ld\n",
             killed ? "signal" : "exit",
             killed ? WTERMSIG(status) : WEXITSTATUS(status), cpu_ms,
             used->ru_maxrss);
    tell(self);
}

static void on_child(init_t *self)
{
    struct signalfd_siginfo ignored;
    struct rusage used;
    int status;
    pid_t pid;

    /* Only to clear it: one signal may stand for several children. */
    if (read(self->signal_fd, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
        return;
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
        if (pid == self->payload)
            on_payload_end(self, status, &used);
}

/* How long to wait, in poll's way; ends everything when it is too late. */
static int patience(const init_t *self)
{
    int64_t left;

    if (self->gateway >= 0 || self->orphan_ms == 0)
        return -1;
    left = self->orphan_since + self->orphan_ms - now_ms();
    if (left <= 0)
        end_all();
    return left > 60000 ? 60000 : (int) left;
}

void init_run(int signal_fd, int listener, pid_t payload,
              unsigned orphan_seconds)
{
    init_t self = {signal_fd, listener, -1, payload, orphan_seconds * 1000LL,
                   now_ms(),  ""};

    snprintf(self.line, sizeof self.line, "running %d\n", (int) payload);
    for (;;) {
        struct pollfd watches[WATCHES] = {
            [WATCH_SIGNAL] = {self.signal_fd, POLLIN, 0},
            [WATCH_LISTENER] = {self.listener, POLLIN, 0},
            [WATCH_GATEWAY] = {self.gateway, POLLIN, 0},
        };

        if (poll(watches, WATCHES, patience(&self)) < 0)
            continue;
        /* The gateway's word before a newer gateway: what it sent before it
         * went still holds. */
        if (watches[WATCH_GATEWAY].revents != 0)
            on_gateway(&self);
        if (watches[WATCH_SIGNAL].revents != 0)
            on_child(&self);
        if (watches[WATCH_LISTENER].revents != 0)
            on_listener(&self);
    }
}
