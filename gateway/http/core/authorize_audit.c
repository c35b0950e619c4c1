/* What the audit log hears of keys on the HTTP side: who was refused and why,
 * who logged in, who attached, which tokens came and went. Never a token: its
 * id. Refusals cost nothing to make, so a minute has room for a few of them;
 * the others are counted, and one record tells how many. */
#include "gateway/http/core/internal.h"

#include "base/clock.h"
#include "gateway/audit/audit.h"

#include <stdio.h>

#define REFUSALS_MAX 20
#define WINDOW_MS    60000

struct access_notes {
    scribe_t *scribe;   /* owned */
    int64_t window_end; /* monotonic ms */
    unsigned told;      /* in this window */
    uint64_t untold;
};

struct access_notes *access_notes_new(void)
{
    struct access_notes *self = mem_new(sizeof *self);

    self->scribe = scribe_new("http");
    return self;
}

/* A window that has passed: what it did not tell is told as a number. */
static void begin_window(struct access_notes *self, int64_t now)
{
    if (now < self->window_end)
        return;
    if (self->untold)
        scribe_note_by(self->scribe, AUDIT_UNKNOWN, "access", "", "refused",
                       json_pack("{s:s,s:I}", "why", "flood", "count",
                                 (json_int_t) self->untold));
    self->untold = 0;
    self->told = 0;
    self->window_end = now + WINDOW_MS;
}

void access_notes_destroy(struct access_notes **self_p)
{
    struct access_notes *self = *self_p;

    if (!self)
        return;
    begin_window(self, self->window_end);
    scribe_destroy(&self->scribe);
    free(self);
    *self_p = NULL;
}

static json_t *describe(const exchange_t *exchange)
{
    json_t *path = json_string(exchange->path); /* NULL: no UTF-8 */
    char peer[64] = "";

    lws_get_peer_simple(exchange->wsi, peer, sizeof peer);
    return json_pack("{s:s,s:s,s:o}", "from", peer, "method",
                     method_text(exchange->method), "path",
                     path ? path : json_null());
}

void access_note_refusal(const exchange_t *exchange, const char *why)
{
    struct access_notes *self = exchange->http->notes_of_access;
    char who[ACCESS_WHO_SIZE];
    json_t *details;

    if (!self)
        return;
    begin_window(self, clock_monotonic_ms());
    if (self->told >= REFUSALS_MAX) {
        self->untold++;
        return;
    }
    self->told++;
    details = describe(exchange);
    json_object_set_new(details, "why", json_string(why));
    scribe_note_by(self->scribe, access_who(exchange, who), "access", "",
                   "refused", details);
}

void access_note_use(const exchange_t *exchange, const char *event,
                     const char *who, const char *session)
{
    const struct access_notes *self = exchange->http->notes_of_access;

    if (self)
        scribe_note_by(self->scribe, who, event, session, "ok",
                       describe(exchange));
}

static void on_token(void *arg, const char *id, unsigned scopes, uid_t uid)
{
    struct access_notes *self = arg;
    char who[32];

    snprintf(who, sizeof who, "uid=%u", (unsigned) uid);
    scribe_note_by(self->scribe, who, "token", "", scopes ? "made" : "revoked",
                   json_pack("{s:s,s:o}", "token", id, "scopes",
                             auth_scope_names(scopes)));
}

void access_notes_watch(http_t *http)
{
    auth_watch(http->auth, on_token, http->notes_of_access);
    auth_refresh(http->auth);
}

void access_notes_on_tick(http_t *http)
{
    auth_refresh(http->auth);
    if (http->notes_of_access->untold)
        begin_window(http->notes_of_access, clock_monotonic_ms());
}
