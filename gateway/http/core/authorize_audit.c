/* Records of the audit log about authentication on the HTTP side: refusals with
 * their reason, logins, attached clients, created and revoked tokens. They name
 * a token by its id. A client can cause refusals at no cost, so a minute has a
 * few records; the others are counted in one record. */
#include "gateway/http/core/authorize_audit.h"

#include "base/clock.h"
#include "gateway/audit/audit.h"

#include <stdio.h>

#define REFUSALS_MAX 20
#define WINDOW_MS    60000

struct authorize_audit {
    audit_writer_t *audit; /* owned */
    int64_t window_end;    /* monotonic ms */
    unsigned written;      /* written in this window */
    uint64_t omitted;
};

struct authorize_audit *authorize_audit_new(void)
{
    struct authorize_audit *self = mem_new(sizeof *self);

    self->audit = audit_writer_new("http");
    return self;
}

/* Ends a window: records that were left out are written as a number. */
static void begin_window(struct authorize_audit *self, int64_t now)
{
    if (now < self->window_end)
        return;
    if (self->omitted)
        audit_writer_note_by(self->audit, AUDIT_UNKNOWN, "access", "",
                             "refused",
                             json_pack("{s:s,s:I}", "why", "flood", "count",
                                       (json_int_t) self->omitted));
    self->omitted = 0;
    self->written = 0;
    self->window_end = now + WINDOW_MS;
}

void authorize_audit_destroy(struct authorize_audit **self_p)
{
    struct authorize_audit *self = *self_p;

    if (!self)
        return;
    begin_window(self, self->window_end);
    audit_writer_destroy(&self->audit);
    free(self);
    *self_p = NULL;
}

static json_t *describe_from(void *wsi, unsigned method, const char *path)
{
    json_t *text = json_string(path); /* NULL: not UTF-8 */
    char peer[64] = "";

    lws_get_peer_simple(wsi, peer, sizeof peer);
    return json_pack("{s:s,s:s,s:o}", "from", peer, "method",
                     method_text(method), "path", text ? text : json_null());
}

static json_t *describe(const exchange_t *exchange)
{
    return describe_from(exchange->wsi, exchange->request.method,
                         exchange->request.path);
}

/* Writes a refusal, unless this minute has many; `details` is taken. */
static void note_refusal(struct authorize_audit *self, const char *who,
                         const char *why, json_t *details)
{
    begin_window(self, clock_monotonic_ms());
    if (self->written >= REFUSALS_MAX) {
        self->omitted++;
        json_decref(details);
        return;
    }
    self->written++;
    json_object_set_new(details, "why", json_string(why));
    audit_writer_note_by(self->audit, who, "access", "", "refused", details);
}

void authorize_note_refusal(const exchange_t *exchange, const char *why)
{
    char who[EXCHANGE_WHO_SIZE];

    if (exchange->http->access_log)
        note_refusal(exchange->http->access_log, exchange_who(exchange, who),
                     why, describe(exchange));
}

void authorize_note_socket(http_t *http, void *wsi, const char *path,
                           const char *who)
{
    json_t *details = describe_from(wsi, METHOD_GET, path);

    if (who)
        audit_writer_note_by(http->access_log->audit, who, "attach", "", "ok",
                             details);
    else
        note_refusal(http->access_log, AUDIT_UNKNOWN, "token", details);
}

void authorize_note_use(const exchange_t *exchange, const char *event,
                        const char *who, const char *session)
{
    const struct authorize_audit *self = exchange->http->access_log;

    if (self)
        audit_writer_note_by(self->audit, who, event, session, "ok",
                             describe(exchange));
}

static void on_token(void *arg, const char *id, unsigned scopes, uid_t uid)
{
    struct authorize_audit *self = arg;
    char who[32];

    snprintf(who, sizeof who, "uid=%u", (unsigned) uid);
    audit_writer_note_by(self->audit, who, "token", "",
                         scopes ? "made" : "revoked",
                         json_pack("{s:s,s:o}", "token", id, "scopes",
                                   token_scopes_names(scopes)));
}

void authorize_audit_watch(http_t *http)
{
    tokens_watch(http->tokens, on_token, http->access_log);
    tokens_refresh(http->tokens);
}

void authorize_audit_on_tick(http_t *http)
{
    tokens_refresh(http->tokens);
    if (http->access_log->omitted)
        begin_window(http->access_log, clock_monotonic_ms());
}
