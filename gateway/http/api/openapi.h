/* The interface as an OpenAPI 3 document: what openapi_paths.json and
 * openapi_components.json say of each path, and of each route what the table
 * of routes knows: its parameters, who may, and what any route may answer. */
#ifndef HEARTH_GATEWAY_HTTP_API_OPENAPI_H
#define HEARTH_GATEWAY_HTTP_API_OPENAPI_H

#include "gateway/http/server/routes.h"

/* `base` is the URL without its last slash. A route that nothing was written
 * about has no summary, what was written about no route no x-scope: there are
 * none such (tests/unit/test_openapi.c). Given. */
json_t *openapi_document(const char *base);

/* The two files, made into C when hearth is built (build-aux/embed.sh). */
extern const char openapi_paths[], openapi_components[];
extern const size_t openapi_paths_size, openapi_components_size;

#endif
