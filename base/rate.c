/* See rate.h. A bucket of RATE_BURST tokens, as the time at which it would be
 * full again. */
#include "base/rate.h"

bool rate_allows(rate_t *self, int64_t now_ms, uint64_t *ret_count)
{
    if (self->full_ms < now_ms)
        self->full_ms = now_ms;
    if (self->full_ms - now_ms > (RATE_BURST - 1) * RATE_GAP_MS) {
        self->left_out++;
        return false;
    }
    self->full_ms += RATE_GAP_MS;
    *ret_count = self->left_out + 1;
    self->left_out = 0;
    return true;
}
