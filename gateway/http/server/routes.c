/* The table of routes. A path of the table with another method is answered with
 * 405 and the permitted methods. OPTIONS is answered here for every path
 * without a token, because browsers send it before they send one. */
#include "gateway/http/server/routes.h"
#include "gateway/http/core/authorize.h"

#include "gateway/http/terminals/terminal_socket.h"
#include "gateway/http/window/feed_socket.h"
#include "gateway/http/ws/ws_handshake.h"

#include <string.h>

static const door_t *const doors[] = {&e2b_door};

void routes_find_door(exchange_t *exchange)
{
    const char *path = exchange->request.path;

    for (size_t i = 0; path && i < sizeof doors / sizeof *doors; i++) {
        size_t size = strlen(doors[i]->path);
        if (strncmp(path, doors[i]->path, size) == 0
            && (path[size] == '/' || !path[size]))
            exchange->door = doors[i];
    }
}

const route_t *routes_each(size_t *cursor)
{
    size_t left = *cursor;

    for (const route_t *const *table = routes_tables; *table; table++) {
        for (const route_t *row = *table; row->pattern; row++) {
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
    return exchange->request.method == METHOD_HEAD ? METHOD_GET
                                                   : exchange->request.method;
}

/* Finds the route; *ret_methods are the methods of its path. */
static const route_t *find(exchange_t *exchange, unsigned *ret_methods)
{
    const route_t *found = NULL;

    for (const route_t *const *table = routes_tables; *table; table++) {
        for (const route_t *row = *table; row->pattern; row++) {
            char *parameters[EXCHANGE_PARAMETERS_MAX] = {NULL};
            if (!routes_match(row->pattern, exchange->request.path, parameters))
                continue;
            *ret_methods |= row->method;
            if (found || row->method != asked_method(exchange)) {
                clear_parameters(parameters);
                continue;
            }
            found = row;
            memcpy(exchange->request.parameters, parameters, sizeof parameters);
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
        exchange_fail(exchange, 404, "There is no route %.200s",
                      exchange->request.path);
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

    clear_parameters(exchange->request.parameters);
    if (route && !route->scope) {
        exchange->request.body_max = ROUTES_BODY_SMALL;
        return true;
    }
    exchange->pattern = route ? route->pattern : NULL;
    return authorize_check(exchange, route ? route->scope : SCOPE_OBSERVE,
                           false);
}

void routes_dispatch(exchange_t *exchange)
{
    unsigned methods = 0;
    const route_t *route = find(exchange, &methods);

    if (exchange->request.method == METHOD_OPTIONS) {
        if (authorize_check_host(exchange))
            answer_options(exchange, methods);
        return;
    }
    if (route) {
        exchange->pattern = route->pattern;
        if (authorize_check(exchange, route->scope, false))
            route->run(exchange);
        return;
    }
    /* A client without the scope observe does not learn which routes exist. */
    if (!authorize_check(exchange, SCOPE_OBSERVE, false))
        return;
    if (!methods) {
        exchange_fail(exchange, 404, "There is no route %.200s",
                      exchange->request.path);
        return;
    }
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    name_methods(methods, &names);
    exchange_header(exchange, "Allow", "%s", (const char *) names.data);
    exchange_fail(exchange, 405, "%s is not for %.200s; use %s",
                  method_text(exchange->request.method), exchange->request.path,
                  (const char *) names.data);
}

/* Returns true if the request has the WebSocket's path; then it is the
 * exchange's pattern. */
static bool is_at(exchange_t *exchange, const char *pattern)
{
    exchange->pattern = pattern;
    return routes_match(pattern, exchange->request.path,
                        exchange->request.parameters);
}

routes_socket_t routes_upgrade(exchange_t *exchange)
{
    routes_socket_t begun = {0};
    bool is_terminal;

    if (is_at(exchange, FEED_PATH)) {
        if (authorize_check(exchange, SCOPE_NONE, true) /* a token comes */
            && ws_client_may_begin(exchange))
            begun.feed = feed_socket_new(exchange);
        return begun;
    }
    /* The path that is looked at last leaves its parameters. */
    is_terminal = is_at(exchange, ROUTES_TERMINAL);
    if (!is_terminal && !is_at(exchange, ROUTES_CHANNELS)) {
        if (authorize_check(exchange, SCOPE_OBSERVE, true))
            exchange_fail(exchange, 404, "There is no WebSocket at %.200s",
                          exchange->request.path);
        return begun;
    }
    if (!authorize_check(exchange, SCOPE_OBSERVE, true)
        || !ws_client_may_begin(exchange))
        return begun;
    if (is_terminal)
        begun.terminal = terminal_socket_new(exchange);
    else
        begun.ws_client = ws_client_new(exchange);
    return begun;
}
