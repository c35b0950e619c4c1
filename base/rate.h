/* How often something that others cause may be told: so many at once, then so
 * many a second, and how many were left out in between. Plain data, one
 * thread. */
#ifndef HEARTH_BASE_RATE_H
#define HEARTH_BASE_RATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t full_ms;   /* monotonic; when all that may come at once may again */
    uint64_t left_out; /* since the last one that was allowed */
} rate_t;

#define RATE_BURST  20  /* at once */
#define RATE_GAP_MS 500 /* and then one each */

/* Whether it may be told at `now_ms` (monotonic). *ret_count is for how many
 * it stands when it may: itself and those that were left out before. */
bool rate_allows(rate_t *self, int64_t now_ms, uint64_t *ret_count);

#endif
