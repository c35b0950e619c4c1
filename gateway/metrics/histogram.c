/* See histogram.h. */
#include "gateway/metrics/histogram.h"

#include "base/buffer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

const double histogram_round_trip[HISTOGRAM_BUCKETS] = {
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
    0.025,  0.05,   0.1,    0.5,   1,     10,    60};

void histogram_note(histogram_t *self, const double *bounds, int64_t us)
{
    uint64_t took = us > 0 ? (uint64_t) us : 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if ((double) took <= bounds[i] * 1e6) {
            self->buckets[i]++;
            break;
        }
    self->count++;
    self->us += took;
}

void histogram_merge(histogram_t *self, const histogram_t *other)
{
    self->count += other->count;
    self->us += other->us;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        self->buckets[i] += other->buckets[i];
}

json_t *histogram_describe(const histogram_t *self, const double *bounds)
{
    json_t *limits = json_array(), *buckets = json_array();
    uint64_t below = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += self->buckets[i];
        json_array_append_new(limits, json_real(bounds[i]));
        json_array_append_new(buckets, json_integer((json_int_t) below));
    }
    return json_pack("{s:I,s:f,s:o,s:o}", "count", (json_int_t) self->count,
                     "seconds", (double) self->us / 1e6, "bounds", limits,
                     "buckets", buckets);
}
