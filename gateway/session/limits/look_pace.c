/* See look_pace.h. */
#include "gateway/session/limits/look_pace.h"

int64_t look_pace_next(const look_pace_t *self, int64_t period_ms,
                       int64_t took_ms, bool is_quiet)
{
    int64_t next = is_quiet ? period_ms * 2 : self->base_ms;
    int64_t share = took_ms * LOOK_SHARE;

    if (next > self->slowest_ms)
        next = self->slowest_ms;
    if (share > LOOK_LATEST_MS)
        share = LOOK_LATEST_MS;
    return next < share ? share : next;
}
