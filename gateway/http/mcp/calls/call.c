/* See call.h. An answer becomes a stream when there is something to send before
 * it. The exchange's source then takes the events as the client reads them. */
#include "gateway/http/mcp/calls/call.h"

#include "base/clock.h"
#include "gateway/http/core/authorize.h"

#include <stdarg.h>
#include <string.h>

#define KEEPALIVE_MS 15000 /* the longest silence of a stream */

/* --- Life --- */

static void unlink_call(mcp_call_t *self)
{
    mcp_call_t **at = &self->exchange->http->mcp.calls;

    while (*at && *at != self)
        at = &(*at)->next;
    if (*at)
        *at = self->next;
}

static void destroy(void **self_p)
{
    mcp_call_t *self = *self_p;

    if (!self)
        return;
    unlink_call(self);
    /* A connection that closes is a cancellation since 2026-07-28, unless the
     * configuration says otherwise. An older client may come back for the
     * result of its call. */
    if (!self->is_answered && self->era == ERA_MODERN && self->ops
        && self->ops->on_cancel
        && self->exchange->http->options->mcp.on_disconnect
               == OPTIONS_MCP_INTERRUPT)
        self->ops->on_cancel(self);
    if (self->state_end)
        self->state_end(&self->state);
    free(self->bound);
    json_decref(self->loss);
    rpc_message_clear(&self->message);
    buffer_reset(&self->events);
    free(self);
    *self_p = NULL;
}

mcp_call_t *call_new(exchange_t *exchange, const struct mcp_offer *offer,
                     rpc_message_t *message, era_t era)
{
    mcp_call_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    self->offer = offer;
    self->message = *message;
    *message = (rpc_message_t){0};
    self->era = era;
    self->heard = clock_monotonic_ms();
    self->next = exchange->http->mcp.calls;
    exchange->http->mcp.calls = self;
    exchange_keep(exchange, self, destroy);
    return self;
}

mcp_call_t *call_of(const exchange_t *exchange)
{
    return exchange->task;
}

bool call_reaches(const mcp_call_t *self, const char *session)
{
    return !self->bound || strcmp(session, self->bound) == 0;
}

void call_keep(mcp_call_t *self, void *state, exchange_destroy_fn *end,
               const call_ops_t *ops)
{
    if (self->state_end)
        self->state_end(&self->state);
    self->state = state;
    self->state_end = end;
    self->ops = ops;
}

/* --- Streams --- */

static int take_events(void *state, buffer_t *out)
{
    mcp_call_t *self = state;

    buffer_append(out, self->events.data, self->events.size);
    buffer_clear(&self->events);
    return self->is_answered ? 0 : 1;
}

/* Frees nothing: the source has no state of its own, and the call belongs to
 * the exchange's task. */
static void end_source(void **state_p)
{
    *state_p = NULL;
}

static void begin_stream(mcp_call_t *self)
{
    if (self->is_stream)
        return;
    self->is_stream = true;
    exchange_header(self->exchange, "Cache-Control", "no-store");
    exchange_header(self->exchange, "X-Accel-Buffering", "no");
    exchange_stream(self->exchange, 200, "text/event-stream",
                    &(exchange_source_t){
                        .next = take_events, .state = self, .end = end_source});
}

bool call_can_stream(const mcp_call_t *self)
{
    const char *accepted = self->exchange->request.headers[HEADER_ACCEPT];

    return accepted && strstr(accepted, "text/event-stream");
}

void call_begin_stream(mcp_call_t *self)
{
    begin_stream(self);
    buffer_text(&self->events, ":\n\n");
    exchange_wake(self->exchange);
}

void call_end_stream(mcp_call_t *self)
{
    self->is_answered = true;
    exchange_wake(self->exchange);
}

bool call_is_drained(const mcp_call_t *self)
{
    return self->events.size == 0;
}

/* Writes an event; `message` is taken. */
static void send_event(mcp_call_t *self, json_t *message)
{
    cleanup_free char *text =
        json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);

    json_decref(message);
    begin_stream(self);
    buffer_format(&self->events, "event: message\ndata: %s\n\n", text);
    self->heard = clock_monotonic_ms();
    exchange_wake(self->exchange);
}

void call_notify(mcp_call_t *self, const char *method, json_t *params)
{
    if (call_can_stream(self) && !self->is_answered)
        send_event(self, rpc_notification(method, params));
    else
        json_decref(params);
}

void call_ask(mcp_call_t *self, const char *id, const char *method,
              json_t *params)
{
    json_t *message = rpc_notification(method, params);

    json_object_set_new(message, "id", json_string(id));
    send_event(self, message);
}

const json_t *call_progress_token(const mcp_call_t *self)
{
    const json_t *token = rpc_message_meta(&self->message, "progressToken");

    return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

void call_progress(mcp_call_t *self, double progress, double total,
                   const char *text)
{
    const json_t *token = call_progress_token(self);
    json_t *params;

    if (!token)
        return;
    params = json_pack("{s:o,s:f}", "progressToken", json_deep_copy(token),
                       "progress", progress);
    if (total >= 0)
        json_object_set_new(params, "total", json_real(total));
    if (text)
        json_object_set_new(params, "message", json_string(text));
    call_notify(self, "notifications/progress", params);
}

const json_t *call_capability(const mcp_call_t *self, const char *name)
{
    return json_object_get(revision_capabilities(&self->message), name);
}

/* --- Answers --- */

static void finish(mcp_call_t *self, int status, json_t *message)
{
    if (self->is_answered) {
        json_decref(message);
        return;
    }
    if (!self->is_stream) {
        self->is_answered = true;
        exchange_json(self->exchange, status, message);
        return;
    }
    send_event(self, message);
    self->is_answered = true;
}

/* Adds the server's name to a result: 2026-07-28 requires it in each. */
static void sign_result(json_t *result)
{
    json_t *meta = json_object_get(result, "_meta");

    if (!json_object_get(result, "resultType"))
        json_object_set_new(result, "resultType", json_string("complete"));
    if (!meta) {
        meta = json_object();
        json_object_set_new(result, "_meta", meta);
    }
    json_object_set_new(
        meta, META_SERVER,
        json_pack("{s:s,s:s}", "name", "hearth", "version", HEARTH_VERSION));
}

void call_result(mcp_call_t *self, json_t *result)
{
    if (self->era == ERA_MODERN)
        sign_result(result);
    finish(self, 200, rpc_result(self->message.id, result));
}

void call_add_lifetime(const mcp_call_t *self, json_t *result, int ms,
                       bool is_public)
{
    if (self->era == ERA_LEGACY)
        return;
    json_object_set_new(result, "ttlMs", json_integer(ms));
    json_object_set_new(result, "cacheScope",
                        json_string(is_public ? "public" : "private"));
}

void call_error(mcp_call_t *self, int status, int code, json_t *data,
                const char *format, ...)
{
    cleanup_rpc_flaw rpc_flaw_t flaw = {.code = code, .data = data};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(flaw.text, sizeof flaw.text, format, arguments);
    va_end(arguments);
    rpc_text_clean(flaw.text);
    finish(self, self->era == ERA_MODERN ? status : 200,
           rpc_error(self->message.id, &flaw));
}

bool call_permits(mcp_call_t *self, unsigned scope)
{
    cleanup_rpc_flaw rpc_flaw_t flaw = {.code = RPC_FORBIDDEN};

    if (self->exchange->scopes & scope)
        return true;
    authorize_challenge(self->exchange, scope);
    snprintf(flaw.text, sizeof flaw.text, "the token lacks the scope");
    finish(self, 403, rpc_error(self->message.id, &flaw));
    return false;
}

bool call_begins_list(mcp_call_t *self)
{
    if (!json_object_get(self->message.params, "cursor"))
        return true;
    call_error(self, 400, RPC_INVALID_PARAMS, NULL,
               "params.cursor was not given by this server: its lists have one "
               "page, so leave the cursor out");
    return false;
}

/* --- All calls --- */

/* Returns true if the call, which has no answer yet, is that of the client that
 * sends the exchange. Another token is another client. */
static bool is_of(const mcp_call_t *self, const exchange_t *exchange,
                  const char *client)
{
    char own[EXCHANGE_WHO_SIZE], who[EXCHANGE_WHO_SIZE];

    return !self->is_answered && strcmp(self->client, client) == 0
           && strcmp(exchange_who(self->exchange, own),
                     exchange_who(exchange, who))
                  == 0;
}

void calls_respond(const exchange_t *exchange, const char *client,
                   const rpc_message_t *response)
{
    for (mcp_call_t *at = exchange->http->mcp.calls; at; at = at->next)
        if (at->ops && at->ops->on_response && is_of(at, exchange, client)
            && at->ops->on_response(at, response))
            return;
}

/* Passes an event to all calls. An answer does not end its call here: the end
 * of the connection does. */
void calls_on_event(http_t *http, const frontend_event_t *event)
{
    mcp_call_t *next;

    for (mcp_call_t *at = http->mcp.calls; at; at = next) {
        next = at->next;
        if (!at->is_answered && at->ops && at->ops->on_event)
            at->ops->on_event(at, event);
    }
}

static void keep_alive(mcp_call_t *self, int64_t now)
{
    if (!self->is_stream || self->is_answered
        || now - self->heard < KEEPALIVE_MS)
        return;
    buffer_text(&self->events, ":\n\n");
    self->heard = now;
    exchange_wake(self->exchange);
}

void calls_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();
    mcp_call_t *next;

    for (mcp_call_t *at = http->mcp.calls; at; at = next) {
        next = at->next;
        if (!at->is_answered && at->ops && at->ops->on_tick)
            at->ops->on_tick(at, now);
        keep_alive(at, now);
    }
}

void calls_cancel(const exchange_t *exchange, const char *client,
                  const json_t *id)
{
    for (mcp_call_t *at = exchange->http->mcp.calls; at; at = at->next) {
        if (!*client || !is_of(at, exchange, client)
            || !json_equal(at->message.id, id))
            continue;
        if (at->ops && at->ops->on_cancel)
            at->ops->on_cancel(at);
        return;
    }
}
