/* The processes that answer host tools in a session: what each offers, and
 * where each waits for calls. A provider may wait at several places: those of
 * its connections. It decides; times are arguments, monotonic in ms. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_PROVIDERS_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_PROVIDERS_H

#include "gateway/session/tools/tool_offer.h"

#include <stdint.h>

#define TOOL_PROVIDERS_MAX 16  /* of a session */
#define TOOL_WAITS_MAX     256 /* places where they wait, together */

typedef struct tool_providers tool_providers_t;

/* Returns a list without providers. A provider counts as there for `grace_ms`
 * after it has waited. */
tool_providers_t *tool_providers_new(int64_t grace_ms);
void tool_providers_destroy(tool_providers_t **self_p);
#define cleanup_tool_providers CLEANUP(tool_providers_destroy)

/* Checks that an offer can be registered. -EEXIST: another provider offers one
 * of these tools; -ENOSPC: too many providers. */
int tool_providers_check(const tool_providers_t *self, const char *provider,
                         const tool_offer_t *offer, fault_t *fault);
/* Registers an offer that was checked, and is taken, in place of the provider's
 * last one. */
void tool_providers_register(tool_providers_t *self, const char *provider,
                             tool_offer_t **offer_p, int64_t now_ms);
/* Forgets a provider. The caller has taken its places that wait, by
 * tool_providers_take_wait. Returns false if the provider is not known. */
bool tool_providers_remove(tool_providers_t *self, const char *provider);
/* Notes that the provider was removed on request, until it registers again. The
 * last TOOL_PROVIDERS_MAX names are kept. */
void tool_providers_note_removed(tool_providers_t *self, const char *provider);
bool tool_providers_was_removed(const tool_providers_t *self,
                                const char *provider);
/* Returns the name of the provider of a tool, lent; NULL if no provider offers
 * it. */
const char *tool_providers_of(const tool_providers_t *self, const char *tool);
bool tool_providers_has(const tool_providers_t *self, const char *provider);
size_t tool_providers_size(const tool_providers_t *self);
/* Returns the index-th provider's name and offer, lent. */
const char *tool_providers_name(const tool_providers_t *self, size_t index);
const tool_offer_t *tool_providers_offer(const tool_providers_t *self,
                                         size_t index);
/* Returns true if the provider waits, or did a short time ago. */
bool tool_providers_is_there(const tool_providers_t *self, const char *provider,
                             int64_t now_ms);

/* Notes that the provider was there. */
void tool_providers_touch(tool_providers_t *self, const char *provider,
                          int64_t now_ms);

/* A place where a provider waits for calls. */
typedef struct {
    uint64_t token;   /* of the request that is answered then */
    char *provider;   /* owned */
    char *place;      /* owned; a name that its client chose */
    uint64_t after;   /* calls above this number are wanted */
    int64_t until_ms; /* then the request is answered without a call */
} tool_wait_t;

void tool_wait_clear(tool_wait_t *self);
#define cleanup_tool_wait CLEANUP(tool_wait_clear)

/* Adds a place; its texts are taken. -ENOSPC: too many wait. */
int tool_providers_wait(tool_providers_t *self, tool_wait_t *wait,
                        fault_t *fault);
/* Takes a place where the provider waits, or one of any provider if that is
 * NULL. With `place`, that one; with `by_ms`, one that has waited until then.
 * Returns false if no place matches. Its provider has waited until `now_ms`. */
bool tool_providers_take_wait(tool_providers_t *self, const char *provider,
                              const char *place, int64_t by_ms, int64_t now_ms,
                              tool_wait_t *ret_wait);
/* Returns when the next place has waited for long enough, or the grace of a
 * provider that waits nowhere ends. INT64_MAX if there is no such time. */
int64_t tool_providers_next_ms(const tool_providers_t *self, int64_t now_ms);

#endif
