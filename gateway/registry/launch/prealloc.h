/* Prepares the next session's folders, its kernel's listening sockets and its
 * control group, while no client waits. A new file or folder can take half a
 * millisecond, because ext4 looks for an inode that was not freed lately.
 * Renaming it takes a thirtieth of that. A group in five hierarchies takes
 * another half. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_PREALLOC_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_PREALLOC_H

#include "base/cleanup.h"
#include "gateway/registry/launch/launch_resources.h"

#include <stdbool.h>

typedef struct prealloc prealloc_t;

/* Removes what an earlier gateway left. `groups` is borrowed. */
prealloc_t *prealloc_new(const char *runtime_dir, const char *state_dir,
                         const cgroups_t *groups);
void prealloc_destroy(prealloc_t **self_p);
#define cleanup_prealloc CLEANUP(prealloc_destroy)

/* Returns true if prealloc_take can succeed. */
bool prealloc_is_there(const prealloc_t *self);
/* Makes them for a session of that id, in a group with these limits. Reports no
 * failure: the launch then makes them, and reports what is wrong. */
void prealloc_make(prealloc_t *self, const char *id,
                   const cgroup_limits_t *limits);
/* Returns the session id that the preallocated folders belong to; NULL before
 * the first prealloc_make. */
const char *prealloc_id(const prealloc_t *self);
/* Gives the folders these names, if they were made for that id; `workspace` is
 * in the second one. Returns false if they were not, or could not be renamed;
 * then none of them exists any more. */
bool prealloc_take(prealloc_t *self, const char *id, const char *runtime_folder,
                   const char *state_folder);
/* Gives the sockets and the group to the launch of that session; the group only
 * if its limits are these. Called after prealloc_take. */
void prealloc_take_resources(prealloc_t *self, const char *id,
                             const cgroup_limits_t *limits,
                             launch_resources_t *ret_resources);

#endif
