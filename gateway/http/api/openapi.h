/* Describes the interface as an OpenAPI 3 document: each path and schema by the
 * files of gateway/http/api/openapi/, one for each resource, and each route by
 * the table of routes: its parameters, its scope, and the errors that every
 * route may answer. */
#ifndef HEARTH_GATEWAY_HTTP_API_OPENAPI_H
#define HEARTH_GATEWAY_HTTP_API_OPENAPI_H

#include "gateway/http/api/route.h"

/* Describes the routes that `each` returns, for the caller to own. `base` is
 * the URL without its last slash. A route that the files lack has no summary,
 * and a path of the files without a route has no x-scope;
 * tests/unit/http/api/test_openapi.c finds both. */
json_t *openapi_document(const char *base, route_each_fn *each);

/* The files as one JSON array, converted to C when hearth is built
 * (build-aux/embed.sh). Each has paths, components or both, as OpenAPI has
 * them, and no name that another file has. */
extern const char openapi_parts[];
extern const size_t openapi_parts_size;

#endif
