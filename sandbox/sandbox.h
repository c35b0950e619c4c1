/* The sandbox: describe it first (may fail, in the trusted parent), then enter
 * it (may not fail: it reports through the status descriptor and calls _exit).
 * Knows no Jupyter, JSON or Python. Used only by the launch path. */
#ifndef HEARTH_SANDBOX_SANDBOX_H
#define HEARTH_SANDBOX_SANDBOX_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "sandbox/walls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sandbox sandbox_t;

/* A value of 0 is the default of sandbox_new. A limit above the caller's own
 * hard limit is lowered to that. */
typedef struct {
    uint64_t address_space; /* RLIMIT_AS, bytes; default: unlimited */
    uint64_t file_size;     /* RLIMIT_FSIZE, bytes; default 1 GiB */
    uint64_t open_files;    /* RLIMIT_NOFILE; default 1024 */
    uint64_t processes;     /* RLIMIT_NPROC; default 512 */
    uint64_t cpu_seconds;   /* RLIMIT_CPU; default: unlimited */
    uint64_t tmp;           /* bytes of /tmp; 256 MiB */
    uint64_t shm;           /* bytes of /dev/shm; 256 MiB */
} sandbox_limits_t;

/* Makes a description with the default limits and the few files of the host's
 * /etc that programs need (fonts, certificates, the loader's cache). The
 * program is hearth-init, which is copied. NULL if it cannot be copied, or if
 * the system call filter cannot be built. */
sandbox_t *sandbox_new(const char *init_program, fault_t *fault);
void sandbox_destroy(sandbox_t **self_p);
#define cleanup_sandbox CLEANUP(sandbox_destroy)

/* Shows a host folder or file read-only at the same path inside, with the
 * symbolic links on the way to it. It is opened now: if the path leads
 * elsewhere later, sandbox_fork fails. -ENOENT if it is missing. Does nothing
 * if an earlier one contains it. -EINVAL for what the sandbox makes itself (/,
 * /dev, /etc, /proc, /sys, /tmp, /var/tmp, /workspace). */
int sandbox_add_readonly(sandbox_t *self, const char *path, fault_t *fault);
/* Shows `source` like sandbox_add_readonly, but at `target`. Nothing on the way
 * to it may be a symbolic link (-ELOOP). -EINVAL if one of the two is not
 * absolute or has "", "." or ".." among its parts. -EINVAL if the source is the
 * host's /, /dev, /proc or /sys, or if the target overlaps a place that exists
 * inside already. Must be called after all sandbox_add_readonly. */
int sandbox_add_mount(sandbox_t *self, const char *source, const char *target,
                      fault_t *fault);
void sandbox_set_limits(sandbox_t *self, const sandbox_limits_t *limits);

typedef enum {
    SANDBOX_NETWORK_NONE,    /* only Unix sockets; the loopback is down */
    SANDBOX_NETWORK_LOOPBACK /* also TCP and UDP on a loopback of its own */
} sandbox_network_t;

/* Sets the network; by default there is none. */
int sandbox_set_network(sandbox_t *self, sandbox_network_t network,
                        fault_t *fault);

/* Permits a launch on a machine that lacks this wall; otherwise the launch
 * fails. -EINVAL if there is no such wall, or if no sandbox can be without it.
 */
int sandbox_accept(sandbox_t *self, const char *wall, fault_t *fault);
/* Leaves out an accepted wall (else -EPERM) although the machine has it, to
 * show which test needs it. */
int sandbox_leave_out(sandbox_t *self, const char *wall, fault_t *fault);

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

#define SANDBOX_INSIDE_UID 1000
#define SANDBOX_INSIDE_GID 1000
#define SANDBOX_INIT_UID   999 /* pid 1's, where it has one of its own */
#define SANDBOX_INIT_GID   999
#define SANDBOX_WORKSPACE  "/workspace"

#endif
