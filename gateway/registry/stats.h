/* What has happened since the gateway began, for who asks by
 * gateway_info_request: sessions that came and went, limits that were hit,
 * how long starts took. Numbers that only grow; the registry's thread alone. */
#ifndef HEARTH_GATEWAY_REGISTRY_STATS_H
#define HEARTH_GATEWAY_REGISTRY_STATS_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdint.h>

typedef struct tally tally_t;

/* The limits of the gateway itself. */
#define TALLY_SESSIONS "sessions" /* sessions_max, or no descriptors left */
#define TALLY_STARTS   "starts"   /* starts_queue: as many wait already */

tally_t *tally_new(void);
void tally_destroy(tally_t **self_p);
/* A session is somebody's now, so long after it was asked for. */
void tally_start(tally_t *self, int64_t us);
/* Its reason is one of LIFE_REASONS. */
void tally_end(tally_t *self, const char *reason);
/* One of a session's limits, by its name there, or of those above. */
void tally_limit(tally_t *self, const char *limit);
/* Requests that have their replies, as histogram_write tells of them. */
void tally_trips(tally_t *self, const char *written);
/* {"ended": {reason: number}, "limits": {limit: number}, "starts": {"count",
 * "seconds", "bounds": [seconds], "buckets": [number up to that]}, "trips": the
 * same}; given. */
json_t *tally_describe(const tally_t *self);

#endif
