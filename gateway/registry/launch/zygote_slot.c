/* See zygote_slot.h. */
#include "gateway/registry/launch/zygote_slot.h"

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>

#define DOUBLINGS_MAX 5 /* of the pause before another start */

struct zygote_slot {
    const profile_t *profile; /* borrowed */
    bool is_there;            /* a zygote was started and has not ended */
    bool comes_back;          /* launches wait for the next zygote */
    bool is_changing;         /* its environment on disk is being changed */
    char fault[1024];         /* why the last one ended */
    char python[64];          /* version of the one that is ready */
    unsigned failures;        /* in a row */
    int64_t born_ms;          /* monotonic; start of the one that is there */
    uint64_t forks;           /* number of sessions that it has forked */
    uint64_t lives;           /* number of zygotes that were started */
    session_entry_t
        *launching;          /* borrowed; the session whose fork is under way */
    session_entry_t *parked; /* borrowed; launches that wait for a zygote */
};

zygote_slot_t *zygote_slot_new(const profile_t *profile)
{
    zygote_slot_t *self = mem_new(sizeof *self);

    self->profile = profile;
    return self;
}

void zygote_slot_destroy(zygote_slot_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

const profile_t *zygote_slot_profile(const zygote_slot_t *self)
{
    return self->profile;
}

const char *zygote_slot_fault(const zygote_slot_t *self)
{
    return self->fault;
}

const char *zygote_slot_python(const zygote_slot_t *self)
{
    return self->python;
}

bool zygote_slot_comes_back(const zygote_slot_t *self)
{
    return self->comes_back;
}

/* Returns the pause before the next start. */
static int64_t pause_ms(const zygote_slot_t *self)
{
    return (int64_t) ZYGOTE_SLOT_RETRY_MS
           << (self->failures < DOUBLINGS_MAX ? self->failures : DOUBLINGS_MAX);
}

void zygote_slot_on_started(zygote_slot_t *self, int64_t now_ms)
{
    self->is_there = true;
    self->comes_back = true;
    self->lives++;
    self->born_ms = now_ms;
    self->forks = 0;
}

int64_t zygote_slot_on_refused(zygote_slot_t *self, const char *fault)
{
    snprintf(self->fault, sizeof self->fault, "%s", fault);
    self->failures++;
    self->comes_back = false;
    return pause_ms(self);
}

void zygote_slot_on_preparing(zygote_slot_t *self)
{
    self->comes_back = true;
}

int64_t zygote_slot_on_unprepared(zygote_slot_t *self, bool is_refused,
                                  const char *fault)
{
    int64_t pause = zygote_slot_on_refused(self, fault);

    return is_refused ? ZYGOTE_SLOT_REFUSED_MS : pause;
}

void zygote_slot_on_ready(zygote_slot_t *self, const char *python)
{
    self->failures = 0;
    snprintf(self->python, sizeof self->python, "%.60s",
             python[0] ? python : "?");
}

void zygote_slot_on_forked(zygote_slot_t *self)
{
    self->forks++;
}

void zygote_slot_on_replaced(zygote_slot_t *self, const char *why)
{
    self->is_there = false;
    self->python[0] = '\0';
    snprintf(self->fault, sizeof self->fault, "%s", why);
}

/* Decides when to start the next zygote. One that was ready had an accident.
 * One that gives a reason, or the third failure in a row, would fail again at
 * once. */
int64_t zygote_slot_on_gone(zygote_slot_t *self, bool is_explained,
                            const char *why)
{
    bool was_ready = self->python[0] != '\0';

    self->failures = was_ready ? 0 : self->failures + 1;
    self->comes_back =
        was_ready
        || (!is_explained && self->failures < ZYGOTE_SLOT_FAILURES_MAX);
    zygote_slot_on_replaced(self, why);
    return pause_ms(self);
}

/* Returns true if the zygote is spent: its sessions share a layout of addresses
 * and a hash seed, so their number is bounded. */
bool zygote_slot_is_worn(const zygote_slot_t *self, int64_t now_ms)
{
    const profile_t *profile = self->profile;
    bool is_spent =
        profile->zygote_forks && self->forks >= profile->zygote_forks;
    bool is_old = profile->zygote_age_ms
                  && now_ms - self->born_ms >= profile->zygote_age_ms;

    return self->is_there && (is_spent || is_old) && !self->launching;
}

uint64_t zygote_slot_forks(const zygote_slot_t *self)
{
    return self->forks;
}

bool zygote_slot_is_changing(const zygote_slot_t *self)
{
    return self->is_changing;
}

void zygote_slot_set_changing(zygote_slot_t *self, bool is_changing)
{
    self->is_changing = is_changing;
}

void zygote_slot_launch(zygote_slot_t *self, session_entry_t *entry,
                        uint64_t number)
{
    zygote_slot_forget(self, entry);
    entry->launch.number = number;
    entry->launch.zygote = self->lives;
    entry->launch.next = self->launching;
    self->launching = entry;
}

session_entry_t *zygote_slot_find(const zygote_slot_t *self, uint64_t number)
{
    session_entry_t *at = self->launching;

    while (at && at->launch.number != number)
        at = at->launch.next;
    return at;
}

session_entry_t *zygote_slot_first_launch(const zygote_slot_t *self)
{
    return self->launching;
}

bool zygote_slot_made(const zygote_slot_t *self, const session_entry_t *entry)
{
    return entry->launch.zygote == self->lives;
}

static void leave(session_entry_t **list, const session_entry_t *entry)
{
    session_entry_t **at = list;

    while (*at && *at != entry)
        at = &(*at)->launch.next;
    if (*at)
        *at = entry->launch.next;
}

void zygote_slot_park(zygote_slot_t *self, session_entry_t *entry)
{
    session_entry_t **at = &self->parked;

    zygote_slot_forget(self, entry);
    while (*at)
        at = &(*at)->launch.next;
    entry->launch.next = NULL;
    *at = entry;
}

session_entry_t *zygote_slot_take_parked(zygote_slot_t *self)
{
    session_entry_t *first = self->parked;

    if (first)
        self->parked = first->launch.next;
    return first;
}

void zygote_slot_unpark(zygote_slot_t *self, const session_entry_t *entry)
{
    leave(&self->parked, entry);
}

void zygote_slot_forget(zygote_slot_t *self, session_entry_t *entry)
{
    leave(&self->launching, entry);
    zygote_slot_unpark(self, entry);
    entry->launch.number = 0;
}
