/* See pool.h. The number of waiting sessions is between the profile's pool/min
 * and pool/max and follows the arrivals of the last seconds. The pool starts
 * one session at a time, with a pause between two, and only when no client
 * waits for a start: running cells and clients' requests come first. After a
 * failed start the pause grows, up to a minute.
 *
 * A member is a session like any other except for `is_pooled`: no listing shows
 * it, and no gateway takes it over. */
#include "gateway/registry/launch/pool.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define ARRIVALS_MAX 256   /* that are remembered */
#define WINDOW_MS    10000 /* of arrivals that the target follows */
#define REFILL_MS    40    /* pause between two starts for the pool */
#define VAIN_MS      100   /* first pause after a failed start; then doubled */
#define VAIN_MAX     9     /* doublings; 51.2 s */
#define MEMINFO_MAX  8192  /* bytes of /proc/meminfo that are read */

/* The pool of one profile. */
typedef struct {
    session_entry_t *first;         /* borrowed; members, by next_member */
    int64_t arrivals[ARRIVALS_MAX]; /* monotonic ms; a ring */
    uint64_t arrival_count;
    uint64_t handed_out;  /* sessions out of the pool */
    uint64_t forked;      /* sessions that a client waited for */
    unsigned vain_starts; /* in a row */
    int64_t refill_ms;    /* monotonic; no start before */
} pool_members_t;

struct pool {
    zloop_t *loop;               /* borrowed */
    const options_t *options;    /* borrowed */
    session_table_t *table;      /* borrowed */
    capacity_t *capacity;        /* borrowed */
    const pool_source_t *source; /* borrowed */
    void *arg;                   /* borrowed; of source */
    pool_members_t *profiles;    /* owned; in the order of the options */
    int timer;                   /* of the loop, for a refill; 0: none */
};

pool_t *pool_new(zloop_t *loop, const options_t *options,
                 session_table_t *table, capacity_t *capacity,
                 const pool_source_t *source, void *arg)
{
    pool_t *self = mem_new(sizeof *self);

    self->loop = loop;
    self->options = options;
    self->table = table;
    self->capacity = capacity;
    self->source = source;
    self->arg = arg;
    self->profiles = mem_new(options->profile_count * sizeof *self->profiles);
    return self;
}

void pool_destroy(pool_t **self_p)
{
    pool_t *self = *self_p;

    if (!self)
        return;
    free(self->profiles);
    free(self);
    *self_p = NULL;
}

static pool_members_t *find_members(const pool_t *self,
                                    const profile_t *profile)
{
    for (size_t i = 0; i < self->options->profile_count; i++)
        if (self->options->profiles[i] == profile)
            return &self->profiles[i];
    return NULL;
}

typedef struct {
    size_t ready, starting;
    session_entry_t *oldest; /* borrowed; of those that are ready */
} members_t;

static members_t count_members(const pool_members_t *self)
{
    members_t found = {0};

    for (session_entry_t *at = self->first; at; at = at->next_member) {
        if (session_entry_is_gone(at))
            continue;
        if (at->state != SESSION_ENTRY_READY) {
            found.starting++;
            continue;
        }
        found.ready++;
        if (!found.oldest || at->started_ms < found.oldest->started_ms)
            found.oldest = at;
    }
    return found;
}

session_entry_t *pool_find(const pool_t *self, const profile_t *profile)
{
    return count_members(find_members(self, profile)).oldest;
}

void pool_join(pool_t *self, session_entry_t *entry)
{
    pool_members_t *members = find_members(self, entry->profile);

    entry->next_member = members->first;
    members->first = entry;
}

void pool_leave(pool_t *self, const session_entry_t *entry)
{
    session_entry_t **at = &find_members(self, entry->profile)->first;

    while (*at && *at != entry)
        at = &(*at)->next_member;
    if (*at)
        *at = entry->next_member;
}

/* Delays the next refill after a failure: another launch would probably fail at
 * once, too. */
void pool_on_started(pool_t *self, const session_entry_t *entry, int64_t now_ms)
{
    pool_members_t *members = find_members(self, entry->profile);

    if (entry->state == SESSION_ENTRY_READY) {
        members->vain_starts = 0;
        return;
    }
    if (members->vain_starts < VAIN_MAX)
        members->vain_starts++;
    members->refill_ms = now_ms + ((int64_t) VAIN_MS << members->vain_starts);
}

void pool_count_arrival(pool_t *self, const profile_t *profile, int64_t now_ms)
{
    pool_members_t *members = find_members(self, profile);

    members->arrivals[members->arrival_count++ % ARRIVALS_MAX] = now_ms;
}

void pool_count_given(pool_t *self, const profile_t *profile, bool is_member)
{
    pool_members_t *members = find_members(self, profile);

    if (is_member)
        members->handed_out++;
    else
        members->forked++;
}

static size_t recent_arrivals(const pool_members_t *self, int64_t now_ms)
{
    uint64_t count = self->arrival_count;
    size_t recent = 0;

    while (recent < ARRIVALS_MAX && recent < count
           && now_ms - self->arrivals[(count - 1 - recent) % ARRIVALS_MAX]
                  < WINDOW_MS)
        recent++;
    return recent;
}

static size_t target_of(const pool_members_t *self, const profile_t *profile,
                        int64_t now_ms)
{
    const profile_pool_t *pool = &profile->pool;
    size_t wanted = (size_t) pool->min + recent_arrivals(self, now_ms);

    return wanted < pool->max ? wanted : (size_t) pool->max;
}

/* Returns the available memory of the machine in bytes (proc(5)); UINT64_MAX if
 * it is unknown. */
static uint64_t memory_available(void)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const char *at;
    fault_t fault;

    if (file_read("/proc/meminfo", MEMINFO_MAX, &text, &fault) < 0)
        return UINT64_MAX;
    buffer_append(&text, "", 1);
    at = strstr((const char *) text.data, "MemAvailable:");
    return at ? strtoull(at + strlen("MemAvailable:"), NULL, 10) << 10
              : UINT64_MAX;
}

static bool is_memory_short(const pool_t *self)
{
    return memory_available() < self->options->memory.reserve;
}

/* Ends a member; it is not handed out any more. */
static void end_member(pool_t *self, session_entry_t *entry)
{
    if (entry->state == SESSION_ENTRY_READY)
        session_table_set_waiting(self->table, entry);
    mailbox_line_send(entry->line, session_command_new(SESSION_DELETE, 0));
}

static bool is_short(const pool_t *self, const profile_t *profile,
                     int64_t now_ms)
{
    const pool_members_t *members = find_members(self, profile);
    members_t found = count_members(members);

    return self->source->is_ready(self->arg, profile)
           && now_ms >= members->refill_ms
           && found.ready + found.starting
                  < target_of(members, profile, now_ms);
}

/* Starts members. Those that are left out now are started at the end of a start
 * or at the next tick. */
void pool_refill(pool_t *self, int64_t now_ms)
{
    fault_t fault;

    capacity_forget_gone(self->capacity);
    if (session_table_is_closing(self->table)
        || self->source->is_busy(self->arg) || is_memory_short(self)
        || !capacity_is_left(self->capacity))
        return;
    self->source->prealloc(self->arg);
    for (size_t i = 0; i < self->options->profile_count; i++) {
        const profile_t *profile = self->options->profiles[i];

        if (!is_short(self, profile, now_ms))
            continue;
        if (self->source->make(self->arg, profile, &fault) < 0)
            log_warning("profile=%s pool: %s", profile->name, fault.text);
        return;
    }
}

static int on_refill(zloop_t *loop, int timer, void *arg)
{
    pool_t *self = arg;

    (void) loop;
    (void) timer;
    self->timer = 0;
    pool_refill(self, clock_monotonic_ms());
    return 0;
}

void pool_refill_soon(pool_t *self)
{
    if (!self->timer && !session_table_is_closing(self->table))
        self->timer = zloop_timer(self->loop, REFILL_MS, 1, on_refill, self);
}

void pool_drain(pool_t *self, const profile_t *profile)
{
    for (size_t i = 0; i < self->options->profile_count; i++) {
        if (profile && self->options->profiles[i] != profile)
            continue;
        for (session_entry_t *at = self->profiles[i].first; at;
             at = at->next_member)
            if (!session_entry_is_gone(at))
                end_member(self, at);
    }
}

/* Ends one surplus member. One at each tick is enough: surplus members cost
 * memory, not time. */
static void end_surplus(pool_t *self, const profile_t *profile, int64_t now_ms)
{
    const pool_members_t *members = find_members(self, profile);
    members_t found = count_members(members);
    int64_t max_age_ms = profile->pool.max_age_ms;

    if (!found.oldest)
        return;
    if (found.ready > target_of(members, profile, now_ms)
        || (max_age_ms && now_ms - found.oldest->started_ms > max_age_ms))
        end_member(self, found.oldest);
}

void pool_tick(pool_t *self, int64_t now_ms)
{
    if (is_memory_short(self))
        pool_drain(self, NULL);
    for (size_t i = 0; i < self->options->profile_count; i++)
        end_surplus(self, self->options->profiles[i], now_ms);
    pool_refill_soon(self);
}

json_t *pool_describe(const pool_t *self, const profile_t *profile,
                      int64_t now_ms)
{
    const pool_members_t *members = find_members(self, profile);

    return json_pack("{s:I,s:I,s:I,s:I}", "ready",
                     (json_int_t) count_members(members).ready, "target",
                     (json_int_t) target_of(members, profile, now_ms),
                     "handed_out", (json_int_t) members->handed_out, "forked",
                     (json_int_t) members->forked);
}
