/* A session's connection to its kernel: the process, the link, and what the
 * loop watches of them. It also counts which of the kernel's events are in the
 * journal, and acknowledges them. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_KERNEL_LINK_H
#define HEARTH_GATEWAY_SESSION_KERNEL_KERNEL_LINK_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "kernels/kernel.h"

#include <czmq.h>

/* The session's callbacks; `arg` is its own. */
typedef struct {
    void (*on_input)(void *arg);  /* the link can be read */
    void (*on_end)(void *arg);    /* the kernel has ended */
    void (*on_silent)(void *arg); /* pid 1 has closed its socket without a
                                     report of the kernel's end */
    void (*on_status)(void *arg); /* the launch has written a report */
} kernel_link_ops_t;

typedef struct kernel_link kernel_link_t;

/* Returns a link without a kernel. All arguments are borrowed. */
kernel_link_t *kernel_link_new(zloop_t *loop, const kernel_link_ops_t *ops,
                               void *arg);
/* Frees the link and its kernel; the loop has ended. */
void kernel_link_destroy(kernel_link_t **self_p);
#define cleanup_kernel_link CLEANUP(kernel_link_destroy)

/* Reaches the pid 1 that listens in `folder` (kernel_new), and watches it. */
int kernel_link_open(kernel_link_t *self, const char *folder, bool shares_user,
                     fault_t *fault);
/* Notes the process of the kernel, and watches it; `pidfd` is taken. */
void kernel_link_set_process(kernel_link_t *self, pid_t pid, int pidfd);
/* Finds the process that began at `start_time`, and watches it; -ESRCH if it
 * has ended. */
int kernel_link_adopt(kernel_link_t *self, pid_t pid, uint64_t start_time,
                      fault_t *fault);
/* Returns the kernel, lent; NULL while the session has no kernel. */
kernel_t *kernel_link_kernel(const kernel_link_t *self);
/* Returns true if there is a kernel whose process is known and watched. */
bool kernel_link_has_process(const kernel_link_t *self);
/* Stops watching the kernel. */
void kernel_link_unwatch(kernel_link_t *self);
/* Ends the kernel, if there is one, and forgets it. */
void kernel_link_close(kernel_link_t *self);
/* Returns how the last kernel ended, as far as its pid 1 has reported, lent. */
const kernel_end_t *kernel_link_end(const kernel_link_t *self);
/* Reads the report of pid 1, as far as it has come. */
void kernel_link_read_end(kernel_link_t *self);

/* Watches where the launch reports; `fd` is taken. */
void kernel_link_watch_status(kernel_link_t *self, int fd);
/* Reads the fault of a failed launch. Returns 1 if there is one; 0 if nothing
 * was said. The descriptor is closed after a fault and at the end. */
int kernel_link_read_status(kernel_link_t *self, fault_t *ret_fault);
/* Closes that descriptor, if it is open. */
void kernel_link_forget_status(kernel_link_t *self);

/* Connects the link, sends the kernel the last event that is in the journal,
 * and watches the link. */
int kernel_link_connect(kernel_link_t *self, const char *folder,
                        fault_t *fault);
/* Cuts the link; kernel_link_connect makes it anew. */
void kernel_link_cut(kernel_link_t *self);
/* Returns true if the link is connected. */
bool kernel_link_is_connected(const kernel_link_t *self);
/* Stops or resumes reading the link; data that waits is still written. */
void kernel_link_hold(kernel_link_t *self, bool is_held);
/* Sends a frame; what the link does not take is written later. */
int kernel_link_send(kernel_link_t *self, const frame_t *frame, fault_t *fault);
/* Has the kernel start a keeper (kernel_keep). */
int kernel_link_keep(kernel_link_t *self, int listener, fault_t *fault);

/* Notes that the event `seq` of that size is in the journal. */
void kernel_link_note(kernel_link_t *self, uint64_t seq, size_t bytes);
/* Returns the last event that is in the journal. */
uint64_t kernel_link_seq(const kernel_link_t *self);
/* Sets it for a kernel that was adopted; it is acknowledged. */
void kernel_link_set_seq(kernel_link_t *self, uint64_t seq);
/* Begins anew with a fresh kernel, which counts its events from 1. */
void kernel_link_reset(kernel_link_t *self);
/* Notes bytes that were read and enter no journal. */
void kernel_link_note_dropped(kernel_link_t *self, size_t bytes);
/* Acknowledges what is in the journal. */
void kernel_link_acknowledge(kernel_link_t *self);

#endif
