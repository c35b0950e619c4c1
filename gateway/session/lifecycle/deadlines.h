/* Computes the time until a session's deadlines, and its inactivity clock.
 * Pure: times are arguments. The wall clock may have been set meanwhile, so no
 * time is longer than its whole. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_DEADLINES_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the ms that are left at `now_us` of `whole_ms` that began at
 * `begun_us`, both by the wall clock: from 1 to `whole_ms`. `begun_us` 0: it
 * begins now. */
int64_t deadlines_left(int64_t whole_ms, int64_t begun_us, int64_t now_us);

/* Returns the time limit of a cell in ms, 0 for no limit. The cell's own limit
 * has precedence over the session's. */
int64_t deadlines_cell_limit(int64_t own_ms, int64_t session_ms);

/* Returns when a session was active last: when its inactivity began anew, or at
 * an output, of which those until `until_us` count. By the wall clock in us;
 * `output_us` 0: none. */
int64_t deadlines_active(int64_t begun_us, int64_t output_us, int64_t until_us);

/* Returns when a session that was last active then expires, by the wall clock
 * in us; 0: never, by inactivity. */
int64_t deadlines_expiry(int64_t active_us, int64_t timeout_ms,
                         bool is_counting);

#endif
