/* The table of routes. A path that fits a pattern, but with no method that
 * is asked for, is 405 with those that there are; OPTIONS is answered here
 * for every path, without a token, as browsers ask before they send one. */
#include "gateway/http/server/routes.h"

#include "gateway/http/ws/websocket.h"

#include <string.h>

static const route_t *const tables[] = {
    status_routes,  kernelspec_routes, kernel_routes, session_routes,
    login_routes,   hearth_routes,     event_routes,  execute_routes,
    metrics_routes, content_routes,    file_routes,   spec_routes,
    gateway_routes,
};

unsigned routes_method(const route_t *route)
{
    return route->method & ~ROUTE_MODEL;
}

const route_t *routes_each(size_t *cursor)
{
    size_t left = *cursor;

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const route_t *row = tables[i]; row->pattern; row++) {
            if (left-- > 0)
                continue;
            ++*cursor;
            return row;
        }
    }
    return NULL;
}

static void clear_parameters(char *parameters[EXCHANGE_PARAMETERS_MAX])
{
    for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++) {
        free(parameters[i]);
        parameters[i] = NULL;
    }
}

bool routes_match(const char *pattern, const char *path,
                  char *ret_parameters[EXCHANGE_PARAMETERS_MAX])
{
    size_t count = 0;

    while (*pattern) {
        if (*pattern != '{') {
            if (*pattern != *path)
                break;
            pattern++;
            path++;
            continue;
        }
        bool is_rest = pattern[1] == '*';
        size_t size = is_rest ? strlen(path) : strcspn(path, "/");
        if ((!size && !is_rest) || count == EXCHANGE_PARAMETERS_MAX)
            break;
        ret_parameters[count++] = mem_copy(path, size);
        path += size;
        pattern += is_rest ? 3 : 2;
        if (!*pattern && !*path)
            return true;
    }
    if (!*pattern && !*path && (!count || pattern[-1] != '}'))
        return true;
    clear_parameters(ret_parameters);
    return false;
}

static unsigned asked_method(const exchange_t *exchange)
{
    return exchange->method == METHOD_HEAD ? METHOD_GET : exchange->method;
}

/* The route; *ret_methods are all that its path has. */
static const route_t *find(exchange_t *exchange, unsigned *ret_methods)
{
    const route_t *found = NULL;

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        for (const route_t *row = tables[i]; row->pattern; row++) {
            char *parameters[EXCHANGE_PARAMETERS_MAX] = {NULL};
            if (!routes_match(row->pattern, exchange->path, parameters))
                continue;
            *ret_methods |= routes_method(row);
            if (found || routes_method(row) != asked_method(exchange)) {
                clear_parameters(parameters);
                continue;
            }
            found = row;
            memcpy(exchange->parameters, parameters, sizeof parameters);
        }
    }
    return found;
}

static void name_methods(unsigned methods, buffer_t *out)
{
    methods |= METHOD_OPTIONS;
    if (methods & METHOD_GET)
        methods |= METHOD_HEAD;
    for (unsigned i = 0; i < METHOD_COUNT; i++)
        if (methods & 1u << i)
            buffer_format(out, "%s%s", out->size ? ", " : "",
                          method_text(1u << i));
}

static void answer_options(exchange_t *exchange, unsigned methods)
{
    const options_http_t *options = &exchange->http->options->http;
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    if (!methods) {
        exchange_fail(exchange, 404, "There is nothing at %.200s",
                      exchange->path);
        return;
    }
    name_methods(methods, &names);
    exchange_header(exchange, "Allow", "%s", (const char *) names.data);
    if (!options->allow_methods)
        exchange_header(exchange, "Access-Control-Allow-Methods", "%s",
                        (const char *) names.data);
    if (!options->allow_headers)
        exchange_header(exchange, "Access-Control-Allow-Headers",
                        "accept, content-type, authorization, x-xsrftoken");
    exchange_header(exchange, "Access-Control-Max-Age", "%lld",
                    (long long) (options->max_age_ms / 1000));
    exchange_empty(exchange, 200);
}

bool routes_permit(exchange_t *exchange)
{
    unsigned methods = 0;
    const route_t *route = find(exchange, &methods);

    clear_parameters(exchange->parameters);
    if (route && !route->scope) {
        exchange->body_max = ROUTES_BODY_SMALL;
        return true;
    }
    exchange->pattern = route ? route->pattern : NULL;
    exchange->is_model = route && route->method & ROUTE_MODEL;
    return access_check(exchange, route ? route->scope : AUTH_OBSERVE, false);
}

void routes_dispatch(exchange_t *exchange)
{
    unsigned methods = 0;
    const route_t *route = find(exchange, &methods);

    if (exchange->method == METHOD_OPTIONS) {
        answer_options(exchange, methods);
        return;
    }
    if (route) {
        exchange->pattern = route->pattern;
        if (access_check(exchange, route->scope, false))
            route->run(exchange);
        return;
    }
    /* Who may not even look learns nothing of what there is. */
    if (!access_check(exchange, AUTH_OBSERVE, false))
        return;
    if (!methods) {
        exchange_fail(exchange, 404, "There is nothing at %.200s",
                      exchange->path);
        return;
    }
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    name_methods(methods, &names);
    exchange_header(exchange, "Allow", "%s", (const char *) names.data);
    exchange_fail(exchange, 405, "%s is not for %.200s; there are %s",
                  method_text(exchange->method), exchange->path,
                  (const char *) names.data);
}

viewer_t *routes_upgrade(exchange_t *exchange)
{
    exchange->pattern = ROUTES_CHANNELS;
    if (!routes_match(ROUTES_CHANNELS, exchange->path, exchange->parameters)) {
        if (access_check(exchange, AUTH_OBSERVE, true))
            exchange_fail(exchange, 404, "There is no WebSocket at %.200s",
                          exchange->path);
        return NULL;
    }
    if (!access_check(exchange, AUTH_OBSERVE, true)
        || !viewer_may_begin(exchange))
        return NULL;
    return viewer_new(exchange);
}
