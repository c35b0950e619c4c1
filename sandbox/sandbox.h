/* The sandbox: describe first (may fail, in the trusted parent), then enter
 * (may not fail: reports through the status descriptor and _exit). Knows no
 * Jupyter, JSON or Python. Used by the launch path only. */
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

/* In each, 0 means the default of sandbox_new. A limit above the caller's own
 * hard limit becomes that. */
typedef struct {
    uint64_t address_space; /* RLIMIT_AS, bytes; default: unlimited */
    uint64_t file_size;     /* RLIMIT_FSIZE, bytes; default 1 GiB */
    uint64_t open_files;    /* RLIMIT_NOFILE; default 1024 */
    uint64_t processes;     /* RLIMIT_NPROC; default 512 */
    uint64_t cpu_seconds;   /* RLIMIT_CPU; default: unlimited */
    uint64_t tmp;           /* bytes of /tmp; 256 MiB */
    uint64_t shm;           /* bytes of /dev/shm; 256 MiB */
} sandbox_limits_t;

/* A description with the default limits and the few files of the host's /etc
 * that programs need (fonts, certificates, the loader's cache). The program is
 * hearth-init, which is copied. NULL when it cannot be, or the system call
 * filter not be built. */
sandbox_t *sandbox_new(const char *init_program, fault_t *fault);
void sandbox_destroy(sandbox_t **self_p);
#define cleanup_sandbox CLEANUP(sandbox_destroy)

/* A host folder or file, visible read-only at the same path inside, together
 * with the symbolic links on the way to it. Opened now: when the path leads to
 * something else later, sandbox_fork fails. Missing: -ENOENT. Covered by an
 * earlier one: nothing. What the sandbox makes itself (/, /dev, /etc, /proc,
 * /sys, /tmp, /var/tmp, /workspace): -EINVAL. */
int sandbox_add_readonly(sandbox_t *self, const char *path, fault_t *fault);
/* As sandbox_add_readonly, but the source is seen at `target`, and nothing on
 * the way to it may be a symbolic link (-ELOOP). -EINVAL: one of the two is not
 * absolute or has "", "." or ".." among its parts; the source is the host's /,
 * /dev, /proc or /sys; the target is, is in or has in it what the sandbox makes
 * itself or what it shows already. After the places of the first kind. */
int sandbox_add_mount(sandbox_t *self, const char *source, const char *target,
                      fault_t *fault);
void sandbox_set_limits(sandbox_t *self, const sandbox_limits_t *limits);

typedef enum {
    SANDBOX_NETWORK_NONE,    /* Unix sockets alone; the loopback is down */
    SANDBOX_NETWORK_LOOPBACK /* and TCP and UDP on a loopback of its own */
} sandbox_network_t;

/* NONE until it is called. */
int sandbox_set_network(sandbox_t *self, sandbox_network_t network,
                        fault_t *fault);

/* A launch on a machine that lacks this wall goes on without it; unaccepted it
 * fails. -EINVAL: no such wall, or none that there can be a sandbox without. */
int sandbox_accept(sandbox_t *self, const char *wall, fault_t *fault);
/* Does without a wall that was accepted (else -EPERM) though the machine has
 * it: to show which test needs it. */
int sandbox_leave_out(sandbox_t *self, const char *wall, fault_t *fault);

/* What differs from launch to launch. */
typedef struct {
    int workspace_fd; /* O_PATH or O_RDONLY folder: /workspace, the cwd */
    int link_fd;      /* the kernel's listening socket: the payload's alone */
    int init_fd;      /* pid 1's listening socket, its alone
                       * (docs/PROTOCOL.init.md) */
    int status_fd;  /* gets a fault_t when a step fails; closed when entered */
    uid_t host_uid; /* the session's user on the host: the caller's own when
                     * the caller is not root, never 0 when it is, or has a
                     * mapper */
    gid_t host_gid;
    uid_t init_uid; /* pid 1's, when the caller is root, or has a mapper; 0: the
                     * session's */
    gid_t init_gid;
    const sandbox_limits_t *limits; /* NULL: those of the description */
    /* The session's control group, made ahead (cgroup_entries). Version 2: one
     * descriptor, the group's folder, and the child is born in it; version 1:
     * the `tasks` files, which the child joins by before anything else is done
     * in it. None: it stays in the caller's. */
    const int *cgroup_fds;
    size_t cgroup_count;
    bool is_cgroup_folder;
    unsigned orphan_seconds; /* without a gateway for so long: pid 1 ends all;
                              * 0: never */
    const char *hostname;
    int mapper_fd; /* who writes the id maps for a caller that cannot give users
                    * (idmap.h); 0: nobody, the caller does it */
    bool keeps_status; /* the payload has status_fd still: to tell of a fault
                        * in its own first steps, and then to close it */
    bool awaits_later; /* the payload does not wait for pid 1 to be out of its
                        * reach: sandbox_await_init does, before anything runs
                        * that is not the caller's */
} sandbox_launch_t;

typedef struct {
    pid_t pid; /* of pid 1, the host's number; 0 in the payload */
    int fd;    /* the caller's: a pidfd of pid 1, close-on-exec; in a payload
                * that `awaits_later` what sandbox_await_init takes, else
                * -1 */
    int processor; /* on which the payload was made; negative: unknown */
} sandbox_child_t;

/* fork(2) into the sandbox. In the payload (pid 3 inside) everything is
 * entered, descriptors 0, 1, 2 are on /dev/null, link_fd is kept
 * (close-on-exec) and nothing else that is not said above; signals as the
 * caller had them. Never returns in pid 1. Until the child has its identity:
 * -errno, and there is no child; after: by status_fd. The caller has one
 * thread, runs on the stack that the system gave it, and has at least its
 * descriptors 0, 1, 2; it is not dumpable afterwards. */
int sandbox_fork(const sandbox_t *self, const sandbox_launch_t *order,
                 sandbox_child_t *ret_child, fault_t *fault);
/* In a payload that `awaits_later`: returns when pid 1 has taken its steps, and
 * closes the descriptor. -ECHILD: it could not, and has told status_fd why, or
 * was killed; the payload is to end. */
int sandbox_await_init(int init_fd, fault_t *fault);

#define SANDBOX_INSIDE_UID 1000
#define SANDBOX_INSIDE_GID 1000
#define SANDBOX_INIT_UID   999 /* pid 1's, where it has one of its own */
#define SANDBOX_INIT_GID   999
#define SANDBOX_WORKSPACE  "/workspace"

#endif
