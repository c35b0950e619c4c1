/* Keeps recording, workspace and packages of gone sessions for
 * sessions/journal_keep, and then removes them. A session in the table
 * stays. */
#ifndef HEARTH_GATEWAY_REGISTRY_STORAGE_RETENTION_H
#define HEARTH_GATEWAY_REGISTRY_STORAGE_RETENTION_H

#include "base/cleanup.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/storage/packages_folder.h"
#include "gateway/registry/storage/remover.h"

#include <czmq.h>
#include <jansson.h>

typedef struct retention retention_t;

/* Returns a retention that keeps sessions for `keep_ms`; 0: for ever. The
 * remover removes the content of the folder `aside`. `table`, `packages` and
 * `remover` are borrowed. */
retention_t *retention_new(const char *state_dir, const char *aside,
                           int64_t keep_ms, const session_table_t *table,
                           packages_folder_t *packages, remover_t *remover);
void retention_destroy(retention_t **self_p);
#define cleanup_retention CLEANUP(retention_destroy)

/* Sets the clocks: the time since then is measured by the monotonic one. */
void retention_begin(retention_t *self, int64_t wall_us, int64_t monotonic_ms);
/* Looks at a few sessions and moves those aside whose time is over. Returns
 * after how many milliseconds it is to be called again. */
int64_t retention_step(retention_t *self, int64_t wall_us,
                       int64_t monotonic_ms);
/* Lists what is left of sessions that the table has forgotten, a part at a
 * time: "recordings" after the id `after`, and "next", the next call's `after`.
 * Returns the reply; the caller owns it. */
json_t *retention_list(const retention_t *self, const char *after);
/* Describes recording and workspace of one of them. Returns the reply; the
 * caller owns it. */
json_t *retention_remove(retention_t *self, const char *id);

/* Calls retention_step from the loop, from a moment on. */
void retention_run(retention_t *self, zloop_t *loop);

#endif
