/* See capacity.h. Lives in the main thread. */
#include "gateway/registry/core/capacity.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/config/fd_limits.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#define AHEAD_MAX 64 /* sessions for which room is made ahead of time */

struct capacity {
    session_table_t *table;     /* borrowed */
    size_t sessions;            /* that fit */
    size_t gone_max;            /* how many of them may be gone */
    capacity_others_fn *others; /* counts users of descriptors that are not in
                                   the table */
    void *arg;                  /* borrowed; of others */
};

capacity_t *capacity_new(session_table_t *table, size_t sessions,
                         size_t gone_max, capacity_others_fn *others, void *arg)
{
    capacity_t *self = mem_new(sizeof *self);

    self->table = table;
    self->sessions = sessions;
    self->gone_max = gone_max < sessions / 4 ? gone_max : sessions / 4;
    self->others = others;
    self->arg = arg;
    return self;
}

void capacity_destroy(capacity_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

size_t capacity_measure(const options_t *options)
{
    size_t sessions = fd_limits_sessions(options);

    if (sessions < options->capacity.sessions_max)
        log_warning("RLIMIT_NOFILE permits %zu sessions, not the %" PRIu64
                    " of sessions/sessions_max",
                    sessions, options->capacity.sessions_max);
    return sessions;
}

size_t capacity_sessions(const capacity_t *self)
{
    return self->sessions;
}

bool capacity_is_left(const capacity_t *self)
{
    return session_table_count(self->table) + self->others(self->arg)
           < self->sessions;
}

static session_entry_t *oldest_gone(const session_table_t *table)
{
    session_entry_t *oldest = NULL;

    for (session_entry_t *at = session_table_first(table); at;
         at = session_table_next(at))
        if (at->state == SESSION_ENTRY_GONE
            && (!oldest || at->gone_ms < oldest->gone_ms))
            oldest = at;
    return oldest;
}

/* Returns how many gone sessions may stay beside the expected new ones. Room is
 * made in advance, because a forgotten session frees its descriptors only a
 * moment later. */
static size_t gone_permitted(const capacity_t *self)
{
    size_t ahead =
        self->sessions / 16 < AHEAD_MAX ? self->sessions / 16 : AHEAD_MAX;
    size_t used = session_table_count(self->table)
                  - session_table_gone(self->table) + self->others(self->arg)
                  + ahead;
    size_t left = self->sessions > used ? self->sessions - used : 0;

    return self->gone_max < left ? self->gone_max : left;
}

session_entry_t *capacity_next_forgotten(const capacity_t *self)
{
    if (session_table_is_closing(self->table)
        || session_table_gone(self->table) <= gone_permitted(self))
        return NULL;
    return oldest_gone(self->table);
}

/* Forgets gone sessions: a tombstone on disk gives the same answers as the
 * session's thread. */
void capacity_forget_gone(capacity_t *self)
{
    session_entry_t *oldest;

    while ((oldest = capacity_next_forgotten(self))) {
        session_table_set_forgotten(self->table, oldest);
        mailbox_line_send(oldest->line, session_command_new(SESSION_FORGET, 0));
    }
}
