/* A token bucket for log lines and audit records that peers cause: a burst,
 * then a number a second, with a count of those left out. Plain data, one
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

/* Returns true if a line may be written at `now_ms` (monotonic). *ret_count is
 * then 1 plus the number of lines left out before. */
bool rate_allows(rate_t *self, int64_t now_ms, uint64_t *ret_count);

#endif
