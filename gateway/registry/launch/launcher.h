/* Zygotes, one a profile, and the launching of kernels. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCHER_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCHER_H

#include "base/cleanup.h"
#include "gateway/audit/audit.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/prealloc.h"

#include <czmq.h>
#include <jansson.h>

typedef struct launcher launcher_t;

/* Calls of the launcher to the parts above it. */
typedef struct {
    /* The profile's zygote is being replaced, because its environment on disk
     * has changed: sessions that it made are out of date. */
    void (*renewed)(void *arg, const profile_t *profile);
    /* Asks for the profile's preinstalled packages, instead of what was asked
     * before: the answer is a call of launcher_prepared. */
    int (*prepare)(void *arg, const profile_t *profile, fault_t *fault);
    /* The profile's preparation is over: requests for it can go on. */
    void (*prepared)(void *arg, const profile_t *profile);
} launcher_ops_t;

/* The parts that the launcher uses; all borrowed. */
typedef struct {
    const options_t *options;
    const char *package_folder; /* of the Python package */
    zloop_t *loop;
    audit_writer_t *audit;
    const cgroups_t *cgroups;
    prealloc_t *prealloc;
    launch_users_t *users;
    const session_table_t *table;
    const launcher_ops_t *ops;
    void *arg; /* of ops */
} launcher_needs_t;

launcher_t *launcher_new(const launcher_needs_t *needs);
/* Starts the zygotes. One that cannot be started is tried again later. A
 * profile's preinstalled packages are made before its zygote starts. */
void launcher_start(launcher_t *self);
/* Ends the zygotes; kernels live on. */
void launcher_destroy(launcher_t **self_p);
#define cleanup_launcher CLEANUP(launcher_destroy)

/* Asks for a kernel for the session. The session's actor learns the outcome,
 * also of a failure. Waits for the next zygote if that is expected. */
void launcher_launch(launcher_t *self, session_entry_t *entry);
/* Takes the session out of the launches that wait; a fork under way is
 * finished. */
void launcher_unpark(launcher_t *self, const session_entry_t *entry);
/* Notes that the session is removed: a kernel that comes for it is ended. */
void launcher_forget(launcher_t *self, session_entry_t *entry);
/* Renews zygotes whose environment was changed on disk. Called once a second.
 */
void launcher_look(launcher_t *self);
/* Takes the folder of the profile's preinstalled packages, and starts its
 * zygote. `contents` is what its sessions record of them, or NULL. */
void launcher_prepared(launcher_t *self, const profile_t *profile,
                       const char *folder, const char *contents);
/* Takes the reason for which the packages cannot be made: the profile has no
 * sessions. `is_refused`: it would be refused again. */
void launcher_unprepared(launcher_t *self, const profile_t *profile,
                         const char *fault, bool is_refused);
/* Returns true while they are made: requests for sessions wait. */
bool launcher_is_preparing(const launcher_t *self, const profile_t *profile);
/* Returns why they cannot be had, borrowed; NULL if that is not so. */
const char *launcher_lacks_packages(const launcher_t *self,
                                    const profile_t *profile);
/* Reports to a session that is new in the table why a fresh kernel could not
 * start, if that is so. All sessions get a report when that changes. */
void launcher_report(const launcher_t *self, session_entry_t *entry);
/* Returns their folder, borrowed; NULL if it is not known. */
const char *launcher_preinstalled(const launcher_t *self,
                                  const profile_t *profile);
/* Requests packages that the reloaded configuration names anew, and again
 * those that could not be had. */
void launcher_reload(launcher_t *self);
/* Notes that the session's kernel found its environment changed on disk: renews
 * the zygote that it came from, unless that was done. */
void launcher_on_stale(launcher_t *self, const session_entry_t *entry);
/* Returns true if the profile's zygote can fork. */
bool launcher_is_ready(const launcher_t *self, const profile_t *profile);
/* Returns {"name","notebook_folder","python","python_version","state"} of a
 * profile and, if it has no zygote, "fault"; the caller owns it. */
json_t *launcher_describe(const launcher_t *self, const profile_t *profile);

#endif
