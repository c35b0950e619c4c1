/* The description of all routes as OpenAPI, in JSON, which is valid YAML.
 * /api/spec.yaml is Jupyter Server's path, the other two are Kernel Gateway's.
 */
#include "gateway/http/api/openapi.h"

#include <string.h>

static void answer(exchange_t *exchange, const char *type)
{
    json_auto_t *document =
        openapi_document(exchange->http->base, exchange->http->each_route);
    cleanup_free char *text = json_dumps(document, JSON_INDENT(1));

    exchange_bytes(exchange, 200, type, text, strlen(text));
}

static void show_yaml(exchange_t *exchange)
{
    answer(exchange, "text/x-yaml");
}

static void show_json(exchange_t *exchange)
{
    answer(exchange, "application/json");
}

const route_t spec_routes[] = {
    {METHOD_GET, "/api/spec.yaml", SCOPE_OBSERVE, show_yaml},
    {METHOD_GET, "/api/swagger.yaml", SCOPE_OBSERVE, show_yaml},
    {METHOD_GET, "/api/swagger.json", SCOPE_OBSERVE, show_json},
    {0},
};
