/* Counts events since the gateway began, for gateway_info_request: sessions
 * that came and went, limits that were reached, how long starts took. The
 * numbers only grow. Used by the registry's thread alone. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_STATS_H
#define HEARTH_GATEWAY_REGISTRY_CORE_STATS_H

#include "base/buffer.h"
#include "gateway/metrics/histogram.h"

#include <jansson.h>
#include <stdint.h>

typedef struct stats stats_t;

/* The limits of the gateway itself. */
#define STATS_SESSIONS "sessions" /* sessions_max, or no descriptors left */
#define STATS_STARTS   "starts"   /* starts_queue is full */

stats_t *stats_new(void);
void stats_destroy(stats_t **self_p);
/* Counts a start and its duration. */
void stats_start(stats_t *self, int64_t us);
/* Counts an end by its reason, one of END_REASONS. */
void stats_end(stats_t *self, const char *reason);
/* Counts a limit that was reached, by its name. */
void stats_limit(stats_t *self, const char *limit);
/* Adds how long requests waited for their replies. */
void stats_round_trips(stats_t *self, const histogram_t *round_trips);
/* Returns all counts, for the caller: {"ended": {reason: number}, "limits":
 * {limit: number}, "starts": {"count", "seconds", "bounds": [seconds],
 * "buckets": [number up to that]}, "trips": the same}. */
json_t *stats_describe(const stats_t *self);

#endif
