/* A row of a table of routes. A resource is a file of its own with its table,
 * `const route_t NOUN_routes[] = {`, which ends with a row without a pattern.
 * build-aux/route-tables.sh finds them all (server/routes.h). */
#ifndef HEARTH_GATEWAY_HTTP_API_ROUTE_H
#define HEARTH_GATEWAY_HTTP_API_ROUTE_H

#include "gateway/http/core/http.h"

/* The requirements of a route, besides SCOPE_ bits. */
#define SCOPE_NONE 0u /* nothing, not even a token */

typedef struct route {
    unsigned method;     /* one METHOD_ bit; GET answers HEAD too */
    const char *pattern; /* "/api/kernels/{}/restart"; {} is one segment, {*} at
                            the end is the rest; NULL ends */
    unsigned scope;      /* SCOPE_ bits, one of which will do, or SCOPE_NONE */
    void (*run)(exchange_t *exchange);
} route_t;

/* WebSockets. */
#define ROUTES_CHANNELS "/api/kernels/{}/channels"
#define ROUTES_TERMINAL "/terminals/websocket/{}"

/* Returns one row after the other, NULL after the last. Start with 0. */
typedef const route_t *route_each_fn(size_t *cursor);

extern const door_t e2b_door;

#endif
