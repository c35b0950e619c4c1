/* How long things took: how many there were up to each of some bounds, how many
 * in all, and how long together. Plain data, that threads can hand over.
 */
#ifndef HEARTH_GATEWAY_METRICS_HISTOGRAM_H
#define HEARTH_GATEWAY_METRICS_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS 14

typedef struct {
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* each without those before it */
    uint64_t count;
    uint64_t us; /* of all of them */
} histogram_t;

/* Counts a duration of `us` microseconds. `bounds` are HISTOGRAM_BUCKETS
 * numbers of seconds, ascending. A duration past the last bound is in the count
 * and in the sum alone. */
void histogram_note(histogram_t *self, const double *bounds, int64_t us);
/* Adds what the other one has counted. */
void histogram_merge(histogram_t *self, const histogram_t *other);
/* Returns {"count", "seconds", "bounds": [seconds], "buckets": [number up to
 * that]}, which the caller owns. */
struct json_t *histogram_describe(const histogram_t *self,
                                  const double *bounds);

/* Bounds for the time from a request's arrival to its reply. */
extern const double histogram_round_trip[HISTOGRAM_BUCKETS];

#endif
