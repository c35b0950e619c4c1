/* The place of a profile's zygote: the state of the current zygote, of earlier
 * ones, and of the launches that wait for it. Decides when the next zygote is
 * started and which launches are repeated; launcher.h acts. Belongs to the main
 * thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_ZYGOTE_SLOT_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_ZYGOTE_SLOT_H

#include "base/cleanup.h"
#include "gateway/registry/core/session_table.h"
#include "kernels/profile.h"

#define ZYGOTE_SLOT_RETRY_MS     2000 /* the first pause before another start */
#define ZYGOTE_SLOT_REFUSED_MS   (3600 * 1000) /* after a refusal of packages */
#define ZYGOTE_SLOT_FAILURES_MAX 3 /* in a row; then launches fail at once */

typedef struct zygote_slot zygote_slot_t;

/* Returns a slot without a zygote, which the caller owns. `profile` is
 * borrowed. */
zygote_slot_t *zygote_slot_new(const profile_t *profile);
void zygote_slot_destroy(zygote_slot_t **self_p);
#define cleanup_zygote_slot CLEANUP(zygote_slot_destroy)

const profile_t *zygote_slot_profile(const zygote_slot_t *self);
/* Returns why the last zygote ended or could not start. */
const char *zygote_slot_fault(const zygote_slot_t *self);
/* Returns the Python version of the zygote that is ready, else "". */
const char *zygote_slot_python(const zygote_slot_t *self);
/* Returns true while no zygote is there but the next one is expected soon. */
bool zygote_slot_comes_back(const zygote_slot_t *self);

/* Notes that a zygote was started, or that it could not be, which fails the
 * waiting launches; returns the milliseconds until another try. */
void zygote_slot_on_started(zygote_slot_t *self, int64_t now_ms);
int64_t zygote_slot_on_refused(zygote_slot_t *self, const char *fault);
/* Notes that the packages are made that the next zygote needs: launches wait
 * for it. */
void zygote_slot_on_preparing(zygote_slot_t *self);
/* Notes that the packages could not be made, which fails the waiting launches.
 * Returns the milliseconds until they are tried again. `is_refused`: nothing
 * but time or the operator changes that. */
int64_t zygote_slot_on_unprepared(zygote_slot_t *self, bool is_refused,
                                  const char *fault);
/* Notes that the zygote is warm, and which Python it has. */
void zygote_slot_on_ready(zygote_slot_t *self, const char *python);
void zygote_slot_on_forked(zygote_slot_t *self);
/* Notes that the zygote is replaced on purpose. Its launches are repeated. */
void zygote_slot_on_replaced(zygote_slot_t *self, const char *why);
/* Notes that the zygote has ended. `is_explained`: it reported why it cannot
 * start. Returns the milliseconds until another one is started. Launches are
 * repeated if zygote_slot_comes_back, and fail otherwise. */
int64_t zygote_slot_on_gone(zygote_slot_t *self, bool is_explained,
                            const char *why);

/* Returns true if another zygote should replace it: it has made its number of
 * sessions or is too old, and no launch is under way. */
bool zygote_slot_is_worn(const zygote_slot_t *self, int64_t now_ms);
uint64_t zygote_slot_forks(const zygote_slot_t *self);

/* Returns true while its environment on disk is being changed: then no member
 * of the pool is forked. */
bool zygote_slot_is_changing(const zygote_slot_t *self);
void zygote_slot_set_changing(zygote_slot_t *self, bool is_changing);

/* Notes that the zygote was asked for the launch of that number. */
void zygote_slot_launch(zygote_slot_t *self, session_entry_t *entry,
                        uint64_t number);
/* Returns the session whose launch has that number, NULL without one. */
session_entry_t *zygote_slot_find(const zygote_slot_t *self, uint64_t number);
/* Returns a session whose launch is under way, NULL without one. */
session_entry_t *zygote_slot_first_launch(const zygote_slot_t *self);
/* Returns true if the current zygote was asked for the session's kernel. */
bool zygote_slot_made(const zygote_slot_t *self, const session_entry_t *entry);
/* Makes the session wait for the next zygote, after those that already wait. */
void zygote_slot_park(zygote_slot_t *self, session_entry_t *entry);
/* Returns the session that has waited longest for a zygote, and takes it out;
 * NULL if no session waits. */
session_entry_t *zygote_slot_take_parked(zygote_slot_t *self);
/* Takes the session out of those that wait for a zygote. */
void zygote_slot_unpark(zygote_slot_t *self, const session_entry_t *entry);
/* Forgets the session's launch, which is over or not wanted any more. */
void zygote_slot_forget(zygote_slot_t *self, session_entry_t *entry);

#endif
