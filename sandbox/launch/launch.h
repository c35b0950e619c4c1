/* Enters a sandbox that was described. This may not fail: it reports through
 * the status descriptor and calls _exit. */
#ifndef HEARTH_SANDBOX_LAUNCH_LAUNCH_H
#define HEARTH_SANDBOX_LAUNCH_LAUNCH_H

#include "base/fault.h"
#include "sandbox/description/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The parameters of one launch. */
typedef struct {
    int workspace_fd; /* O_PATH or O_RDONLY folder: /workspace, the cwd */
    int link_fd;      /* the kernel's listening socket; only for the payload */
    int init_fd;      /* pid 1's listening socket; only for pid 1
                         (docs/design/PROTOCOL.init.md) */
    int status_fd;    /* gets a fault_t if a step fails; closed on success */
    uid_t host_uid;   /* the session's user on the host: the caller's own if the
                         caller is not root; never 0 if it is, or has a mapper */
    gid_t host_gid;
    uid_t init_uid; /* pid 1's, if the caller is root, or has a mapper; 0: the
                       session's */
    gid_t init_gid;
    const sandbox_limits_t *limits; /* NULL: those of the description */
    /* The session's control group, made before (cgroup_entries). Version 2: one
     * descriptor, the group's folder, in which the child is created. Version 1:
     * the `tasks` files, by which the child joins the group as its first step.
     * NULL: the child stays in the caller's group. */
    const int *cgroup_fds;
    size_t cgroup_count;
    bool is_cgroup_folder;
    unsigned orphan_seconds; /* after that time without a gateway pid 1 ends
                                all; 0: never */
    const char *hostname;
    int mapper_fd; /* the process that writes the id maps for a caller without
                      privileges (idmap.h); 0: the caller writes them */
    bool keeps_status; /* the payload keeps status_fd, to report a fault in its
                          own first steps, and then closes it */
    bool awaits_later; /* the payload does not wait for pid 1 to be out of its
                          reach: sandbox_await_init does, before any code runs
                          that is not the caller's */
} sandbox_launch_t;

typedef struct {
    pid_t pid; /* of pid 1, the host's number; 0 in the payload */
    int fd; /* the caller's: a pidfd of pid 1, close-on-exec; in a payload that
               `awaits_later` the argument of sandbox_await_init, else -1 */
    int processor; /* on which the payload was made; negative: unknown */
} sandbox_child_t;

/* Forks into the sandbox, like fork(2). The payload (pid 3 inside) returns with
 * everything entered. Descriptors 0, 1, 2 are on /dev/null; link_fd is kept
 * (close-on-exec), and no other descriptor except those named above. Signals
 * are as the caller had them. Never returns in pid 1. A failure before the
 * child has its identity is -errno, and there is no child; a later failure
 * comes by status_fd. The caller has one thread, runs on the stack that the
 * system gave it, and has at least its descriptors 0, 1, 2. It is not dumpable
 * afterwards. */
int sandbox_fork(const sandbox_t *self, const sandbox_launch_t *launch,
                 sandbox_child_t *ret_child, fault_t *fault);
/* Waits, in a payload that `awaits_later`, until pid 1 has taken its steps, and
 * closes the descriptor. -ECHILD: pid 1 has failed, and has reported to
 * status_fd why, or was killed; the payload must end. */
int sandbox_await_init(int init_fd, fault_t *fault);

#endif
