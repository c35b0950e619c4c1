/* /api/spec.yaml: all of this as OpenAPI, in JSON, which is YAML. */
#include "gateway/http/openapi.h"

#include <string.h>

static void show(exchange_t *exchange)
{
    json_auto_t *document = openapi_document(exchange->http->base);
    cleanup_free char *text = json_dumps(document, JSON_INDENT(1));

    exchange_bytes(exchange, 200, "text/x-yaml", text, strlen(text));
}

const route_t spec_routes[] = {
    {METHOD_GET, "/api/spec.yaml", AUTH_OBSERVE, show},
    {0},
};
