/* See latency.h. */
#include "gateway/session/requests/latency.h"

void latency_count(latency_t *self, const request_t *request, int64_t now_us)
{
    if (request->came_us && !request_is_answered(request))
        histogram_note(&self->gathered, histogram_round_trip,
                       now_us - request->came_us);
}

bool latency_is_empty(const latency_t *self)
{
    return !self->gathered.count;
}

histogram_t latency_take(latency_t *self)
{
    histogram_t taken = self->gathered;

    self->gathered = (histogram_t){0};
    return taken;
}
