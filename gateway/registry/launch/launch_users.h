/* The users that kernels run as: one of a range each where this gateway may
 * give them, else the gateway's own. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_USERS_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_USERS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"
#include "kernels/zygote.h"
#include "sandbox/cgroups/cgroup.h"

typedef struct launch_users launch_users_t;

/* The user of a worker of downloads, and the user of the sandboxes that the
 * worker makes. */
typedef struct {
    bool has_own;         /* false: the worker has the gateway's user */
    zygote_user_t worker; /* set if has_own */
    uid_t sandbox_uid;    /* the worker's, unless that is root */
    gid_t sandbox_gid;
} download_users_t;

/* Fails if the options ask for a user of the zygotes' own and this process
 * cannot give one. `options` is borrowed; `cgroups` admits that user. */
int launch_users_new(const options_t *options, cgroups_t *cgroups,
                     launch_users_t **ret_users, fault_t *fault);
void launch_users_destroy(launch_users_t **self_p);
#define cleanup_launch_users CLEANUP(launch_users_destroy)

/* Returns the user that zygotes run as; NULL: the gateway's. */
const zygote_user_t *launch_users_of_zygotes(const launch_users_t *self);
/* Returns the users of downloads. The worker has that of zygotes. Its programs
 * get no user of a session, but only its own and that of pid 1. */
download_users_t launch_users_of_downloads(const launch_users_t *self);
/* Returns the user that all sessions' pid 1 have; 0: the session's. */
uid_t launch_users_of_init(const launch_users_t *self);
/* Returns the user of a new session. `has_folder`: its workspace is a folder
 * that a client named. */
uid_t launch_users_choose(launch_users_t *self, bool has_folder);
/* Returns the user of a session of an earlier gateway, which its workspace
 * shows. */
uid_t launch_users_found(const launch_users_t *self,
                         const session_entry_t *entry);
/* Returns the user of a session that starts again. */
uid_t launch_users_revived(launch_users_t *self, const session_entry_t *entry);
/* Reserves the user for the session while it is alive. */
void launch_users_hold(launch_users_t *self, session_entry_t *entry, uid_t uid);
void launch_users_release(launch_users_t *self, session_entry_t *entry);

#endif
