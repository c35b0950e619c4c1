/* How many sessions fit, by their descriptors (gateway/config/fd_limits.h):
 * also those that are gone and only say why have some. Lives in the main
 * thread. */
#include "gateway/registry/internal.h"

#include "base/log.h"
#include "gateway/config/fd_limits.h"

#include <inttypes.h>
#include <stdint.h>

#define AHEAD_MAX 64 /* sessions that are made before others are forgotten */

void room_measure(registry_t *self)
{
    self->capacity = budget_sessions(self->options);
    self->gone_max = self->options->gone_max;
    if (self->gone_max > self->capacity / 4)
        self->gone_max = self->capacity / 4;
    if (self->capacity < self->options->sessions_max)
        log_warning("RLIMIT_NOFILE permits %zu sessions, not the %" PRIu64
                    " of sessions/sessions_max",
                    self->capacity, self->options->sessions_max);
}

/* None yet while the registry is made. */
static size_t count_doors(const registry_t *self)
{
    return self->doors ? doors_count(self->doors) : 0;
}

bool room_is_left(const registry_t *self)
{
    return self->entry_count + self->waiting_count + count_doors(self)
           < self->capacity;
}

static entry_t *oldest_gone(const registry_t *self)
{
    entry_t *oldest = NULL;

    for (entry_t *at = self->entries; at; at = at->next)
        if (at->is_gone && !at->is_forgotten
            && (!oldest || at->gone_ms < oldest->gone_ms))
            oldest = at;
    return oldest;
}

/* No more than leave room for those to come: for a few ahead of time, since
 * what is given up is free only a moment later. */
static size_t gone_permitted(const registry_t *self)
{
    size_t ahead =
        self->capacity / 16 < AHEAD_MAX ? self->capacity / 16 : AHEAD_MAX;
    size_t others = self->entry_count - self->gone_count + self->waiting_count
                    + count_doors(self) + ahead;
    size_t left = self->capacity > others ? self->capacity - others : 0;

    return self->gone_max < left ? self->gone_max : left;
}

/* Who is gone still has a thread, its ports and what is open for them. Of many
 * the oldest give them up: the tombstone on disk tells as much. */
void room_forget_gone(registry_t *self)
{
    entry_t *oldest;

    while (!self->is_stopping && self->gone_count > gone_permitted(self)
           && (oldest = oldest_gone(self))) {
        oldest->is_forgotten = true;
        self->gone_count--;
        line_say(oldest->line, "FORGET", NULL, NULL);
    }
}
