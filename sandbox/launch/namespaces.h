/* Steps of a launch: namespaces, the identity in them, control group, loopback
 * and host name. */
#ifndef HEARTH_SANDBOX_LAUNCH_NAMESPACES_H
#define HEARTH_SANDBOX_LAUNCH_NAMESPACES_H

#include "sandbox/launch/clone.h"
#include "sandbox/launch/entry.h"

/* Makes the clone; called by the caller. */
int namespaces_clone(const launch_entry_t *entry, clone_t *clone,
                     int (*run)(void *), void *argument,
                     sandbox_child_t *ret_child, fault_t *fault);
int namespaces_map(const launch_entry_t *entry, pid_t pid, fault_t *fault);
/* Returns how many namespaces are made beside the fork. */
size_t namespaces_count(const launch_entry_t *entry);
step_fn namespaces_join_group;
step_fn namespaces_make;  /* makes those that are made beside the fork */
step_fn namespaces_open;  /* opens them for the payload and pid 1 */
step_fn namespaces_enter; /* enters them by these descriptors */
step_fn namespaces_await_map;
step_fn namespaces_make_own_mounts; /* enters the workspace, which it keeps */
step_fn namespaces_take_identity;
step_fn namespaces_take_payload_identity;
step_fn namespaces_offer_to_oom;
step_fn namespaces_raise_loopback;
step_fn namespaces_set_hostname;

#endif
