/* Requests that wait until the packages of their profile are made
 * (packages/preinstall): for sessions, and for a fresh kernel of a session,
 * whose old one lives on. They take nothing from others: each profile has a
 * queue of its own. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_SESSIONS_PACKAGE_WAIT_H
#define HEARTH_GATEWAY_REGISTRY_SESSIONS_PACKAGE_WAIT_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "kernels/profile.h"
#include "protocol/message.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct package_wait package_wait_t;
/* Takes a request that has waited, or has to be refused since the gateway
 * stops. `content` is borrowed; `asked_us` is when it came, monotonic. */
typedef void package_wait_fn(const registry_parts_t *parts, json_t *content,
                             message_t **request_p, int64_t asked_us);

/* Returns queues without requests; the caller owns the object. `parts` is
 * borrowed, and may be filled later. */
package_wait_t *package_wait_new(const registry_parts_t *parts);
/* Drops the requests. */
void package_wait_destroy(package_wait_t **self_p);
#define cleanup_package_wait CLEANUP(package_wait_destroy)

/* Returns the error if the profile's kernels cannot start because its packages
 * cannot be had; NULL if that is not so. */
json_t *package_wait_refusal(const registry_parts_t *parts,
                             const profile_t *profile);
/* Returns true while they are made: a request has to wait. */
bool package_wait_is_due(const registry_parts_t *parts,
                         const profile_t *profile);
/* Has the request wait for the packages of the profile; `go_on` gets it then.
 * Owns the request and a reference to its parsed content. Refuses it if
 * gateway/starts_queue requests wait for them. */
void package_wait_hold(package_wait_t *self, const profile_t *profile,
                       json_t *content, message_t **request_p, int64_t asked_us,
                       package_wait_fn *go_on);
/* Drops a request of the same connection as `withdrawal`, by its msg_id: its
 * client has gone. Nothing happens if it does not wait. */
void package_wait_withdraw(package_wait_t *self, const message_t *withdrawal,
                           const char *msg_id);
/* Lets the requests of a profile go on, in the order in which they came: it has
 * its packages, or cannot have them. Drops those of processes that have ended.
 */
void package_wait_go_on(package_wait_t *self, const profile_t *profile);
/* Lets all requests go on, because the gateway stops. */
void package_wait_stop(package_wait_t *self);
/* Returns how many requests wait. */
size_t package_wait_size(const package_wait_t *self);

#endif
