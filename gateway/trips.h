/* How long requests took, each from when it came to when its reply went, as a
 * histogram: a session counts its own, and the registry adds up what sessions
 * tell it. Plain data. */
#ifndef HEARTH_GATEWAY_TRIPS_H
#define HEARTH_GATEWAY_TRIPS_H

#include <stdint.h>

#define TRIPS_BUCKETS 14

typedef struct {
    uint64_t buckets[TRIPS_BUCKETS]; /* each without those before it */
    uint64_t count;
    uint64_t us; /* of all of them */
} trips_t;

void trips_note(trips_t *self, int64_t us);
/* For another thread; the caller's. */
char *trips_write(const trips_t *self);
void trips_add(trips_t *self, const char *written);
/* What the buckets end at, in seconds; the longest ones are in none. */
extern const double trips_bounds[TRIPS_BUCKETS];

#endif
