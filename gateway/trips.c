/* See trips.h. */
#include "gateway/trips.h"

#include "base/buffer.h"

#include <inttypes.h>
#include <stdlib.h>

const double trips_bounds[TRIPS_BUCKETS] = {
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
    0.025,  0.05,   0.1,    0.5,   1,     10,    60};

void trips_note(trips_t *self, int64_t us)
{
    uint64_t took = us > 0 ? (uint64_t) us : 0;

    for (size_t i = 0; i < TRIPS_BUCKETS; i++)
        if ((double) took <= trips_bounds[i] * 1e6) {
            self->buckets[i]++;
            break;
        }
    self->count++;
    self->us += took;
}

char *trips_write(const trips_t *self)
{
    buffer_t out = BUFFER_EMPTY;

    buffer_format(&out, "%" PRIu64 " %" PRIu64, self->count, self->us);
    for (size_t i = 0; i < TRIPS_BUCKETS; i++)
        buffer_format(&out, " %" PRIu64, self->buckets[i]);
    return (char *) out.data;
}

void trips_add(trips_t *self, const char *written)
{
    char *at;

    self->count += strtoull(written, &at, 10);
    self->us += strtoull(at, &at, 10);
    for (size_t i = 0; i < TRIPS_BUCKETS; i++)
        self->buckets[i] += strtoull(at, &at, 10);
}
