/* See stats.h. */
#include "gateway/registry/core/stats.h"

#include "gateway/metrics/histogram.h"
#include "gateway/session/lifecycle/end_cause.h"
#include "protocol/session_limits.h"

#include <string.h>

/* Seconds; from a session of the pool to one that waited in the queue. */
static const double bounds[HISTOGRAM_BUCKETS] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1,    0.25,  0.5,    1,     2.5,  10,    60};

struct stats {
    json_t *ended, *limits; /* owned; name -> number */
    histogram_t starts, round_trips;
};

static void init(json_t *counts, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_object_set_new(counts, names[i], json_integer(0));
}

/* Makes the counters. All names begin at 0, so that a rate is right from the
 * first event on. */
stats_t *stats_new(void)
{
    static const char *const reasons[] = {
#define X(name, text) text,
        END_REASONS(X)
#undef X
    };
    static const char *const others[] = {"wall",         "output",
                                         "workspace",    "message_memory",
                                         STATS_SESSIONS, STATS_STARTS};
    stats_t *self = mem_new(sizeof *self);

    self->ended = json_object();
    self->limits = json_object();
    init(self->ended, reasons + 1, sizeof reasons / sizeof *reasons - 1);
    init(self->limits, others, sizeof others / sizeof *others);
    for (size_t i = 0; i < SESSION_LIMIT_COUNT; i++)
        if (session_limits[i].reached != SESSION_LIMIT_SILENT)
            init(self->limits, &session_limits[i].name, 1);
    return self;
}

void stats_destroy(stats_t **self_p)
{
    stats_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->limits);
    json_decref(self->ended);
    free(self);
    *self_p = NULL;
}

/* Counts a name of the list. Others are dropped, because clients must not
 * create labels. */
static void count(json_t *counts, const char *name)
{
    json_t *number = json_object_get(counts, name);

    if (number)
        json_integer_set(number, json_integer_value(number) + 1);
}

void stats_start(stats_t *self, int64_t us)
{
    histogram_note(&self->starts, bounds, us);
}

void stats_end(stats_t *self, const char *reason)
{
    count(self->ended, reason);
}

void stats_limit(stats_t *self, const char *limit)
{
    count(self->limits, limit);
}

void stats_round_trips(stats_t *self, const histogram_t *round_trips)
{
    histogram_merge(&self->round_trips, round_trips);
}

json_t *stats_describe(const stats_t *self)
{
    return json_pack(
        "{s:o,s:o,s:o,s:o}", "ended", json_deep_copy(self->ended), "limits",
        json_deep_copy(self->limits), "starts",
        histogram_describe(&self->starts, bounds), "trips",
        histogram_describe(&self->round_trips, histogram_round_trip));
}
