/* How long a session's replies took: gathered, and told to the registry with
 * others in a moment, since a message for each would cost more than it says. */
#include "gateway/session/internal.h"

#include "base/clock.h"

#define TRIPS_MS 500

void trips_tell(self_t *self)
{
    session_stop_timer(self, &self->trips_timer);
    if (!self->trips.count)
        return;
    cleanup_free char *written = histogram_write(&self->trips);
    commands_tell(self, "TRIPS", written, NULL);
    self->trips = (histogram_t){0};
}

static int on_trips(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->trips_timer = 0;
    trips_tell(self);
    return 0;
}

void trips_count(self_t *self, const request_t *request)
{
    if (!request->came_us || request->is_answered)
        return;
    histogram_note(&self->trips, histogram_round_trip,
                   clock_monotonic_us() - request->came_us);
    if (!self->trips_timer)
        session_start_timer(self, &self->trips_timer, TRIPS_MS, on_trips);
}
