/* The rows of the table of routes. A resource is a file of its own with its
 * rows; server/routes.c lists all of them. */
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

/* Each ends with a row without a pattern. */
extern const route_t status_routes[];
extern const route_t kernelspec_routes[];
extern const route_t kernel_routes[];
extern const route_t session_routes[];
extern const route_t login_routes[];
extern const route_t hearth_routes[];
extern const route_t event_routes[];
extern const route_t tool_routes[];
extern const route_t package_routes[];
extern const route_t fetch_routes[];
extern const route_t output_routes[];
extern const route_t process_routes[];
extern const route_t terminal_routes[];
extern const route_t execute_routes[];
extern const route_t metrics_routes[];
extern const route_t content_routes[];
extern const route_t file_routes[];
extern const route_t spec_routes[];
extern const route_t gateway_routes[];
extern const route_t mcp_routes[];
extern const route_t window_routes[];
extern const route_t e2b_routes[];

extern const door_t e2b_door;

#endif
