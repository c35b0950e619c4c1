/* See tool_fetch.h. The fetch is the registry's, and goes on if its client
 * goes. Calls for the same file share one request, so a client that repeats its
 * call takes no second place among those that wait. */
#include "gateway/http/mcp/tool_fetch.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/tool_result.h"
#include "gateway/http/rpc/registry_client.h"

#include <inttypes.h>
#include <string.h>

#define PROGRESS_MS 4000 /* between two notices of progress */

typedef struct {
    mcp_call_t *call;              /* borrowed: its owner */
    char session[FRONTEND_ID_MAX]; /* its id */
    int64_t until, noticed;        /* monotonic ms */
    bool is_looking;               /* the list of fetches is asked for */
} fetch_t;

static void destroy(void **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static const char *text_argument(const mcp_call_t *call, const char *name)
{
    return model_text(call->arguments, name);
}

static void on_fetched(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const char *encoding = model_text(reply, "encoding");

    if (call->is_answered || !tool_result_is_ok(call, reply))
        return;
    tool_result_text(
        call, false, "%.500s has %" PRId64 " bytes now, SHA-256 %s%s%s%s",
        model_text(reply, "path"),
        (int64_t) json_integer_value(json_object_get(reply, "size")),
        model_text(reply, "sha256"),
        json_is_true(json_object_get(reply, "cached")) ? " (cached)" : "",
        *encoding ? ", compressed: " : "", encoding);
}

/* Returns what the list has of the call's fetch, lent; NULL if it has nothing.
 * The list's URLs have no query. */
static const json_t *find(const mcp_call_t *call, const json_t *reply)
{
    const char *url = text_argument(call, "url");
    size_t size = strcspn(url, "?#");
    const json_t *fetch;
    size_t i;

    json_array_foreach(json_object_get(reply, "fetches"), i, fetch)
    {
        const char *other = model_text(fetch, "url");

        if (strlen(other) == size && strncmp(other, url, size) == 0)
            return fetch;
    }
    return NULL;
}

/* Answers with how far the fetch has come. */
static void answer_unfinished(mcp_call_t *call, const json_t *fetch)
{
    const json_t *total = json_object_get(fetch, "total");
    char of[40] = "";

    if (json_is_integer(total))
        snprintf(of, sizeof of, " of %" PRId64,
                 (int64_t) json_integer_value(total));
    tool_result_text(
        call, false,
        "RUNNING: %.500s is %s, %" PRId64 "%s bytes have come. The fetch goes "
        "on; the same call again waits for it.",
        fetch ? model_text(fetch, "path") : "the file",
        fetch ? model_text(fetch, "state") : "almost there",
        (int64_t) json_integer_value(json_object_get(fetch, "bytes")), of);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    fetch_t *self = call->state;
    const json_t *fetch = find(call, reply);
    const json_t *total = json_object_get(fetch, "total");

    self->is_looking = false;
    if (call->is_answered)
        return;
    if (clock_monotonic_ms() >= self->until)
        answer_unfinished(call, fetch);
    else if (fetch)
        call_progress(call, json_number_value(json_object_get(fetch, "bytes")),
                      json_is_integer(total) ? json_number_value(total) : -1,
                      model_text(fetch, "doing"));
}

static void on_tick(mcp_call_t *call, int64_t now)
{
    fetch_t *self = call->state;
    bool is_wanted =
        call_progress_token(call) && now - self->noticed >= PROGRESS_MS;

    if (self->is_looking || (now < self->until && !is_wanted))
        return;
    self->is_looking = true;
    self->noticed = now;
    registry_client_ask(
        call->exchange, "fetch_request",
        json_pack("{s:s,s:s}", "id", self->session, "order", "list"), on_list);
}

void tool_fetch_run(mcp_call_t *call, const char *session)
{
    static const call_ops_t ops = {.on_tick = on_tick};
    const char *hash = text_argument(call, "sha256");
    fetch_t *self = mem_new(sizeof *self);
    json_t *content =
        json_pack("{s:s,s:s,s:s,s:s,s:s*}", "id", session, "order", "fetch",
                  "url", text_argument(call, "url"), "path",
                  text_argument(call, "path"), "sha256", *hash ? hash : NULL);
    cleanup_free char *name = json_dumps(content, JSON_COMPACT);

    self->call = call;
    snprintf(self->session, sizeof self->session, "%s", session);
    self->noticed = clock_monotonic_ms();
    self->until = self->noticed + call->exchange->http->options->mcp.block_ms;
    call_keep(call, self, destroy, &ops);
    registry_client_ask_once(call->exchange, name, "fetch_request", content,
                             on_fetched);
}
