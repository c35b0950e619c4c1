/* /mcp, /mcp/structured and /mcp/sessions/ID: the Model Context Protocol over
 * streamable HTTP. Each POST has one message, and no state is kept between two
 * of them. The tools of an endpoint with a session know only that session. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/endpoint/dispatcher.h"
#include "gateway/http/mcp/notifications/listen.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/session_set.h"

#include <string.h>

#define SCOPE_MCP                                                              \
    (SCOPE_OBSERVE | SCOPE_EXECUTE | SCOPE_FILES | AUTHORIZE_BEARER)

#define OAUTH "/.well-known/"

static void answer_flaw(exchange_t *exchange, const rpc_message_t *message,
                        const rpc_flaw_t *flaw)
{
    exchange_json(exchange, flaw->status, rpc_error(message->id, flaw));
}

static bool is_json(const exchange_t *exchange)
{
    const char *type = exchange->request.headers[HEADER_CONTENT_TYPE];
    static const char json[] = "application/json";

    return type && strncasecmp(type, json, strlen(json)) == 0
           && strchr("; \t", type[strlen(json)]);
}

static revision_headers_t read_headers(const exchange_t *exchange)
{
    char *const *lines = exchange->request.headers;

    return (revision_headers_t){.version = lines[HEADER_MCP_VERSION],
                                .method = lines[HEADER_MCP_METHOD],
                                .name = lines[HEADER_MCP_NAME],
                                .session = lines[HEADER_MCP_SESSION]};
}

/* Answers a notification or a response with 202, whatever its effect. */
static void take_note(exchange_t *exchange, const rpc_message_t *message,
                      const revision_headers_t *headers)
{
    const json_t *id = json_object_get(message->params, "requestId");
    const char *client = headers->session ? headers->session : "";

    if (message->kind == RPC_RESPONSE)
        calls_respond(exchange, client, message);
    else if (strcmp(message->method, "notifications/cancelled") == 0 && id)
        calls_cancel(exchange, client, id);
    exchange_empty(exchange, 202);
}

/* Notes which session the endpoint names, by its name or the beginning of its
 * id: from here on the call knows the whole id. */
static void take_bound(mcp_call_t *call, const json_t *reply)
{
    const char *id = model_text(json_object_get(reply, "session"), "id");

    if (*id) {
        free(call->bound);
        call->bound = mem_text(id);
    }
}

static void on_bound(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    take_bound(call, reply);
    dispatcher_run(call);
}

static void run(mcp_call_t *call)
{
    if (!call->bound || session_set_has(call->exchange->http, call->bound))
        dispatcher_run(call);
    else
        registry_client_ask(call->exchange, "session_show_request",
                            json_pack("{s:s}", "id", call->bound), on_bound);
}

static void answer(exchange_t *exchange, const char *bound, bool is_structured)
{
    revision_headers_t headers = read_headers(exchange);
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};
    mcp_call_t *call;

    if (!is_json(exchange)) {
        rpc_flaw_set(&flaw, 415, RPC_INVALID_REQUEST,
                     "the Content-Type must be application/json");
        answer_flaw(exchange, &message, &flaw);
        return;
    }
    if (!rpc_message_read(exchange->request.body.data,
                          exchange->request.body.size, &message, &flaw)
        || !revision_check(&message, &headers, &flaw)) {
        answer_flaw(exchange, &message, &flaw);
        return;
    }
    if (message.kind != RPC_REQUEST) {
        take_note(exchange, &message, &headers);
        return;
    }
    era_t era = revision_era(&message, &headers);
    call = call_new(exchange, &mcp_offer, &message, era);
    call->bound = bound ? mem_text(bound) : NULL;
    call->is_structured = is_structured;
    snprintf(call->client, sizeof call->client, "%s",
             headers.session ? headers.session : "");
    run(call);
}

static void post(exchange_t *exchange)
{
    answer(exchange, NULL, false);
}

static void post_bound(exchange_t *exchange)
{
    answer(exchange, exchange->request.parameters[0], false);
}

static void post_structured(exchange_t *exchange)
{
    answer(exchange, NULL, true);
}

static void post_structured_bound(exchange_t *exchange)
{
    answer(exchange, exchange->request.parameters[0], true);
}

static void refuse(exchange_t *exchange)
{
    exchange_header(exchange, "Allow", "POST, OPTIONS");
    exchange_fail(exchange, 405, "%s is not for an MCP endpoint: there is POST",
                  method_text(exchange->request.method));
}

static void on_stream_bound(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    take_bound(call, reply);
    listen_get(call);
}

/* Returns true if the exchange, which has no message, comes from a client older
 * than 2026-07-28 that has introduced itself. */
static bool is_of_older_client(const revision_headers_t *headers)
{
    const rpc_message_t none = {.kind = RPC_NOTIFICATION};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};

    return headers->session && revision_era(&none, headers) == ERA_LEGACY
           && revision_check(&none, headers, &flaw);
}

static void open_stream(exchange_t *exchange, const char *bound)
{
    const revision_headers_t headers = read_headers(exchange);
    rpc_message_t none = {.kind = RPC_NOTIFICATION};
    mcp_call_t *call;

    if (!is_of_older_client(&headers) || !(exchange->scopes & SCOPE_OBSERVE)) {
        refuse(exchange);
        return;
    }
    call = call_new(exchange, &mcp_offer, &none, ERA_LEGACY);
    call->bound = bound ? mem_text(bound) : NULL;
    snprintf(call->client, sizeof call->client, "%s", headers.session);
    if (!call_can_stream(call))
        refuse(exchange);
    else if (!bound || session_set_has(exchange->http, bound))
        listen_get(call);
    else
        registry_client_ask(exchange, "session_show_request",
                            json_pack("{s:s}", "id", bound), on_stream_bound);
}

static void get(exchange_t *exchange)
{
    open_stream(exchange, NULL);
}

static void get_bound(exchange_t *exchange)
{
    open_stream(exchange, exchange->request.parameters[0]);
}

/* Ends the session of a client whose revision has sessions. */
static void end_client(exchange_t *exchange)
{
    const revision_headers_t headers = read_headers(exchange);

    if (!is_of_older_client(&headers)) {
        refuse(exchange);
        return;
    }
    listen_forget(exchange, headers.session);
    exchange_empty(exchange, 204);
}

/* Clients that are refused look for an authorization server: there is none,
 * and they learn it at once. */
static void no_oauth(exchange_t *exchange)
{
    exchange_fail(exchange, 404,
                  "There is no authorization server: a token of `hearth token "
                  "create` is sent as `Authorization: Bearer ...`");
}

const route_t mcp_routes[] = {
    {METHOD_POST, "/mcp", SCOPE_MCP, post},
    {METHOD_GET, "/mcp", SCOPE_MCP, get},
    {METHOD_DELETE, "/mcp", SCOPE_MCP, end_client},
    {METHOD_POST, "/mcp/structured", SCOPE_MCP, post_structured},
    {METHOD_GET, "/mcp/structured", SCOPE_MCP, get},
    {METHOD_DELETE, "/mcp/structured", SCOPE_MCP, end_client},
    {METHOD_POST, "/mcp/structured/sessions/{}", SCOPE_MCP,
     post_structured_bound},
    {METHOD_GET, "/mcp/structured/sessions/{}", SCOPE_MCP, get_bound},
    {METHOD_DELETE, "/mcp/structured/sessions/{}", SCOPE_MCP, end_client},
    {METHOD_POST, "/mcp/sessions/{}", SCOPE_MCP, post_bound},
    {METHOD_GET, "/mcp/sessions/{}", SCOPE_MCP, get_bound},
    {METHOD_DELETE, "/mcp/sessions/{}", SCOPE_MCP, end_client},
    {METHOD_GET, OAUTH "oauth-protected-resource", SCOPE_NONE, no_oauth},
    {METHOD_GET, OAUTH "oauth-protected-resource/mcp", SCOPE_NONE, no_oauth},
    {METHOD_GET, OAUTH "oauth-authorization-server", SCOPE_NONE, no_oauth},
    {METHOD_GET, OAUTH "openid-configuration", SCOPE_NONE, no_oauth},
    {0},
};
