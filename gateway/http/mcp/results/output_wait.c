/* See output_wait.h. */
#include "gateway/http/mcp/results/output_wait.h"

int64_t output_wait_due(const output_wait_t *self)
{
    int64_t quiet_ms = self->heard_ms;

    if (self->next < self->known)
        return -1;
    if (!self->has_output || self->follow == FOLLOW_END)
        return self->until_ms;
    if (self->follow == FOLLOW_QUIET)
        quiet_ms += OUTPUT_WAIT_QUIET_MS;
    return quiet_ms < self->until_ms ? quiet_ms : self->until_ms;
}
