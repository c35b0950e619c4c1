/* What the gateway is and who asks. */
#include "gateway/http/server/routes.h"

#include "base/clock.h"
#include "gateway/http/ws/subscription.h"

#include <string.h>

/* Front ends look at it to know what they may use: that of the Jupyter Server
 * whose interface this is. */
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
    unsigned connections = 0;
    size_t i;

    if (!desk_is_ok(exchange, reply))
        return;
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        connections += watch_viewer_count(
            http, json_string_value(json_object_get(session, "id")));
    clock_iso(http->started_us, started);
    clock_iso(http->active_us, active);
    exchange_json(
        exchange, 200,
        json_pack("{s:s,s:s,s:i,s:i}", "started", started, "last_activity",
                  active, "kernels",
                  (int) json_array_size(json_object_get(reply, "sessions")),
                  "connections", (int) connections));
}

static void answer_status(exchange_t *exchange)
{
    desk_order(exchange, "session_list_request", json_object(), on_list);
}

/* What somebody may do with a resource, as Jupyter Server names them. */
static bool may(unsigned scopes, const char *resource, const char *action)
{
    bool is_reading = strcmp(action, "read") == 0;

    if (strcmp(resource, "contents") == 0)
        return scopes & (is_reading ? AUTH_OBSERVE | AUTH_FILES : AUTH_FILES);
    if (strcmp(resource, "kernels") == 0 || strcmp(resource, "sessions") == 0
        || strcmp(resource, "kernelspecs") == 0)
        return scopes & (is_reading ? AUTH_OBSERVE : AUTH_EXECUTE);
    return is_reading && scopes & AUTH_OBSERVE;
}

/* {"contents": ["read", "write"]} -> those of them that are granted. */
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
                            auth_scope_names(exchange->scopes)));
}

const route_t status_routes[] = {
    {METHOD_GET, "/api", SCOPE_NONE, answer_version},
    {METHOD_GET, "/api/status", AUTH_OBSERVE, answer_status},
    {METHOD_GET, "/api/me", AUTH_OBSERVE, answer_me},
    {0},
};
