/* What there is below the base URL: one table of method, pattern, scope and
 * function. A resource is a file route_<noun>.c with its rows. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_ROUTES_H
#define HEARTH_GATEWAY_HTTP_SERVER_ROUTES_H

#include "gateway/http/core/internal.h"

/* What a route asks of whoever calls it, beside AUTH_ bits. */
#define SCOPE_NONE 0u /* nothing, not even a token */

/* The body is that of a file, of any size (gateway/http/core/body_file.h). */
#define ROUTE_MODEL (1u << METHOD_COUNT)

typedef struct {
    unsigned method;     /* one METHOD_ bit; GET answers HEAD too. With it,
                            ROUTE_MODEL */
    const char *pattern; /* "/api/kernels/{}/restart"; {} is one segment, a
                            {*} at the end all that follows; NULL ends */
    unsigned scope;      /* AUTH_ bits, one of which will do, or SCOPE_NONE */
    void (*run)(exchange_t *exchange);
} route_t;

/* Each ends with a row without a pattern. */
extern const route_t status_routes[];
extern const route_t kernelspec_routes[];
extern const route_t kernel_routes[];
extern const route_t session_routes[];
extern const route_t login_routes[];
extern const route_t hearth_routes[];
extern const route_t event_routes[];
extern const route_t execute_routes[];
extern const route_t metrics_routes[];
extern const route_t content_routes[];
extern const route_t file_routes[];
extern const route_t spec_routes[];
extern const route_t gateway_routes[];

/* The METHOD_ bit alone. */
unsigned routes_method(const route_t *route);
/* All rows, one after the other; NULL behind the last. Start with 0. */
const route_t *routes_each(size_t *cursor);

/* Whether who asks may send a body that is not small; false: it was answered.
 * Before the body is there. */
bool routes_permit(exchange_t *exchange);
#define ROUTES_BODY_SMALL (64u << 10) /* bytes that anybody may send */
/* Finds the route, checks who asks, runs it; answers when there is none. */
void routes_dispatch(exchange_t *exchange);
/* The WebSocket that a request asks for, at this path alone; NULL: refused, and
 * answered. */
viewer_t *routes_upgrade(exchange_t *exchange);
#define ROUTES_CHANNELS "/api/kernels/{}/channels"

/* Whether a decoded path fits; fills `ret_parameters` with fresh texts. */
bool routes_match(const char *pattern, const char *path,
                  char *ret_parameters[EXCHANGE_PARAMETERS_MAX]);

#endif
