/* The pool: complete sessions (kernel forked, sandbox entered, sockets bound)
 * that wait to be handed out, for each profile. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_POOL_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_POOL_H

#include "base/cleanup.h"
#include "gateway/config/options.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/session_table.h"

#include <czmq.h>
#include <jansson.h>

typedef struct pool pool_t;

/* The parts that make the pool's sessions. */
typedef struct {
    /* Returns true if the profile's zygote can fork. */
    bool (*is_ready)(void *arg, const profile_t *profile);
    /* Returns true if a session is starting or a client waits for one. */
    bool (*is_busy)(void *arg);
    /* Prepares resources of the next fork, unless they exist. */
    void (*prealloc)(void *arg);
    /* Starts a session that joins the pool. */
    int (*make)(void *arg, const profile_t *profile, fault_t *fault);
} pool_source_t;

/* Returns empty pools for all profiles; the caller owns the object. All
 * arguments are borrowed; `arg` is for the functions of `source`. */
pool_t *pool_new(zloop_t *loop, const options_t *options,
                 session_table_t *table, capacity_t *capacity,
                 const pool_source_t *source, void *arg);
void pool_destroy(pool_t **self_p);
#define cleanup_pool CLEANUP(pool_destroy)

/* Returns the ready member that has waited longest; NULL if no member is ready.
 * It stays a member until pool_leave. */
session_entry_t *pool_find(const pool_t *self, const profile_t *profile);
/* Adds the session to its profile's pool, or removes it. */
void pool_join(pool_t *self, session_entry_t *entry);
void pool_leave(pool_t *self, const session_entry_t *entry);
/* Notes that a member is ready, or that its start has failed. */
void pool_on_started(pool_t *self, const session_entry_t *entry,
                     int64_t now_ms);
/* Notes that a session of the profile was asked for. */
void pool_count_arrival(pool_t *self, const profile_t *profile, int64_t now_ms);
/* Notes that a session of the profile was given to a client: a member, or a new
 * one. */
void pool_count_given(pool_t *self, const profile_t *profile, bool is_member);

/* Starts one session if a pool is short of one and none of the reasons against
 * it holds. */
void pool_refill(pool_t *self, int64_t now_ms);
/* Does pool_refill in a moment. */
void pool_refill_soon(pool_t *self);
/* Ends the members of a profile; NULL: of all. */
void pool_drain(pool_t *self, const profile_t *profile);
/* Gives up members that are too many or too old, and all if memory is short;
 * refills in a moment. Called once a second. */
void pool_tick(pool_t *self, int64_t now_ms);
/* Returns {"ready","target","handed_out","forked"}; the caller owns it. */
json_t *pool_describe(const pool_t *self, const profile_t *profile,
                      int64_t now_ms);

#endif
