/* One kernel as the gateway sees it: the link (requests down, events up), the
 * socket of pid 1, its pidfd. Belongs to the thread of its session. Reads and
 * writes never block; what the link does not take waits here. */
#ifndef HEARTH_KERNELS_KERNEL_H
#define HEARTH_KERNELS_KERNEL_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/frame.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct kernel kernel_t;

/* How a payload ended, as pid 1 reports. */
typedef struct {
    bool is_known;  /* false: pid 1 has not reported it */
    bool by_signal; /* `code` is a signal's number, else an exit code */
    int code;
    uint64_t cpu_ms; /* processor time of the payload and its reaped children */
    uint64_t maxrss_kib; /* largest resident size */
} kernel_end_t;

/* Connects to init.sock in `folder`, which already listens; kernel_reconnect
 * opens the link. `shares_user`: pid 1 has the user of the processes below it,
 * so they may have slowed it down. -ECONNREFUSED, -ENOENT: pid 1 has ended. */
int kernel_new(const char *folder, bool shares_user, kernel_t **ret_kernel,
               fault_t *fault);
void kernel_destroy(kernel_t **self_p);
#define cleanup_kernel CLEANUP(kernel_destroy)

/* Sets the process on the host; `pidfd` is taken. */
void kernel_set_process(kernel_t *self, pid_t pid, int pidfd);
/* Opens a pidfd for `pid` and checks that the process began at `start_time`
 * (/proc/PID/stat, field 22); -ESRCH if it is another process or has ended. */
int kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                         fault_t *fault);
/* Returns true if `pid` is still the process that began at `start_time`, and
 * does not end within `wait_ms`. */
bool kernel_lives(pid_t pid, uint64_t start_time, int wait_ms);
/* Ends a kernel that cannot be reached otherwise; does nothing if `pid` is now
 * another process or has ended. */
void kernel_kill_stray(pid_t pid, uint64_t start_time);
/* Returns true if pid 1 still exists, as the system says at this moment. */
bool kernel_is_alive(const kernel_t *self);
pid_t kernel_pid(const kernel_t *self);
uint64_t kernel_start_time(const kernel_t *self);
/* Returns the resident size of all processes inside, in KiB; 0 if it cannot be
 * read. */
uint64_t kernel_memory_kib(const kernel_t *self);

/* Return descriptors to poll; -1 if closed. The link is also polled for writing
 * while kernel_is_writing. */
int kernel_link_fd(const kernel_t *self);
int kernel_init_fd(const kernel_t *self);
int kernel_pidfd(const kernel_t *self);
bool kernel_is_writing(const kernel_t *self);
/* Returns the number of bytes that came over the link, on all connections. */
uint64_t kernel_received(const kernel_t *self);
/* Return sizes in bytes of memory. kernel_held: what the link's buffers take,
 * in both directions. kernel_unfinished: what a message takes of which the
 * kernel has sent only a part. kernel_growth: how much the next kernel_read may
 * add. */
size_t kernel_held(const kernel_t *self);
size_t kernel_unfinished(const kernel_t *self);
size_t kernel_growth(const kernel_t *self);

/* Opens a new connection of the link; the old one is closed, and what was half
 * read is dropped. */
int kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault);
void kernel_disconnect(kernel_t *self);
/* Sends HELLO: every event up to `acked` is in the journal. */
int kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault);
/* Acknowledges events with the next frame, or at once if `now`. */
int kernel_acknowledge(kernel_t *self, uint64_t seq, bool now, fault_t *fault);
int kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault);
/* Has the kernel start a keeper that listens at `listener`, which stays the
 * caller's. -EAGAIN: the link takes nothing at this moment. */
int kernel_keep(kernel_t *self, int listener, fault_t *fault);
/* Writes what waits. */
int kernel_flush(kernel_t *self, fault_t *fault);
/* Reads once. Returns 1 if bytes came, 2 if more may wait, 0 if there were
 * none, -EPIPE if the link is closed. */
int kernel_read(kernel_t *self, fault_t *fault);
/* Returns 1 and a frame, lent until the next read or next; 0 if none is whole;
 * -EPROTO if it is invalid. */
int kernel_next(kernel_t *self, frame_t *ret_frame, fault_t *fault);

/* Sends a command to pid 1: 'I' interrupt, 'T' terminate, 'K' kill. */
int kernel_command(kernel_t *self, char command, fault_t *fault);
/* Reads pid 1's report; returns true when the payload's end is known. */
bool kernel_read_end(kernel_t *self, kernel_end_t *ret_end);
/* Ends everything inside at once, by pidfd or by pid 1. */
void kernel_kill(kernel_t *self);

#endif
