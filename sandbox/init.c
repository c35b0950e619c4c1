/* hearth-init, pid 1 of a sandbox: reaps, tells the gateway how the payload
 * ended, and passes on its signals (docs/PROTOCOL.init.md). It has one
 * listening socket, one connection at most, and one payload; when it ends, the
 * system ends all that is left.
 *
 * A program of its own, so that nothing of the zygote's memory is in it; it is
 * started from a sealed copy with an empty environment, hides itself, takes
 * its filter and only then lets the payload go on. It allocates nothing and
 * trusts nobody inside: of the payload it reads one byte, once.
 *
 * Arguments, all numbers: the listener, the status pipe, the socket to the
 * payload, the payload's pid, orphan_seconds, and 1 to hide, 0 not to. */
#include "base/fault.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_NOT_ENTERED 70 /* as in launch.c */

#if defined __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#define NR_LIMIT 0x40000000 /* from here on: x32 */
#elif defined __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#define NR_LIMIT 0x40000000
#else
#error which number has this architecture in a filter?
#endif

/* What is called from now on; what is not here gets EPERM. */
static const uint32_t calls[] = {
    __NR_accept4,      __NR_clock_gettime, __NR_close,
    __NR_exit_group,   __NR_kill,          __NR_ppoll,
    __NR_read,         __NR_recvfrom,      __NR_restart_syscall,
    __NR_rt_sigreturn, __NR_sendto,        __NR_wait4,
    __NR_write,
#ifdef __NR_poll
    __NR_poll,
#endif
};

#define CALLS         (sizeof calls / sizeof calls[0])
#define FILTER_LENGTH (7 + CALLS)

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

static _Noreturn void serve(init_t *self)
{
    snprintf(self->line, sizeof self->line, "running %d\n",
             (int) self->payload);
    for (;;) {
        struct pollfd watches[WATCHES] = {
            [WATCH_SIGNAL] = {self->signal_fd, POLLIN, 0},
            [WATCH_LISTENER] = {self->listener, POLLIN, 0},
            [WATCH_GATEWAY] = {self->gateway, POLLIN, 0},
        };

        if (poll(watches, WATCHES, patience(self)) < 0)
            continue;
        /* The gateway's word before a newer gateway: what it sent before it
         * went still holds. */
        if (watches[WATCH_GATEWAY].revents != 0)
            on_gateway(self);
        if (watches[WATCH_SIGNAL].revents != 0)
            on_child(self);
        if (watches[WATCH_LISTENER].revents != 0)
            on_listener(self);
    }
}

static _Noreturn void give_up(int status_fd, const char *what)
{
    fault_t fault = {errno, ""};

    snprintf(fault.text, sizeof fault.text, "sandbox: pid 1: %s: %s", what,
             strerror(fault.code));
    _exit(write(status_fd, &fault, sizeof fault) < 0 ? EXIT_NOT_ENTERED + 1
                                                     : EXIT_NOT_ENTERED);
}

#define LOAD(member)                                                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(test, value, then, otherwise)                                       \
    BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (then), (otherwise))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

/* Foreign architecture: the end. Then one comparison a call. */
static int load_filter(void)
{
    const struct sock_filter head[] = {
        LOAD(arch),
        IF(BPF_JEQ, OWN_ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        IF(BPF_JGE, NR_LIMIT, 0, 0),
    };
    const struct sock_filter tail[] = {
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_filter code[FILTER_LENGTH];
    const struct sock_fprog program = {FILTER_LENGTH, code};

    memcpy(code, head, sizeof head);
    /* Past all comparisons: to the answer that refuses. */
    code[4].jt = CALLS;
    for (size_t i = 0; i < CALLS; i++)
        code[5 + i] = (struct sock_filter) IF(BPF_JEQ, calls[i],
                                              (uint8_t) (CALLS - i), 0);
    memcpy(code + 5 + CALLS, tail, sizeof tail);
    return (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Nobody inside may look into pid 1, which may have the payload's user. */
static void hide(int status_fd)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        give_up(status_fd, "dumpable");
}

static int watch_children(int status_fd)
{
    sigset_t child;
    int fd;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        give_up(status_fd, "signalfd");
    return fd;
}

/* The payload goes on when we are hidden, and is entered when it says so; one
 * that could not enter has told the status pipe why. */
static void let_in(int payload_fd, int status_fd)
{
    char byte = 0;

    if (write(payload_fd, &byte, 1) != 1 || read(payload_fd, &byte, 1) != 1)
        _exit(EXIT_NOT_ENTERED);
    close(payload_fd);
    close(status_fd);
}

int main(int argc, char **argv)
{
    int numbers[6];
    init_t self = {.gateway = -1};

    if (argc != 7)
        return EXIT_NOT_ENTERED;
    for (int i = 0; i < 6; i++)
        numbers[i] = (int) strtol(argv[i + 1], NULL, 10);
    if (numbers[5])
        hide(numbers[1]);
    if (prctl(PR_SET_NAME, "hearth-init", 0, 0, 0) < 0)
        give_up(numbers[1], "name");
    self.listener = numbers[0];
    self.payload = numbers[3];
    self.orphan_ms = numbers[4] * 1000LL;
    self.orphan_since = now_ms();
    self.signal_fd = watch_children(numbers[1]);
    if (load_filter() < 0)
        give_up(numbers[1], "filter");
    let_in(numbers[2], numbers[1]);
    serve(&self);
}
