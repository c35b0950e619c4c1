/* The pool: complete sessions (kernel forked, sandbox entered, sockets bound)
 * that wait to be handed out, per profile. How many is a number between the
 * profile's pool/min and pool/max that follows the arrivals of the last
 * seconds. It is filled one session at a time, with a pause between, and only
 * when nobody waits for a start: running cells and real requests come first.
 * After a start in vain the pause grows, to a minute at most. It gives its
 * members up when memory is short and when they are old.
 *
 * A member is a session like any other but for `is_pooled`: no listing shows
 * it, no gateway takes it over. Lives in the main thread. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_MS   10000 /* of arrivals that the target follows */
#define REFILL_MS   40    /* pause between two starts for the pool */
#define VAIN_MS     100   /* times two for each start in vain */
#define VAIN_MAX    9     /* 51.2 s */
#define MEMINFO_MAX 8192

typedef struct {
    size_t ready, starting;
    entry_t *oldest; /* of those that are ready */
} members_t;

static members_t count_members(registry_t *self, const profile_t *profile)
{
    members_t found = {0};

    const warmth_t *warmth = launcher_warmth(self, profile);

    for (entry_t *at = warmth->members; at; at = at->next_member) {
        if (at->is_gone)
            continue;
        if (!at->is_ready) {
            found.starting++;
            continue;
        }
        found.ready++;
        if (!found.oldest || at->started_ms < found.oldest->started_ms)
            found.oldest = at;
    }
    return found;
}

void pool_join(entry_t *entry)
{
    warmth_t *warmth = launcher_warmth(entry->registry, entry->profile);

    entry->next_member = warmth->members;
    warmth->members = entry;
}

void pool_leave(entry_t *entry)
{
    warmth_t *warmth = launcher_warmth(entry->registry, entry->profile);
    entry_t **at = &warmth->members;

    while (*at && *at != entry)
        at = &(*at)->next_member;
    if (*at)
        *at = entry->next_member;
}

/* A launch that fails would fail again at once, and so on for ever. */
void pool_on_started(const entry_t *entry)
{
    warmth_t *warmth = launcher_warmth(entry->registry, entry->profile);

    if (entry->is_ready) {
        warmth->vain_starts = 0;
        return;
    }
    if (warmth->vain_starts < VAIN_MAX)
        warmth->vain_starts++;
    warmth->refill_ms =
        clock_monotonic_ms() + ((int64_t) VAIN_MS << warmth->vain_starts);
}

static size_t recent_arrivals(const warmth_t *warmth, int64_t now)
{
    uint64_t count = warmth->arrival_count;
    size_t recent = 0;

    while (recent < POOL_ARRIVALS_MAX && recent < count
           && now - warmth->arrivals[(count - 1 - recent) % POOL_ARRIVALS_MAX]
                  < WINDOW_MS)
        recent++;
    return recent;
}

static size_t target_of(const warmth_t *warmth)
{
    const profile_pool_t *pool = &warmth->profile->pool;
    size_t wanted =
        (size_t) pool->min + recent_arrivals(warmth, clock_monotonic_ms());

    return wanted < pool->max ? wanted : (size_t) pool->max;
}

/* What the machine can still give, in bytes (proc(5)); UINT64_MAX when it
 * does not say. */
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

static bool is_memory_short(const registry_t *self)
{
    return memory_available() < self->options->memory_reserve;
}

static void end_member(entry_t *entry)
{
    entry->is_ready = false; /* not to be handed out any more */
    line_say(entry->line, "DELETE", NULL, NULL);
}

entry_t *pool_take(registry_t *self, const profile_t *profile)
{
    return count_members(self, profile).oldest;
}

void pool_count_arrival(registry_t *self, const profile_t *profile)
{
    warmth_t *warmth = launcher_warmth(self, profile);

    warmth->arrivals[warmth->arrival_count++ % POOL_ARRIVALS_MAX] =
        clock_monotonic_ms();
}

static bool is_missing(registry_t *self, const warmth_t *warmth)
{
    members_t members = count_members(self, warmth->profile);

    return warmth->zygote && zygote_is_ready(warmth->zygote)
           && !warmth->is_changing && clock_monotonic_ms() >= warmth->refill_ms
           && members.ready + members.starting < target_of(warmth);
}

static int on_refill(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->refill_timer = 0;
    room_forget_gone(self);
    if (self->is_stopping || self->starting_count || self->waiting
        || is_memory_short(self) || !room_is_left(self))
        return 0; /* the end of a start, or the next tick, comes back */
    if (!blank_is_there(self->blank))
        creation_make_blank(self);
    for (size_t i = 0; i < self->options->profile_count; i++) {
        warmth_t *warmth = &self->warmths[i];

        if (!is_missing(self, warmth))
            continue;
        if (creation_make_pooled(self, warmth->profile, &fault) < 0)
            log_warning("profile=%s pool: %s", warmth->profile->name,
                        fault.text);
        return 0;
    }
    return 0;
}

void pool_refill_soon(registry_t *self)
{
    if (!self->refill_timer && !self->is_stopping)
        self->refill_timer =
            zloop_timer(self->loop, REFILL_MS, 1, on_refill, self);
}

void pool_drain(registry_t *self, const profile_t *profile)
{
    for (size_t i = 0; i < self->options->profile_count; i++) {
        warmth_t *warmth = &self->warmths[i];

        if (profile && warmth->profile != profile)
            continue;
        for (entry_t *at = warmth->members; at; at = at->next_member)
            if (!at->is_gone)
                end_member(at);
    }
}

/* One a tick is soon enough: too many cost memory, not time. */
static void end_surplus(registry_t *self, const warmth_t *warmth)
{
    members_t members = count_members(self, warmth->profile);
    int64_t max_age_ms = warmth->profile->pool.max_age_ms;

    if (!members.oldest)
        return;
    if (members.ready > target_of(warmth)
        || (max_age_ms
            && clock_monotonic_ms() - members.oldest->started_ms > max_age_ms))
        end_member(members.oldest);
}

int pool_on_tick(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;

    (void) loop;
    (void) timer;
    if (self->is_stopping)
        return 0;
    launcher_look(self);
    if (is_memory_short(self))
        pool_drain(self, NULL);
    for (size_t i = 0; i < self->options->profile_count; i++)
        end_surplus(self, &self->warmths[i]);
    pool_refill_soon(self);
    return 0;
}

json_t *pool_describe(registry_t *self, const warmth_t *warmth)
{
    return json_pack("{s:I,s:I,s:I,s:I}", "ready",
                     (json_int_t) count_members(self, warmth->profile).ready,
                     "target", (json_int_t) target_of(warmth), "handed_out",
                     (json_int_t) warmth->handed_out, "forked",
                     (json_int_t) warmth->forked);
}
