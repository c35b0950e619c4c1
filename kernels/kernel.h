/* One kernel as the gateway sees it: the link (requests down, events up), the
 * socket of pid 1, its pidfd. Lives in the thread of its session. Reads and
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

/* How a payload ended, as pid 1 tells. */
typedef struct {
    bool is_known;  /* false: nobody told */
    bool by_signal; /* `code` is a signal's number, else an exit code */
    int code;
    uint64_t cpu_ms;     /* processor time of the payload and what it reaped */
    uint64_t maxrss_kib; /* largest resident size */
} kernel_end_t;

/* Connects to init.sock in `folder`, which listens already; the link comes
 * with kernel_reconnect. `shares_user`: pid 1 has the user of what runs below
 * it, and so may have been slowed down by that. -ECONNREFUSED, -ENOENT: nobody
 * holds it any more. */
int kernel_new(const char *folder, bool shares_user, kernel_t **ret_kernel,
               fault_t *fault);
void kernel_destroy(kernel_t **self_p);
#define cleanup_kernel CLEANUP(kernel_destroy)

/* The process on the host; `pidfd` is taken. */
void kernel_set_process(kernel_t *self, pid_t pid, int pidfd);
/* Opens a pidfd for `pid` and checks that it began at `start_time`
 * (/proc/PID/stat, field 22); -ESRCH when it is another process or none. */
int kernel_adopt_process(kernel_t *self, pid_t pid, uint64_t start_time,
                         fault_t *fault);
/* Whether that process is still the one that began then, and does not end
 * within that time. */
bool kernel_lives(pid_t pid, uint64_t start_time, int wait_ms);
/* Ends a kernel that cannot be reached otherwise; nothing happens when `pid`
 * is another process by now, or none. */
void kernel_kill_stray(pid_t pid, uint64_t start_time);
/* Whether its pid 1 is there still, as the system says in this moment. */
bool kernel_is_alive(const kernel_t *self);
pid_t kernel_pid(const kernel_t *self);
uint64_t kernel_start_time(const kernel_t *self);
/* Resident size of all processes inside, KiB; 0 when it cannot be read. */
uint64_t kernel_memory_kib(const kernel_t *self);

/* Descriptors to poll; -1 when closed. The link is polled for writing too
 * while kernel_is_writing. */
int kernel_link_fd(const kernel_t *self);
int kernel_init_fd(const kernel_t *self);
int kernel_pidfd(const kernel_t *self);
bool kernel_is_writing(const kernel_t *self);
/* Bytes that came over the link, all connections together. */
uint64_t kernel_received(const kernel_t *self);

/* A new connection of the link; the old one, and what was half read, goes. */
int kernel_reconnect(kernel_t *self, const char *folder, fault_t *fault);
void kernel_disconnect(kernel_t *self);
/* Greets: every event up to `acked` is in the journal. */
int kernel_hello(kernel_t *self, uint64_t acked, fault_t *fault);
/* An acknowledgement travels with the next frame, or alone when `now`. */
int kernel_acknowledge(kernel_t *self, uint64_t seq, bool now, fault_t *fault);
int kernel_send(kernel_t *self, const frame_t *frame, fault_t *fault);
/* Writes what waits. */
int kernel_flush(kernel_t *self, fault_t *fault);
/* Reads once. 1: bytes came, 2: and more may wait, 0: none now, -EPIPE: the
 * link is closed. */
int kernel_read(kernel_t *self, fault_t *fault);
/* 1: a frame, lent until the next read or next; 0: none; -EPROTO. */
int kernel_next(kernel_t *self, frame_t *ret_frame, fault_t *fault);

/* Commands to pid 1: 'I' interrupt, 'T' terminate, 'K' kill. */
int kernel_command(kernel_t *self, char command, fault_t *fault);
/* Reads what pid 1 tells; true when the payload's end is known. */
bool kernel_read_end(kernel_t *self, kernel_end_t *ret_end);
/* Ends everything inside at once, by pidfd or by pid 1. */
void kernel_kill(kernel_t *self);

#endif
