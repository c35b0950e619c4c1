/* A zygote: a warm Python interpreter, one per profile, that forks kernels on
 * request (docs/design/PROTOCOL.zygote.md). Runs no untrusted code, holds no
 * key. Owned by the registry; one thread. */
#ifndef HEARTH_KERNELS_ZYGOTE_H
#define HEARTH_KERNELS_ZYGOTE_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "kernels/profile.h"
#include "kernels/python_process.h"
#include "sandbox/cgroups/cgroup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct zygote zygote_t;

typedef struct {
    uint64_t number; /* repeated in the answer */
    uid_t host_uid;
    gid_t host_gid;
    uid_t init_uid; /* pid 1's user and group; 0: the session's */
    unsigned orphan_seconds;
    const profile_limits_t *limits; /* borrowed */
    json_t *environment;            /* borrowed; {name: text}, or NULL */
    const char *packages; /* borrowed; the session's folder of packages, as it
                             sees it; NULL: it has none */
    const char *packages_lists; /* borrowed; of permitted packages, as JSON;
                                   NULL: there are none to be shown */
    bool asks_for_packages;     /* code in it may */
    bool runs_start_files; /* of its packages: .pth files and sitecustomize */
    bool has_shadows;      /* its packages are found before the profile's */
    bool asks_for_files;   /* code in it may have the gateway fetch files */
    int workspace_fd, link_fd, init_fd, status_fd; /* borrowed */
    cgroup_mode_t cgroup_mode;
    int cgroup_fds[CGROUP_HIERARCHIES]; /* borrowed; cgroup_entries */
    size_t cgroup_count;
} zygote_launch_t;

typedef enum {
    ZYGOTE_READY,    /* warm; `text` lists what was loaded */
    ZYGOTE_LAUNCHED, /* number, pid, pidfd (the caller's) */
    ZYGOTE_FAILED,   /* number, text */
    ZYGOTE_GONE,     /* ended; `text` is the reason if it gave one */
} zygote_event_t;

typedef struct {
    uint64_t number;
    pid_t pid;
    int pidfd;
    int processor;     /* the payload's, when it was made; negative: unknown */
    bool is_explained; /* it gave the reason itself */
    char text[512];
} zygote_result_t;

typedef enum {
    ZYGOTE_SAME,     /* its environment on disk is as it was loaded */
    ZYGOTE_CHANGING, /* it differs, and has changed since the last look */
    ZYGOTE_CHANGED,  /* it differs, and has not changed since the last look */
} zygote_change_t;

/* Starts the interpreter as that user, or as the caller's (NULL); it then warms
 * up. `preinstalled_or_null` is the folder of the profile's preinstalled
 * packages. */
int zygote_new(const profile_t *profile, const char *package_folder,
               const char *preinstalled_or_null, const zygote_user_t *user,
               zygote_t **ret_zygote, fault_t *fault);
/* Closes its socket, so that it exits, and reaps it. Kernels continue to live.
 */
void zygote_destroy(zygote_t **self_p);
#define cleanup_zygote CLEANUP(zygote_destroy)

const profile_t *zygote_profile(const zygote_t *self);
bool zygote_is_ready(const zygote_t *self);
int zygote_socket(const zygote_t *self); /* to poll for reading */
pid_t zygote_pid(const zygote_t *self);

/* Returns whether packages were installed or removed since it began to warm up.
 */
zygote_change_t zygote_look(zygote_t *self);

/* Asks for a kernel; zygote_receive returns the answer. */
int zygote_launch(zygote_t *self, const zygote_launch_t *launch,
                  fault_t *fault);
/* Returns 1 and an event; 0 if none has come. */
int zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                   zygote_result_t *ret_answer);

#endif
