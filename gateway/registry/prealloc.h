/* What the session that is forked next needs, made while nobody waits: its
 * folders, its kernel's listening sockets and its control group. A new file or
 * folder can take half a millisecond (ext4 looks for an inode that was not
 * given back of late), giving it another name takes a thirtieth; a group in
 * five hierarchies takes another half. */
#ifndef HEARTH_GATEWAY_REGISTRY_PREALLOC_H
#define HEARTH_GATEWAY_REGISTRY_PREALLOC_H

#include "base/cleanup.h"
#include "gateway/registry/launch_resources.h"

#include <stdbool.h>

typedef struct blank blank_t;

/* Nothing is there yet; what an earlier gateway left is removed. `groups` is
 * borrowed. */
blank_t *blank_new(const char *runtime_dir, const char *state_dir,
                   const cgroups_t *groups);
void blank_destroy(blank_t **self_p);
#define cleanup_blank CLEANUP(blank_destroy)

bool blank_is_there(const blank_t *self);
/* For a session of that id, in a group with these limits. Quietly: whoever
 * finds none makes it all and hears what is wrong. */
void blank_make(blank_t *self, const char *id, const cgroup_limits_t *limits);
/* Whose it is until the next one is made; NULL: there never was one. */
const char *blank_id(const blank_t *self);
/* The folders get these names, when it is of that id; in the second one is
 * `workspace`. False: it is of another one, or they could not; in that case
 * nothing is there any more. */
bool blank_take(blank_t *self, const char *id, const char *runtime_folder,
                const char *state_folder);
/* Then, for a launch in that runtime folder: what else there is for the session
 * of that id, the group only when its limits are these. */
void blank_take_outfit(blank_t *self, const char *id,
                       const cgroup_limits_t *limits, outfit_t *ret_outfit);

#endif
