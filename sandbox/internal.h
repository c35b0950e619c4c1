/* What the files of sandbox/ share, and nobody else sees. */
#ifndef HEARTH_SANDBOX_INTERNAL_H
#define HEARTH_SANDBOX_INTERNAL_H

#include "base/fault.h"
#include "base/processor.h"
#include "sandbox/sandbox.h"

#include <linux/filter.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>

#define SOURCES_MAX 64 /* read-only folders and files in one description */
#define DEVICES     5  /* of the host, in /dev */
#define BESIDE      3  /* namespaces that are made while the payload is born */

#define GROUPS_MAX       8  /* files of a control group in one launch */
#define EXIT_NOT_ENTERED 70 /* sysexits' "internal software error" */

/* A file or folder of the host that is shown inside. */
typedef struct {
    char *path;   /* owned: absolute, without links */
    char *target; /* owned: where it is inside; NULL: at the same path */
    int fd;       /* owned: O_PATH, so that the inode stays the one we saw */
    dev_t device; /* which it is */
    ino_t inode;
    bool folder; /* else a file */
} source_t;

/* A symbolic link of the host that is made again inside. */
typedef struct {
    char *path;   /* owned: absolute, no link before the last part */
    char *target; /* owned: as readlink said */
} link_t;

/* What the private root shows of the host. */
typedef struct {
    source_t sources[SOURCES_MAX];
    size_t source_count;
    link_t *links; /* owned */
    size_t link_count;
    char *cpus_online; /* owned: the host's /sys/devices/system/cpu/online */
} mounts_t;

/* A compiled system call filter. */
typedef struct {
    struct sock_filter *code; /* owned */
    unsigned short length;    /* instructions */
} filter_t;

/* In the order of the table in walls.c. */
typedef enum {
    WALL_NETWORK,
    WALL_IPC,
    WALL_UTS,
    WALL_CGROUP,
    WALL_READONLY,
    WALL_PROC,
    WALL_NESTED,
    WALL_DESCRIPTORS,
    WALL_LIMITS,
    WALL_CAPABILITIES,
    WALL_LANDLOCK,
    WALL_FILTER,
    WALL_INIT,
    WALL_USER,
    WALL_MOUNT,
    WALL_PID,
    WALL_NO_NEW_PRIVS,
} wall_t;

struct sandbox {
    sandbox_limits_t limits; /* for launches that bring none */
    sandbox_network_t network;
    unsigned accepted; /* walls that may be missing, a bit each */
    unsigned left_out; /* walls that are, though they could be there */
    mounts_t mounts;
    filter_t payload_filter;
    int init_image_fd; /* owned: pid 1's program, sealed */
};

/* One launch, on its way from the caller into pid 1 and the payload. */
typedef struct {
    const sandbox_t *sandbox;       /* borrowed from the caller */
    const sandbox_launch_t *launch; /* borrowed from the caller */
    sandbox_limits_t limits;        /* the launch's, defaults filled in */
    bool privileged;           /* the caller can give users, or its mapper */
    char workspace[4096];      /* where workspace_fd is */
    bool enters_own;           /* and no way of the caller's leads there */
    int go_fd;                 /* pid 1: a byte comes when it is mapped */
    int tree_fds[SOURCES_MAX]; /* clones of the sources, to be attached */
    int workspace_tree_fd;     /* clone of the workspace */
    int device_fds[DEVICES];   /* clones of the devices */
    int namespace_fds[BESIDE]; /* made while the payload is born */
    size_t namespace_count;
    int ruleset_fd;                  /* of Landlock; -1: none */
    int root_fd;                     /* the private root */
    int init_fd;                     /* pid 1's end to the payload; -1: none */
    int payload_fd;                  /* the payload's end to pid 1; -1: none */
    pid_t builder;                   /* as pid 1 counts */
    pid_t payload;                   /* as pid 1 counts */
    processors_t processors;         /* pid 1's, beside the payload */
    sigset_t mask;                   /* the caller's, for the payload ... */
    struct sigaction actions[_NSIG]; /* ... and what it did on signals */
} entry_t;

/* A step of entering: -errno with a fault ends the launch. */
typedef int(step_fn)(entry_t *entry, fault_t *fault);

/* "<what>: <what errno says>", and -errno: how most steps fail. */
int fault_errno(fault_t *fault, const char *what);

/* clone.c: a child that shares the memory until it ends or becomes another
 * program; plain data, {NULL} at first. */
typedef struct {
    void *stack; /* owned: its lowest page is a guard */
    size_t stack_size;
    int shares; /* not 0 while there is such a child */
} clone_t;

/* One that is not forked is no part of a fork's memory, and all there from the
 * beginning: who is on it while another one forks waits for nobody. */
int clone_make_stack(clone_t *self, size_t size, bool is_forked,
                     fault_t *fault);
/* CLONE_… flags; in the control group of that folder, or with -1 in the
 * caller's. Sets a pidfd, when there is a place for it: then it is the same
 * process that waits. The pid, or -errno. */
long clone_start(clone_t *self, uint64_t flags, int cgroup_fd,
                 int (*run)(void *), void *argument, int *ret_pidfd);
void clone_await(clone_t *self);
void clone_clear(clone_t *self);

/* namespaces.c. The first two are the caller's half. */
int namespaces_clone(const entry_t *entry, clone_t *clone, int (*run)(void *),
                     void *argument, pid_t *ret_pid, int *ret_pidfd,
                     fault_t *fault);
int namespaces_map(const entry_t *entry, pid_t pid, fault_t *fault);
/* How many are made beside the fork. */
size_t namespaces_count(const entry_t *entry);
step_fn namespaces_join_group;
step_fn namespaces_make;  /* those that are made beside the fork ... */
step_fn namespaces_open;  /* ... descriptors of them, for the payload ... */
step_fn namespaces_enter; /* ... which comes into them by these */
step_fn namespaces_await_map;
step_fn namespaces_take_identity;
step_fn namespaces_take_payload_identity;
step_fn namespaces_offer_to_oom;
step_fn namespaces_raise_loopback;
step_fn namespaces_set_hostname;

/* call.c. The first is the builder's, the others the payload's and pid 1's. */
step_fn call_in;
step_fn call_await;
step_fn call_await_builder;

/* process.c */
/* Closes everything from 3 on, but those; -1 among them is skipped. */
int process_close_all_but(const int *kept, size_t count, fault_t *fault);
/* The caller's, who has all blocked from here on. */
void process_save_signals(entry_t *entry);
step_fn process_forget_signals;
step_fn process_keep_own_descriptors;
step_fn process_begin_session;
step_fn process_use_null_device;
step_fn process_prepare_payload;
step_fn process_be_dumpable;
step_fn process_enter_workspace;

/* sources.c */
void mounts_init(mounts_t *self);
void mounts_clear(mounts_t *self);
int mounts_add(mounts_t *self, const char *path, fault_t *fault);
int mounts_add_at(mounts_t *self, const char *source, const char *target,
                  fault_t *fault);
/* Where it is inside. */
const char *source_place(const source_t *self);

/* mounts.c */
step_fn mounts_open_sources; /* still with the caller's identity */
step_fn mounts_enter_own; /* the same of who has a mapper, with the session's */
step_fn mounts_make_root;
step_fn mounts_make_folders;
step_fn mounts_make_tmp;
step_fn mounts_make_devices;
step_fn mounts_make_proc;
step_fn mounts_forbid_user_namespaces;
step_fn mounts_cover_proc;
step_fn mounts_attach_sources;
step_fn mounts_attach_workspace;
step_fn mounts_enter_root;
step_fn mounts_leave_old_root; /* the caller's working directory is in it */

/* rlimits.c */
void rlimits_resolve(sandbox_limits_t *limits,
                     const sandbox_limits_t *defaults);
step_fn rlimits_apply;

/* privileges.c */
step_fn privileges_forbid_new;
step_fn privileges_drop;
step_fn privileges_keep_init;

/* landlock.c. The first makes the rules, of what is shown. */
step_fn landlock_describe;
step_fn landlock_enter;

/* walls.c */
bool walls_may_lack(const sandbox_t *self, wall_t wall);
bool walls_has(const sandbox_t *self, wall_t wall);

/* filter.c */
/* For an architecture by its AUDIT_ARCH number. */
int filter_build_for(filter_t *self, uint32_t arch, sandbox_network_t network,
                     fault_t *fault);
int filter_build_payload(filter_t *self, sandbox_network_t network,
                         fault_t *fault);
void filter_clear(filter_t *self);
int filter_load(const filter_t *self, fault_t *fault);

#endif
