/* See tool_providers.h. */
#include "gateway/session/tools/tool_providers.h"

#include <errno.h>
#include <string.h>

typedef struct {
    char *name;          /* owned */
    tool_offer_t *offer; /* owned */
    int64_t seen_ms;     /* it was there */
} provider_t;

struct tool_providers {
    int64_t grace_ms;
    provider_t providers[TOOL_PROVIDERS_MAX];
    size_t size;
    char *removed[TOOL_PROVIDERS_MAX]; /* owned; names, or NULL */
    size_t removed_next;               /* the place of the next one */
    tool_wait_t *waits;                /* owned; NULL until one waits */
    size_t wait_count;
};

tool_providers_t *tool_providers_new(int64_t grace_ms)
{
    tool_providers_t *self = mem_new(sizeof *self);

    self->grace_ms = grace_ms;
    return self;
}

static void clear_provider(provider_t *provider)
{
    free(provider->name);
    tool_offer_destroy(&provider->offer);
}

void tool_wait_clear(tool_wait_t *self)
{
    free(take_ptr(self->provider));
    free(take_ptr(self->place));
}

void tool_providers_destroy(tool_providers_t **self_p)
{
    tool_providers_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->size; i++)
        clear_provider(&self->providers[i]);
    for (size_t i = 0; i < TOOL_PROVIDERS_MAX; i++)
        free(self->removed[i]);
    for (size_t i = 0; i < self->wait_count; i++)
        tool_wait_clear(&self->waits[i]);
    free(self->waits);
    free(self);
    *self_p = NULL;
}

/* Returns the provider of that name, lent; NULL if it is not known. */
static const provider_t *find(const tool_providers_t *self, const char *name)
{
    for (size_t i = 0; i < self->size; i++)
        if (strcmp(self->providers[i].name, name) == 0)
            return &self->providers[i];
    return NULL;
}

static provider_t *find_own(tool_providers_t *self, const char *name)
{
    const provider_t *found = find(self, name);

    return found ? &self->providers[found - self->providers] : NULL;
}

bool tool_providers_has(const tool_providers_t *self, const char *provider)
{
    return find(self, provider) != NULL;
}

size_t tool_providers_size(const tool_providers_t *self)
{
    return self->size;
}

const char *tool_providers_name(const tool_providers_t *self, size_t index)
{
    return self->providers[index].name;
}

const tool_offer_t *tool_providers_offer(const tool_providers_t *self,
                                         size_t index)
{
    return self->providers[index].offer;
}

const char *tool_providers_of(const tool_providers_t *self, const char *tool)
{
    for (size_t i = 0; i < self->size; i++)
        if (tool_offer_has(self->providers[i].offer, tool))
            return self->providers[i].name;
    return NULL;
}

/* Checks that no other provider offers one of the tools. */
static int check_names(const tool_providers_t *self, const char *provider,
                       const tool_offer_t *offer, fault_t *fault)
{
    for (size_t i = 0; i < tool_offer_size(offer); i++) {
        const char *name = tool_offer_name(offer, i);
        const char *other = tool_providers_of(self, name);

        if (other && strcmp(other, provider) != 0)
            return fault_set(fault, EEXIST,
                             "the tool `%s` is offered by the provider `%s`; "
                             "choose another name, or remove that provider",
                             name, other);
    }
    return 0;
}

int tool_providers_check(const tool_providers_t *self, const char *provider,
                         const tool_offer_t *offer, fault_t *fault)
{
    if (!find(self, provider) && self->size == TOOL_PROVIDERS_MAX)
        return fault_set(fault, ENOSPC,
                         "the session has %d providers of tools already; "
                         "remove one",
                         TOOL_PROVIDERS_MAX);
    return check_names(self, provider, offer, fault);
}

/* Returns the index of the name; TOOL_PROVIDERS_MAX if it is not there. */
static size_t find_removed(const tool_providers_t *self, const char *name)
{
    size_t i = 0;

    while (i < TOOL_PROVIDERS_MAX
           && (!self->removed[i] || strcmp(self->removed[i], name) != 0))
        i++;
    return i;
}

bool tool_providers_was_removed(const tool_providers_t *self,
                                const char *provider)
{
    return find_removed(self, provider) < TOOL_PROVIDERS_MAX;
}

void tool_providers_note_removed(tool_providers_t *self, const char *provider)
{
    char **place = &self->removed[self->removed_next];

    if (tool_providers_was_removed(self, provider))
        return;
    free(*place);
    *place = mem_text(provider);
    self->removed_next = (self->removed_next + 1) % TOOL_PROVIDERS_MAX;
}

void tool_providers_register(tool_providers_t *self, const char *provider,
                             tool_offer_t **offer_p, int64_t now_ms)
{
    provider_t *known = find_own(self, provider);
    size_t removed = find_removed(self, provider);

    if (removed < TOOL_PROVIDERS_MAX)
        free(take_ptr(self->removed[removed]));
    if (known) {
        tool_offer_destroy(&known->offer);
    } else {
        known = &self->providers[self->size++];
        known->name = mem_text(provider);
    }
    known->offer = take_ptr(*offer_p);
    known->seen_ms = now_ms;
}

bool tool_providers_remove(tool_providers_t *self, const char *provider)
{
    provider_t *known = find_own(self, provider);

    if (!known)
        return false;
    clear_provider(known);
    *known = self->providers[--self->size];
    return true;
}

static bool waits(const tool_providers_t *self, const char *provider)
{
    for (size_t i = 0; i < self->wait_count; i++)
        if (strcmp(self->waits[i].provider, provider) == 0)
            return true;
    return false;
}

bool tool_providers_is_there(const tool_providers_t *self, const char *provider,
                             int64_t now_ms)
{
    const provider_t *known = find(self, provider);

    return known
           && (waits(self, provider)
               || now_ms < known->seen_ms + self->grace_ms);
}

void tool_providers_touch(tool_providers_t *self, const char *provider,
                          int64_t now_ms)
{
    provider_t *known = find_own(self, provider);

    if (known)
        known->seen_ms = now_ms;
}

int tool_providers_wait(tool_providers_t *self, tool_wait_t *wait,
                        fault_t *fault)
{
    if (self->wait_count == TOOL_WAITS_MAX)
        return fault_set(fault, ENOSPC,
                         "%d requests wait for calls in this session already",
                         TOOL_WAITS_MAX);
    if (!self->waits)
        self->waits = mem_new(TOOL_WAITS_MAX * sizeof *self->waits);
    self->waits[self->wait_count++] = *wait;
    *wait = (tool_wait_t){0};
    return 0;
}

bool tool_providers_take_wait(tool_providers_t *self, const char *provider,
                              const char *place, int64_t by_ms, int64_t now_ms,
                              tool_wait_t *ret_wait)
{
    for (size_t i = 0; i < self->wait_count; i++) {
        tool_wait_t *wait = &self->waits[i];

        if ((provider && strcmp(wait->provider, provider) != 0)
            || (place && strcmp(wait->place, place) != 0)
            || (by_ms && wait->until_ms > by_ms))
            continue;
        tool_providers_touch(self, wait->provider, now_ms);
        *ret_wait = *wait;
        self->wait_count--;
        memmove(wait, wait + 1, (self->wait_count - i) * sizeof *wait);
        return true;
    }
    return false;
}

int64_t tool_providers_next_ms(const tool_providers_t *self, int64_t now_ms)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < self->wait_count; i++)
        if (self->waits[i].until_ms < next)
            next = self->waits[i].until_ms;
    for (size_t i = 0; i < self->size; i++) {
        int64_t end = self->providers[i].seen_ms + self->grace_ms;

        if (!waits(self, self->providers[i].name) && end > now_ms && end < next)
            next = end;
    }
    return next;
}
