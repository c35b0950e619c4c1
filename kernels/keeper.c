/* hearth-keeper: watches one process beside a kernel. The kernel's link starts
 * it inside the sandbox, below the same walls and limits as the code of the
 * session. It gets one descriptor, a listening socket to which the gateway
 * connects now or after a restart (docs/design/PROTOCOL.process.md).
 *
 * It is a subreaper: all that the process starts stays below it and ends with
 * it. It holds the output that the gateway has not taken. When that is much, it
 * reads no more, and the process waits when it writes. The time limit holds
 * without a gateway, too. Code of the session may kill a keeper: the process
 * ends with it, and the processes that it has started live until the session
 * ends. */
#include "base/clock.h"
#include "kernels/keeper_child.h"
#include "kernels/output_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENER  3     /* the descriptor that it is started with */
#define START_MS  30000 /* START has to come within it */
#define GRACE_MS  2000  /* from SIGTERM to SIGKILL, past the time limit */
#define AGAIN_MS  20    /* descendants that were missed are killed then */
#define FLUSH_MS  1000  /* for output that others than descendants hold open */
#define READ_SIZE KEEPER_PIECE_MAX

typedef enum {
    PHASE_WAITING, /* START has not come */
    PHASE_RUNNING,
    PHASE_EXITED, /* the process itself; its descendants may live */
    PHASE_OVER,   /* no descendant is left */
} phase_t;

typedef struct {
    int gateway;   /* owned; -1 if no gateway is connected */
    int signal_fd; /* owned; readable when a child has ended */
    phase_t phase;
    bool is_end_sent; /* ENDED was sent on this connection */
    bool input_ends;  /* after what waits */
    keeper_child_t child;
    keeper_cause_t cause;
    keeper_message_t end;    /* ENDED, once it has exited */
    output_ring_t *ring;     /* owned */
    buffer_t input;          /* what the process has not read yet */
    uint64_t input_taken;    /* bytes that it has been written */
    uint64_t input_reported; /* as many were last sent as INPUT_TAKEN */
    bool is_unread;          /* the process has closed its input */
    bool is_unread_reported; /* INPUT_TAKEN has said so */
    int64_t limit_at;        /* monotonic ms; its time is over; 0: never */
    int64_t kill_at;         /* SIGKILL for what is left; 0: not yet */
    int64_t flush_at;        /* its output is given up; 0: no time runs */
    buffer_t out;            /* scratch of a message */
    uint8_t bytes[KEEPER_SIZE_MAX];
} keeper_t;

/* ---- messages to the gateway ---- */

static void drop_gateway(keeper_t *self)
{
    if (self->gateway >= 0)
        close(self->gateway);
    self->gateway = -1;
    self->is_end_sent = false;
}

/* Returns false if the socket is full: the message was not sent. */
static bool emit(keeper_t *self, const keeper_message_t *message)
{
    if (self->gateway < 0)
        return false;
    keeper_encode(message, &self->out);
    if (send(self->gateway, self->out.data, self->out.size,
             MSG_NOSIGNAL | MSG_DONTWAIT)
        == (ssize_t) self->out.size)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
        drop_gateway(self);
    return false;
}

static void emit_output(keeper_t *self)
{
    output_piece_t piece;

    while (output_ring_next(self->ring, &piece)
           && emit(self, &(keeper_message_t){KEEPER_OUTPUT,
                                             {piece.offset, piece.stream},
                                             piece.bytes}))
        output_ring_sent(self->ring);
}

/* Reports how much of the input the process has read, and how much has come: a
 * new gateway does not know how much an earlier one has sent. */
static void send_input_taken(keeper_t *self)
{
    const keeper_message_t message = {KEEPER_INPUT_TAKEN,
                                      {self->input_taken,
                                       self->input_taken + self->input.size,
                                       self->is_unread},
                                      {0}};

    if (!emit(self, &message))
        return;
    self->input_reported = self->input_taken;
    self->is_unread_reported = self->is_unread;
}

/* Returns true if the gateway has to hear about the input. */
static bool owes_input_taken(const keeper_t *self)
{
    return self->input_reported != self->input_taken
           || self->is_unread_reported != self->is_unread;
}

static bool is_flushed(const keeper_t *self)
{
    return self->child.outputs[0] < 0 && self->child.outputs[1] < 0;
}

/* Returns true if only ENDED is left to send. */
static bool owes_end(const keeper_t *self)
{
    output_piece_t piece;

    return self->phase == PHASE_OVER && is_flushed(self) && !self->is_end_sent
           && !output_ring_next(self->ring, &piece);
}

static void emit_end(keeper_t *self)
{
    if (owes_end(self))
        self->is_end_sent = emit(self, &self->end);
}

/* Returns true if a message waits for room in the socket. */
static bool owes_message(const keeper_t *self)
{
    output_piece_t piece;

    return self->gateway >= 0
           && (owes_input_taken(self) || output_ring_next(self->ring, &piece)
               || owes_end(self));
}

/* ---- the process ---- */

static void stop(keeper_t *self, keeper_cause_t cause, int64_t grace_ms)
{
    int64_t at = clock_monotonic_ms() + grace_ms;

    if (self->kill_at && self->kill_at <= at)
        return;
    if (self->cause == KEEPER_BY_ITSELF && self->phase < PHASE_EXITED)
        self->cause = cause;
    self->limit_at = 0;
    self->kill_at = at;
    if (grace_ms > 0)
        keeper_child_signal(&self->child, SIGTERM);
}

static void start(keeper_t *self, const keeper_message_t *message)
{
    int code = 0;
    keeper_end_t end = keeper_child_start(&self->child, message, &code);

    self->phase = PHASE_RUNNING;
    self->limit_at = 0;
    if (end != KEEPER_EXITED) {
        self->end =
            (keeper_message_t){KEEPER_ENDED, {end, (uint64_t) code}, {0}};
        self->phase = PHASE_EXITED;
        keeper_child_close(&self->child);
        return;
    }
    if (message->numbers[1] > 0)
        self->limit_at = clock_monotonic_ms() + (int64_t) message->numbers[1];
    emit(self, &(keeper_message_t){
                   KEEPER_STARTED, {(uint64_t) self->child.pid}, {0}});
}

static uint64_t used_ms(const struct rusage *used)
{
    return (uint64_t) (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000
           + (uint64_t) (used->ru_utime.tv_usec + used->ru_stime.tv_usec)
                 / 1000;
}

/* Notes how the process ended. All that it has started is killed then. */
static void on_exit_of_child(keeper_t *self, int status)
{
    bool is_signalled = WIFSIGNALED(status);

    self->phase = PHASE_EXITED;
    self->end = (keeper_message_t){
        KEEPER_ENDED,
        {is_signalled ? KEEPER_SIGNALLED : KEEPER_EXITED,
         (uint64_t) (is_signalled ? WTERMSIG(status) : WEXITSTATUS(status)),
         self->cause},
        {0}};
    self->kill_at = clock_monotonic_ms();
}

static void reap(keeper_t *self)
{
    struct rusage used;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == self->child.pid && self->phase < PHASE_EXITED)
            on_exit_of_child(self, status);
    if (pid == 0 || errno != ECHILD || self->phase != PHASE_EXITED)
        return;
    self->phase = PHASE_OVER;
    getrusage(RUSAGE_CHILDREN, &used);
    self->end.numbers[3] = used_ms(&used);
}

/* Notes that nothing reads the input any more: what is sent to it is lost, and
 * counts as taken. */
static void lose_input(keeper_t *self)
{
    self->input_taken += self->input.size;
    buffer_clear(&self->input);
    self->input_ends = false;
    self->is_unread = true;
    keeper_child_end_input(&self->child);
}

static void write_input(keeper_t *self)
{
    ssize_t size;

    if (self->child.input < 0 || (!self->input.size && !self->input_ends))
        return;
    if (self->input.size) {
        size = write(self->child.input, self->input.data, self->input.size);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size < 0 && !self->child.is_terminal) {
            lose_input(self);
            return;
        }
        /* A terminal may be opened again. */
        if (size < 0)
            size = (ssize_t) self->input.size;
        buffer_consume(&self->input, (size_t) size);
        self->input_taken += (uint64_t) size;
    }
    if (self->input_ends && !self->input.size) {
        self->input_ends = false;
        keeper_child_end_input(&self->child);
    }
}

static void read_output(keeper_t *self, int which)
{
    size_t room = output_ring_room(self->ring);
    ssize_t size;

    if (room == 0)
        return;
    size = read(self->child.outputs[which], self->bytes,
                room < READ_SIZE ? room : READ_SIZE);
    if (size > 0)
        output_ring_add(self->ring, which == 0 ? KEEPER_STDOUT : KEEPER_STDERR,
                        self->bytes, (size_t) size);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        keeper_child_end_output(&self->child, which);
}

/* ---- messages of the gateway ---- */

static void on_input(keeper_t *self, bytes_t data)
{
    if (self->is_unread)
        self->input_taken += data.size;
    if (self->input_ends || self->child.input < 0
        || self->input.size + data.size > KEEPER_INPUT_MAX)
        return;
    buffer_append(&self->input, data.bytes, data.size);
    write_input(self);
}

static void on_message(keeper_t *self, const keeper_message_t *message)
{
    const uint64_t *numbers = message->numbers;

    if (message->kind == KEEPER_TAKEN)
        output_ring_taken(self->ring, numbers[0]);
    else if (message->kind == KEEPER_DISMISS)
        _exit(0);
    else if (message->kind == KEEPER_START && self->phase == PHASE_WAITING)
        start(self, message);
    else if (message->kind == KEEPER_INPUT)
        on_input(self, message->data);
    else if (message->kind == KEEPER_INPUT_END) {
        self->input_ends = true;
        write_input(self);
    } else if (message->kind == KEEPER_SIGNAL && numbers[0] == SIGKILL)
        stop(self, KEEPER_BY_ITSELF, 0);
    else if (message->kind == KEEPER_SIGNAL && self->phase < PHASE_EXITED)
        keeper_child_signal(&self->child, (int) numbers[0]);
    else if (message->kind == KEEPER_RESIZE)
        keeper_child_resize(&self->child, (unsigned) numbers[0],
                            (unsigned) numbers[1]);
    else if (message->kind == KEEPER_STOP)
        stop(self, KEEPER_BY_REQUEST, (int64_t) numbers[0]);
}

static void on_gateway(keeper_t *self)
{
    keeper_message_t message;
    fault_t fault;
    ssize_t size;

    while (self->gateway >= 0) {
        size =
            recv(self->gateway, self->bytes, sizeof self->bytes, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0
            || keeper_decode((bytes_t){self->bytes, (size_t) size}, &message,
                             &fault)
                   < 0) {
            drop_gateway(self);
            return;
        }
        on_message(self, &message);
    }
}

static void on_listener(keeper_t *self)
{
    int fd = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    /* Only the newest gateway is still alive. */
    drop_gateway(self);
    self->gateway = fd;
    output_ring_rewind(self->ring);
    emit(self, &(keeper_message_t){KEEPER_HELLO,
                                   {KEEPER_VERSION,
                                    output_ring_taken_offset(self->ring),
                                    self->phase != PHASE_WAITING,
                                    output_ring_taken_second(self->ring)},
                                   {0}});
    if (self->child.pid)
        emit(self, &(keeper_message_t){
                       KEEPER_STARTED, {(uint64_t) self->child.pid}, {0}});
    send_input_taken(self);
}

/* ---- time ---- */

/* Gives up output that stays open FLUSH_MS after the end. The time runs only
 * while the ring has room: a full ring reads nothing, and output that the
 * process has written would be lost. */
static void flush(keeper_t *self, int64_t now)
{
    if (output_ring_room(self->ring) == 0)
        self->flush_at = 0;
    else if (!self->flush_at)
        self->flush_at = now + FLUSH_MS;
    else if (now >= self->flush_at)
        keeper_child_close(&self->child);
}

static void look_at_clock(keeper_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (self->phase == PHASE_WAITING && now >= self->limit_at)
        _exit(0); /* the gateway has ended meanwhile */
    if (self->phase != PHASE_WAITING && self->limit_at && now >= self->limit_at)
        stop(self, KEEPER_BY_LIMIT, GRACE_MS);
    if (self->kill_at && self->phase != PHASE_OVER && now >= self->kill_at) {
        keeper_child_kill_all();
        self->kill_at = now + AGAIN_MS;
        reap(self);
    }
    if (self->phase == PHASE_OVER && !is_flushed(self))
        flush(self, now);
}

static int patience(const keeper_t *self)
{
    const int64_t times[] = {self->limit_at,
                             self->phase == PHASE_OVER ? 0 : self->kill_at,
                             is_flushed(self) ? 0 : self->flush_at};
    int64_t least = -1, now = clock_monotonic_ms();

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i]) {
            int64_t left = times[i] > now ? times[i] - now : 0;

            if (least < 0 || left < least)
                least = left;
        }
    return least > 1000000 ? 1000000 : (int) least;
}

enum {
    WATCH_LISTENER,
    WATCH_SIGNAL,
    WATCH_GATEWAY,
    WATCH_INPUT,
    WATCH_STDOUT,
    WATCH_STDERR,
    WATCHES
};

/* Returns what is watched of the input. A pipe that nothing reads any more has
 * an error without being asked for it. */
static struct pollfd watch_input(const keeper_t *self)
{
    bool has_input = self->input.size || self->input_ends;
    bool is_watched = has_input || !self->child.is_terminal;

    return (struct pollfd){is_watched ? self->child.input : -1,
                           has_input ? POLLOUT : 0, 0};
}

static void turn(keeper_t *self)
{
    bool has_room = output_ring_room(self->ring) > 0;
    struct pollfd watches[WATCHES] = {
        [WATCH_LISTENER] = {LISTENER, POLLIN, 0},
        [WATCH_SIGNAL] = {self->signal_fd, POLLIN, 0},
        [WATCH_GATEWAY] = {self->gateway,
                           (short) (owes_message(self) ? POLLIN | POLLOUT
                                                       : POLLIN),
                           0},
        [WATCH_INPUT] = watch_input(self),
        [WATCH_STDOUT] = {has_room ? self->child.outputs[0] : -1, POLLIN, 0},
        [WATCH_STDERR] = {has_room ? self->child.outputs[1] : -1, POLLIN, 0},
    };
    struct signalfd_siginfo ignored;

    if (poll(watches, WATCHES, patience(self)) < 0)
        return;
    if (watches[WATCH_INPUT].revents & POLLERR && !self->child.is_terminal)
        lose_input(self);
    else if (watches[WATCH_INPUT].revents)
        write_input(self);
    for (int i = 0; i < 2; i++)
        if (watches[WATCH_STDOUT + i].revents)
            read_output(self, i);
    if (watches[WATCH_SIGNAL].revents) {
        (void) !read(self->signal_fd, &ignored, sizeof ignored);
        reap(self);
    }
    if (watches[WATCH_GATEWAY].revents & ~POLLOUT)
        on_gateway(self);
    if (watches[WATCH_LISTENER].revents)
        on_listener(self);
    if (self->phase >= PHASE_EXITED)
        reap(self);
    look_at_clock(self);
    if (owes_input_taken(self))
        send_input_taken(self);
    emit_output(self);
    emit_end(self);
}

/* ---- birth ---- */

/* Leaves the kernel, which has started this program and waits for its end. If
 * fork fails, the gateway, which is waiting, gets ENDED. */
static void leave(keeper_t *self)
{
    pid_t pid = fork();
    int code = errno;

    if (pid == 0)
        return;
    if (pid < 0) {
        self->gateway = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
        (void) emit(self, &(keeper_message_t){KEEPER_ENDED,
                                              {KEEPER_NO_ROOM, (uint64_t) code},
                                              {0}});
    }
    _exit(0);
}

int main(void)
{
    static keeper_t self = {.gateway = -1, .signal_fd = -1};
    sigset_t all;

    self.child = KEEPER_CHILD_NONE;
    leave(&self);
    (void) syscall(SYS_close_range, LISTENER + 1, ~0U, 0);
    (void) setsid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    self.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self.signal_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0
        || fcntl(LISTENER, F_SETFD, FD_CLOEXEC) < 0
        || fcntl(LISTENER, F_SETFL, O_NONBLOCK) < 0)
        return 1;
    self.ring = output_ring_new(KEEPER_OUTPUT_MAX, KEEPER_OUTPUT_MAX / 2,
                                KEEPER_PIECE_MAX);
    self.limit_at = clock_monotonic_ms() + START_MS;
    for (;;)
        turn(&self);
}
