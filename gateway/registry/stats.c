/* See stats.h. */
#include "gateway/registry/stats.h"

#include "gateway/metrics/histogram.h"
#include "gateway/session/state.h"

#include <string.h>

/* Seconds, from a session that waited in the pool to one that stood in line. */
static const double bounds[HISTOGRAM_BUCKETS] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1,    0.25,  0.5,    1,     2.5,  10,    60};

struct tally {
    json_t *ended, *limits; /* owned; name -> number */
    histogram_t starts, trips;
};

static void init(json_t *counts, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        json_object_set_new(counts, names[i], json_integer(0));
}

/* A name stands there before it has happened: who draws a rate sees the
 * first one. */
tally_t *tally_new(void)
{
    static const char *const reasons[] = {
#define X(name, text) text,
        LIFE_REASONS(X)
#undef X
    };
    static const char *const limits[] = {
        "memory",         "processes",    "cpu",           "wall",
        "output",         "workspace",    "tmp",           "shm",
        "open_files",     "file_size",    "journal_bytes", "requests",
        "requests_bytes", TALLY_SESSIONS, TALLY_STARTS};
    tally_t *self = mem_new(sizeof *self);

    self->ended = json_object();
    self->limits = json_object();
    init(self->ended, reasons + 1, sizeof reasons / sizeof *reasons - 1);
    init(self->limits, limits, sizeof limits / sizeof *limits);
    return self;
}

void tally_destroy(tally_t **self_p)
{
    tally_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->limits);
    json_decref(self->ended);
    free(self);
    *self_p = NULL;
}

/* What is not in the list is none: a label must not be made by a name. */
static void count(json_t *counts, const char *name)
{
    json_t *number = json_object_get(counts, name);

    if (number)
        json_integer_set(number, json_integer_value(number) + 1);
}

void tally_start(tally_t *self, int64_t us)
{
    histogram_note(&self->starts, bounds, us);
}

void tally_end(tally_t *self, const char *reason)
{
    count(self->ended, reason);
}

void tally_limit(tally_t *self, const char *limit)
{
    count(self->limits, limit);
}

void tally_trips(tally_t *self, const char *written)
{
    histogram_add(&self->trips, written);
}

json_t *tally_describe(const tally_t *self)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "ended", json_deep_copy(self->ended),
                     "limits", json_deep_copy(self->limits), "starts",
                     histogram_describe(&self->starts, bounds), "trips",
                     histogram_describe(&self->trips, histogram_round_trip));
}
