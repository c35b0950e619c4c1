/* One launch on its way into the sandbox, and what its steps are: the tables of
 * steps are in launch.c, each step in the file of its subject. */
#ifndef HEARTH_SANDBOX_LAUNCH_ENTRY_H
#define HEARTH_SANDBOX_LAUNCH_ENTRY_H

#include "base/cpu_affinity.h"
#include "base/fault.h"
#include "sandbox/description/description.h"
#include "sandbox/launch/launch.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DEVICES 5 /* devices of the host that /dev shows */
#define BESIDE  3 /* namespaces that are made while the payload is born */

#define GROUPS_MAX       8  /* files of a control group in one launch */
#define EXIT_NOT_ENTERED 70 /* sysexits' "internal software error" */

/* One launch, on its way from the caller into pid 1 and the payload. */
typedef struct {
    const sandbox_t *sandbox;       /* borrowed from the caller */
    const sandbox_launch_t *launch; /* borrowed from the caller */
    sandbox_limits_t limits;        /* the launch's, defaults filled in */
    bool privileged;           /* the caller can give users, or its mapper */
    int go_fd;                 /* pid 1 reads a byte when its ids are mapped */
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
    cpu_affinity_t processors;       /* of pid 1, without the payload's */
    sigset_t mask;                   /* the caller's, for the payload ... */
    struct sigaction actions[_NSIG]; /* ... and what it did on signals */
} launch_entry_t;

/* A step of entering: -errno with a fault ends the launch. */
typedef int(step_fn)(launch_entry_t *entry, fault_t *fault);

#endif
