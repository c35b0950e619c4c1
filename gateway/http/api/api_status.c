/* Describes the gateway and the client's token. */
#include "gateway/http/api/route.h"
#include "gateway/http/rpc/registry_client.h"

#include "base/clock.h"
#include "gateway/http/subscriptions/subscription.h"
#include "gateway/http/terminals/terminals.h"

#include <string.h>

/* Answers with the version of the Jupyter Server whose interface this is:
 * clients decide by it what they may use. */
static void answer_version(exchange_t *exchange)
{
    exchange_json(
        exchange, 200,
        json_pack("{s:s,s:s}", "version", HEARTH_VERSION, "server", "hearth"));
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const http_t *http = exchange->http;
    char started[CLOCK_ISO_SIZE], active[CLOCK_ISO_SIZE];
    const json_t *session;
    json_auto_t *terminals = NULL;
    unsigned connections = 0;
    size_t i;

    if (!registry_client_is_ok(exchange, reply))
        return;
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        connections += subscription_client_count(
            http, json_string_value(json_object_get(session, "id")));
    terminals = terminals_list(exchange->http);
    clock_iso(http->clocks.started_us, started);
    clock_iso(http->clocks.active_us, active);
    exchange_json(
        exchange, 200,
        json_pack("{s:s,s:s,s:i,s:i,s:i}", "started", started, "last_activity",
                  active, "kernels",
                  (int) json_array_size(json_object_get(reply, "sessions")),
                  "connections", (int) connections, "terminals",
                  (int) json_array_size(terminals)));
}

static void answer_status(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_list_request", json_object(),
                        on_list);
}

/* Returns true if the scopes permit the action, in Jupyter Server's names. */
static bool may(unsigned scopes, const char *resource, const char *action)
{
    bool is_reading = strcmp(action, "read") == 0;

    if (strcmp(resource, "contents") == 0)
        return scopes
               & (is_reading ? SCOPE_OBSERVE | SCOPE_FILES : SCOPE_FILES);
    if (strcmp(resource, "kernels") == 0 || strcmp(resource, "sessions") == 0
        || strcmp(resource, "kernelspecs") == 0
        || strcmp(resource, "terminals") == 0)
        return scopes & (is_reading ? SCOPE_OBSERVE : SCOPE_EXECUTE);
    return is_reading && scopes & SCOPE_OBSERVE;
}

/* Returns the granted ones of {"contents": ["read", "write"]}. */
static json_t *granted(unsigned scopes, json_t *asked)
{
    json_t *result = json_object(), *actions, *action;
    const char *resource;
    size_t i;

    json_object_foreach(asked, resource, actions)
    {
        json_t *kept = json_array();
        json_array_foreach(
            actions, i,
            action) if (json_is_string(action)
                        && may(scopes, resource, json_string_value(action)))
            json_array_append(kept, action);
        json_object_set_new(result, resource, kept);
    }
    return result;
}

static void answer_me(exchange_t *exchange)
{
    const char *text = exchange_argument(exchange, "permissions");
    json_auto_t *asked = json_loads(text ? text : "{}", 0, NULL);

    if (!json_is_object(asked)) {
        exchange_fail(exchange, 400,
                      "permissions should be a JSON dict of "
                      "{\"resource\": [\"action\",]}, got %.200s",
                      text);
        return;
    }
    exchange_json(exchange, 200,
                  json_pack("{s:{s:s,s:s,s:s,s:s,s:n,s:n},s:o,s:o}", "identity",
                            "username", exchange->who, "name", exchange->who,
                            "display_name", exchange->who, "initials", "h",
                            "avatar_url", "color", "permissions",
                            granted(exchange->scopes, asked), "scopes",
                            token_scopes_names(exchange->scopes)));
}

const route_t status_routes[] = {
    {METHOD_GET, "/api", SCOPE_NONE, answer_version},
    {METHOD_GET, "/api/status", SCOPE_OBSERVE, answer_status},
    {METHOD_GET, "/api/me", SCOPE_OBSERVE, answer_me},
    {0},
};
