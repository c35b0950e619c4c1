/* How often a session's resources are looked at. Pure arithmetic. */
#ifndef HEARTH_GATEWAY_SESSION_LIMITS_LOOK_PACE_H
#define HEARTH_GATEWAY_SESSION_LIMITS_LOOK_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Looks take a fiftieth of the time, unless that makes them late: a runaway
 * process takes gigabytes in a second. */
#define LOOK_SHARE     50
#define LOOK_LATEST_MS 1000

typedef struct {
    int64_t base_ms;    /* of a session that works */
    int64_t slowest_ms; /* of one that does nothing */
} look_pace_t;

/* Returns the ms to the next look, when the last pause was `period_ms` and the
 * look took `took_ms`. */
int64_t look_pace_next(const look_pace_t *self, int64_t period_ms,
                       int64_t took_ms, bool is_quiet);

#endif
