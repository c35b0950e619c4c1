/* The gateway's end of one kernel. It moves frames and reports the end of the
 * kernel; the session decides what a frame means. Owned by a session and used
 * by its thread alone. */
#include "kernels/kernel.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/memory_budget.h"
#include "base/pidfd.h"
#include "kernels/proc_tree.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The buffer keeps at most this much memory after a frame was sent. */
#define KEPT_SIZE (128u << 10)

/* The link of an idle session holds no memory that counts. */
_Static_assert(KEPT_SIZE + FRAME_DECODER_KEPT <= MEMORY_FREE,
               "the memory that an idle link keeps is not counted");

struct kernel {
    int link_fd;              /* owned; -1 when closed */
    int init_fd;              /* owned; -1 when closed */
    int pidfd;                /* owned; -1 until the process is known */
    pid_t pid;                /* pid 1 of the sandbox, the host's number */
    uint64_t start_time;      /* of pid, clock ticks since boot */
    bool shares_user;         /* with what runs below it */
    frame_decoder_t *decoder; /* owned */
    buffer_t out;             /* bytes that the link did not take yet */
    uint64_t received;        /* bytes of the link so far */
    uint64_t acknowledge;     /* acknowledged with the next frame; 0: none */
    char line[128];           /* report of pid 1, up to its newline */
    size_t line_size;
    kernel_end_t end;
};

void kernel_destroy(kernel_t **self_p)
{
    kernel_t *self = *self_p;

    if (!self)
        return;
    if (self->link_fd >= 0)
        close(self->link_fd);
    if (self->init_fd >= 0)
        close(self->init_fd);
    if (self->pidfd >= 0)
        close(self->pidfd);
    frame_decoder_destroy(&self->decoder);
    buffer_reset(&self->out);
    free(self);
    *self_p = NULL;
}

int kernel_new(const char *folder, bool shares_user, kernel_t **ret_kernel,
               fault_t *fault)
{
    cleanup_kernel kernel_t *self = mem_new(sizeof *self);
    cleanup_free char *init_path = mem_format("%s/init.sock", folder);
    int r;

    self->link_fd = self->init_fd = self->pidfd = -1;
    self->shares_user = shares_user;
    self->decoder = frame_decoder_new();
    r = fd_connect_unix(init_path, &self->init_fd, fault);
    if (r < 0)
        return fault_wrap(fault, "the sandbox's pid 1");
    *ret_kernel = take_ptr(self);
    return 0;
}

void kernel_set_process(kernel_t *self, pid_t pid, int pidfd)
{
    if (self->pidfd >= 0)
        close(self->pidfd);
    self->pid = pid;
    self->pidfd = pidfd;
    self->start_time = pidfd_start_time(pid);
}

int kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                         fault_t *fault)
{
    int pidfd;
    int r = pidfd_find(pid, start_time, &pidfd, fault);

    if (r == 0)
        kernel_set_process(self, pid, pidfd);
    return r;
}

bool kernel_lives(pid_t pid, uint64_t start_time, int wait_ms)
{
    cleanup_fd int pidfd = -1;
    fault_t fault;

    return pidfd_find(pid, start_time, &pidfd, &fault) == 0
           && !pidfd_ends(pidfd, wait_ms);
}

void kernel_kill_stray(pid_t pid, uint64_t start_time)
{
    cleanup_fd int pidfd = -1;
    fault_t fault;

    if (pidfd_find(pid, start_time, &pidfd, &fault) == 0)
        (void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

bool kernel_is_alive(const kernel_t *self)
{
    return self->pidfd >= 0 && !pidfd_ends(self->pidfd, 0);
}

pid_t kernel_pid(const kernel_t *self)
{
    return self->pid;
}

uint64_t kernel_start_time(const kernel_t *self)
{
    return self->start_time;
}

uint64_t kernel_memory_kib(const kernel_t *self)
{
    cleanup_buffer buffer_t children = BUFFER_EMPTY;
    cleanup_buffer buffer_t statm = BUFFER_EMPTY;
    char path[64];
    fault_t fault;
    int payload = 0;
    unsigned long long resident = 0;

    if (!self->pid)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int) self->pid,
             (int) self->pid);
    if (file_read(path, 4096, &children, &fault) < 0 || !children.size
        || sscanf((const char *) children.data, "%d", &payload) != 1)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/statm", payload);
    if (file_read(path, 4096, &statm, &fault) < 0 || !statm.size
        || sscanf((const char *) statm.data, "%*u %llu", &resident) != 1)
        return 0;
    return resident * (uint64_t) sysconf(_SC_PAGESIZE) / 1024;
}

int kernel_link_fd(const kernel_t *self)
{
    return self->link_fd;
}

int kernel_init_fd(const kernel_t *self)
{
    return self->init_fd;
}

int kernel_pidfd(const kernel_t *self)
{
    return self->pidfd;
}

bool kernel_is_writing(const kernel_t *self)
{
    return self->out.size > 0;
}

uint64_t kernel_received(const kernel_t *self)
{
    return self->received;
}

size_t kernel_held(const kernel_t *self)
{
    return frame_decoder_held(self->decoder) + self->out.capacity;
}

size_t kernel_unfinished(const kernel_t *self)
{
    return frame_decoder_is_partial(self->decoder)
               ? frame_decoder_held(self->decoder)
               : 0;
}

size_t kernel_growth(const kernel_t *self)
{
    return frame_decoder_growth(self->decoder);
}

static void close_link(kernel_t *self)
{
    if (self->link_fd >= 0)
        close(self->link_fd);
    self->link_fd = -1;
    buffer_clear(&self->out);
}

void kernel_disconnect(kernel_t *self)
{
    close_link(self);
    /* HELLO, the next connection's first frame, says it. */
    self->acknowledge = 0;
    frame_decoder_clear(self->decoder);
}

int kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/link.sock", folder);

    kernel_disconnect(self);
    return fd_connect_unix(path, &self->link_fd, fault);
}

int kernel_flush(kernel_t *self, fault_t *fault)
{
    while (self->out.size) {
        ssize_t sent;

        if (self->link_fd < 0)
            return fault_set(fault, EPIPE, "the kernel link is closed");
        sent = send(self->link_fd, self->out.data, self->out.size,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (sent < 0) {
            int code = errno;
            /* Data that the kernel sent before its end can still be read: the
             * reader finds the end and closes. */
            buffer_clear(&self->out);
            return fault_set(fault, code, "the kernel link: %s",
                             strerror(code));
        }
        buffer_consume(&self->out, (size_t) sent);
    }
    if (self->out.capacity > KEPT_SIZE)
        buffer_reset(&self->out);
    return 0;
}

static void queue_acknowledgement(kernel_t *self)
{
    frame_t ack = {.type = FRAME_ACK, .seq = self->acknowledge};

    if (!self->acknowledge)
        return;
    frame_encode(&ack, &self->out);
    self->acknowledge = 0;
}

int kernel_acknowledge(kernel_t *self, uint64_t seq, bool now, fault_t *fault)
{
    self->acknowledge = seq;
    if (!now)
        return 0;
    queue_acknowledgement(self);
    return kernel_flush(self, fault);
}

int kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault)
{
    if (self->link_fd < 0)
        return fault_set(fault, EPIPE, "the kernel link is closed");
    queue_acknowledgement(self);
    frame_encode(frame, &self->out);
    return kernel_flush(self, fault);
}

int kernel_keep(kernel_t *self, int listener, fault_t *fault)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    frame_t keep = {.type = FRAME_KEEP};
    int r;

    if (self->link_fd < 0)
        return fault_set(fault, EPIPE, "the kernel link is closed");
    /* A descriptor goes with the bytes that it belongs to. */
    if ((r = kernel_flush(self, fault)) < 0)
        return r;
    if (self->out.size)
        return fault_set(fault, EAGAIN, "the kernel link is full");
    frame_encode(&keep, &bytes);
    return fd_send(self->link_fd, bytes.data, bytes.size, &listener, 1, fault);
}

int kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    frame_t hello = {.type = FRAME_HELLO};

    jspan_write_begin(&content);
    jspan_write_integer(&content, "protocol", FRAME_VERSION);
    jspan_write_count(&content, "acked", acked);
    jspan_write_end(&content);
    hello.content = buffer_bytes(&content);

    return kernel_send(self, &hello, fault);
}

int kernel_read(kernel_t *self, fault_t *fault)
{
    size_t room;
    void *space;
    ssize_t got;

    if (self->link_fd < 0)
        return fault_set(fault, EPIPE, "the kernel link is closed");
    space = frame_decoder_space(self->decoder, &room);
    got = recv(self->link_fd, space, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_link(self);
        return fault_set(fault, EPIPE, "the kernel closed its link");
    }
    frame_decoder_added(self->decoder, (size_t) got);
    self->received += (uint64_t) got;
    return (size_t) got == room ? 2 : 1;
}

int kernel_next(kernel_t *self, frame_t *ret_frame, fault_t *fault)
{
    return frame_decoder_next(self->decoder, ret_frame, fault);
}

int kernel_command(kernel_t *self, char command, fault_t *fault)
{
    if (self->init_fd < 0
        || send(self->init_fd, &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        return fault_set(fault, EPIPE, "the sandbox's pid 1 does not listen");
    return 0;
}

static void parse_line(kernel_t *self)
{
    char word[16];
    int code;
    unsigned long long cpu_ms = 0, maxrss = 0;

    if (sscanf(self->line, "%15s %d %llu %llu", word, &code, &cpu_ms, &maxrss)
        < 2)
        return;
    if (strcmp(word, "exit") != 0 && strcmp(word, "signal") != 0)
        return;
    self->end = (kernel_end_t){.is_known = true,
                               .by_signal = word[0] == 's',
                               .code = code,
                               .cpu_ms = cpu_ms,
                               .maxrss_kib = maxrss};
}

bool kernel_read_end(kernel_t *self, kernel_end_t *ret_end)
{
    char byte;
    ssize_t got = -1;

    while (self->init_fd >= 0
           && (got = recv(self->init_fd, &byte, 1, MSG_DONTWAIT)) == 1) {
        if (byte != '\n') {
            if (self->line_size < sizeof self->line - 1)
                self->line[self->line_size++] = byte;
            continue;
        }
        self->line[self->line_size] = '\0';
        self->line_size = 0;
        parse_line(self);
    }
    if (self->init_fd >= 0
        && (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))) {
        close(self->init_fd);
        self->init_fd = -1;
    }
    *ret_end = self->end;
    return self->end.is_known;
}

void kernel_kill(kernel_t *self)
{
    fault_t fault;

    if (self->pidfd >= 0
        && syscall(SYS_pidfd_send_signal, self->pidfd, SIGKILL, NULL, 0) == 0) {
        /* The session can have made it idle. */
        if (self->shares_user)
            proc_tree_kill(self->pid);
        return;
    }
    /* Without a pidfd the launch is under way: pid 1 reads this as its first
     * command. When it is gone as well, so is the kernel. */
    (void) kernel_command(self, 'K', &fault);
}
