/* hearth-init, pid 1 of a sandbox. It reaps processes, reports to the gateway
 * how the payload ended, and passes on the gateway's signals
 * (docs/design/PROTOCOL.init.md). It has one listening socket, at most one
 * connection, and one payload. When it ends, the system ends all processes that
 * are left.
 *
 * It is a program of its own, so that no memory of the zygote is in it, and has
 * no C library (bare.h). It is started from a sealed copy with an empty
 * environment. It hides itself, loads its filter and only then lets the payload
 * go on. It allocates nothing and trusts no process inside: it reads one byte
 * from the payload, once.
 *
 * The arguments are numbers: the listener, the status pipe, the socket to the
 * payload, the payload's pid, orphan_seconds, and 1 to hide, 0 not to. */
#include "sandbox/init/bare.h"

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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define EXIT_NOT_ENTERED 70 /* as in launch.c */
#define COMMANDS_MAX     16 /* that are read at once */
/* How long the first gateway is waited for. It connects while the sandbox is
 * made, so one that does not come has ended, and no client has the session. */
#define FIRST_MS 60000

#if defined __x86_64__
#define OWN_ARCH AUDIT_ARCH_X86_64
#define NR_LIMIT 0x40000000 /* from here on: x32 */
#elif defined __aarch64__
#define OWN_ARCH AUDIT_ARCH_AARCH64
#define NR_LIMIT 0x40000000
#else
#error which number has this architecture in a filter?
#endif

/* The system calls that pid 1 makes from now on; all others get EPERM. */
static const uint32_t calls[] = {
    __NR_accept4,      __NR_clock_gettime, __NR_close,
    __NR_exit_group,   __NR_kill,          __NR_ppoll,
    __NR_read,         __NR_recvfrom,      __NR_restart_syscall,
    __NR_rt_sigreturn, __NR_sendto,        __NR_wait4,
    __NR_write,
};

#define CALLS         (sizeof calls / sizeof calls[0])
#define FILTER_LENGTH (7 + CALLS)

typedef struct {
    int signal_fd;        /* readable when a child ended */
    int listener;         /* the gateway connects here */
    int gateway;          /* the connection; -1: none */
    pid_t payload;        /* 0: it has ended */
    int64_t orphan_ms;    /* how long to live without a gateway; 0: for ever */
    int64_t patience_ms;  /* the same; shorter before the first gateway */
    int64_t orphan_since; /* when the last gateway went, monotonic ms */
    bool is_unowned;      /* pid 1 ends everything when the gateway ends */
    char line[96];        /* the line for the gateway */
    size_t size;          /* bytes of the line */
} init_t;
enum {
    WATCH_SIGNAL,
    WATCH_LISTENER,
    WATCH_GATEWAY,
    WATCHES
};

static _Noreturn void end(int status)
{
    for (;;)
        CALL1(__NR_exit_group, status);
}

static void signal_process(pid_t pid, int number)
{
    CALL2(__NR_kill, pid, number);
}

static int64_t now_ms(void)
{
    struct timespec now = {0};

    CALL2(__NR_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static _Noreturn void end_all(void)
{
    signal_process(-1, SIGKILL);
    end(0);
}

static void drop_gateway(init_t *self)
{
    if (self->gateway < 0)
        return;
    if (self->is_unowned)
        end_all();
    CALL1(__NR_close, self->gateway);
    self->gateway = -1;
    self->orphan_since = now_ms();
}

/* Sends the line; after the last line pid 1 has done its work. */
static void send_line(init_t *self)
{
    if (self->gateway < 0)
        return;
    /* So few bytes fit into any live connection whose peer reads. */
    if (CALL6(__NR_sendto, self->gateway, self->line, self->size,
              MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0)
        != (long) self->size)
        drop_gateway(self);
    else if (self->payload == 0)
        end_all();
}

static void obey(init_t *self, char command)
{
    switch (command) {
    case 'O':
        self->is_unowned = false;
        break;
    case 'U':
        self->is_unowned = true;
        break;
    case 'K':
        self->is_unowned = true;
        signal_process(-1, SIGKILL);
        break;
    case 'I':
    case 'T':
        if (self->payload != 0)
            signal_process(-self->payload, command == 'I' ? SIGINT : SIGTERM);
        break;
    default:
        drop_gateway(self);
    }
}

/* Reads the commands that are there: those before the end of the connection
 * hold, too. */
static void on_gateway(init_t *self)
{
    char commands[COMMANDS_MAX];
    long got = CALL6(__NR_recvfrom, self->gateway, commands, sizeof commands,
                     MSG_DONTWAIT, 0, 0);

    if (got == -EAGAIN || got == -EINTR)
        return;
    if (got <= 0)
        drop_gateway(self);
    for (long i = 0; i < got && self->gateway >= 0; i++)
        obey(self, commands[i]);
}

static void on_listener(init_t *self)
{
    int fd = (int) CALL4(__NR_accept4, self->listener, 0, 0, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    /* The newer gateway is the one that lives. */
    drop_gateway(self);
    self->patience_ms = self->orphan_ms;
    self->gateway = fd;
    /* It may have given its commands and gone already. */
    on_gateway(self);
    send_line(self);
}

/* Sets the line: a word, and numbers with a space before each. */
static void set_line(init_t *self, const char *word, const int64_t *numbers,
                     size_t count)
{
    text_t text = text_begin(self->line, sizeof self->line);

    text_add(&text, word);
    for (size_t i = 0; i < count; i++) {
        text_add(&text, " ");
        text_number(&text, numbers[i]);
    }
    text_add(&text, "\n");
    self->size = (size_t) (text.at - self->line);
}

static void on_payload_end(init_t *self, int status, const struct rusage *used)
{
    bool killed = WIFSIGNALED(status);
    const int64_t numbers[] = {
        killed ? WTERMSIG(status) : WEXITSTATUS(status),
        (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000LL
            + (used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1000,
        used->ru_maxrss,
    };

    self->payload = 0;
    signal_process(-1, SIGKILL);
    set_line(self, killed ? "signal" : "exit", numbers, 3);
    send_line(self);
}

static void on_child(init_t *self)
{
    struct signalfd_siginfo ignored;
    struct rusage used = {0};
    int status = 0;
    pid_t pid;

    /* Only to clear it: one signal may stand for several children. */
    long got = CALL3(__NR_read, self->signal_fd, &ignored, sizeof ignored);

    if (got < 0 && got != -EAGAIN)
        return;
    while ((pid = (pid_t) CALL4(__NR_wait4, -1, &status, WNOHANG, &used)) > 0)
        if (pid == self->payload)
            on_payload_end(self, status, &used);
}

/* Returns how long to wait; NULL: for ever. Ends everything if the time is
 * over. */
static const struct timespec *patience(const init_t *self,
                                       struct timespec *buffer)
{
    int64_t left;

    if (self->gateway >= 0 || self->patience_ms == 0)
        return NULL;
    left = self->orphan_since + self->patience_ms - now_ms();
    if (left <= 0)
        end_all();
    buffer->tv_sec = left / 1000;
    buffer->tv_nsec = left % 1000 * 1000000;
    return buffer;
}

static _Noreturn void serve(init_t *self)
{
    const int64_t payload = self->payload;

    set_line(self, "running", &payload, 1);
    for (;;) {
        struct timespec left;
        struct pollfd watches[WATCHES] = {
            [WATCH_SIGNAL] = {self->signal_fd, POLLIN, 0},
            [WATCH_LISTENER] = {self->listener, POLLIN, 0},
            [WATCH_GATEWAY] = {self->gateway, POLLIN, 0},
        };

        if (CALL5(__NR_ppoll, watches, WATCHES, patience(self, &left), 0, 0)
            < 0)
            continue;
        /* The old connection comes before a newer gateway: commands that it has
         * sent still hold. */
        if (watches[WATCH_GATEWAY].revents != 0)
            on_gateway(self);
        if (watches[WATCH_SIGNAL].revents != 0)
            on_child(self);
        if (watches[WATCH_LISTENER].revents != 0)
            on_listener(self);
    }
}

static _Noreturn void give_up(int status_fd, const char *what, long code)
{
    fault_t fault = {(int) -code, ""};
    text_t text = text_begin(fault.text, sizeof fault.text);

    text_add(&text, "sandbox: pid 1: ");
    text_add(&text, what);
    text_add(&text, ": the system's error ");
    text_number(&text, fault.code);
    end(CALL3(__NR_write, status_fd, &fault, sizeof fault) < 0
            ? EXIT_NOT_ENTERED + 1
            : EXIT_NOT_ENTERED);
}

#define LOAD(member)                                                           \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF(test, value, then, otherwise)                                       \
    BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (then), (otherwise))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

/* Loads the filter: a foreign architecture ends the process, then one
 * comparison for each call follows. */
static long load_filter(void)
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
    return CALL3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Hides pid 1 from the processes inside, which may have the same user. */
static void hide(int status_fd)
{
    long r = CALL5(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);

    if (r < 0)
        give_up(status_fd, "dumpable", r);
}

static int watch_children(int status_fd)
{
    /* A signal set as the kernel takes it: bit 0 is signal 1. */
    const uint64_t child = 1ULL << (SIGCHLD - 1);
    long fd = CALL4(__NR_signalfd4, -1, &child, sizeof child,
                    SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        give_up(status_fd, "signalfd", fd);
    return (int) fd;
}

/* Lets the payload go on once pid 1 is hidden, and waits until it has entered
 * the sandbox. A payload that could not enter has reported why through the
 * status pipe. */
static void let_in(int payload_fd, int status_fd)
{
    char byte = 0;

    if (CALL3(__NR_write, payload_fd, &byte, 1) != 1
        || CALL3(__NR_read, payload_fd, &byte, 1) != 1)
        end(EXIT_NOT_ENTERED);
    CALL1(__NR_close, payload_fd);
    CALL1(__NR_close, status_fd);
}

void bare_main(const long *stack)
{
    const char *const *argv = (const char *const *) (stack + 1);
    int numbers[6];
    init_t self = {.gateway = -1};
    long r;

    if (stack[0] != 7)
        end(EXIT_NOT_ENTERED);
    for (int i = 0; i < 6; i++)
        numbers[i] = number_of(argv[i + 1]);
    if (numbers[5])
        hide(numbers[1]);
    if ((r = CALL5(__NR_prctl, PR_SET_NAME, "hearth-init", 0, 0, 0)) < 0)
        give_up(numbers[1], "name", r);
    self.listener = numbers[0];
    self.payload = numbers[3];
    self.orphan_ms = numbers[4] * 1000LL;
    self.patience_ms = self.orphan_ms == 0 || self.orphan_ms > FIRST_MS
                           ? FIRST_MS
                           : self.orphan_ms;
    self.orphan_since = now_ms();
    self.signal_fd = watch_children(numbers[1]);
    if ((r = load_filter()) < 0)
        give_up(numbers[1], "filter: seccomp", r);
    let_in(numbers[2], numbers[1]);
    serve(&self);
}
