/* All routes below the base URL: method, pattern, scope and function. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_ROUTES_H
#define HEARTH_GATEWAY_HTTP_SERVER_ROUTES_H

#include "gateway/http/api/route.h"

/* The tables of all resources, NULL at the end. The build makes the list from
 * the sources. No path fits rows of two tables, so the order means nothing. */
extern const route_t *const routes_tables[];

/* Returns one row after the other; NULL after the last. Start with 0. */
const route_t *routes_each(size_t *cursor);

/* Notes at which door the request's path is. Called before anything answers. */
void routes_find_door(exchange_t *exchange);
/* Returns true if the client may send a large body; if not, an error was sent.
 * Called before the body has come. */
bool routes_permit(exchange_t *exchange);
#define ROUTES_BODY_SMALL                                                      \
    (64u << 10) /* bytes that a client without a token may send */
/* Finds the route, checks the client's scopes and runs the route. Answers with
 * an error if no route has the path and method. */
void routes_dispatch(exchange_t *exchange);
/* A WebSocket that has begun: one of the three. */
typedef struct {
    ws_client_t *ws_client;
    terminal_socket_t *terminal;
    feed_socket_t *feed;
} routes_socket_t;

/* Begins the WebSocket that a request asks for, which exists only at three
 * paths. Returns none of them if it was refused with an error response. */
routes_socket_t routes_upgrade(exchange_t *exchange);

/* Returns true if a decoded path fits the pattern; fills `ret_parameters` with
 * new texts. */
bool routes_match(const char *pattern, const char *path,
                  char *ret_parameters[EXCHANGE_PARAMETERS_MAX]);

#endif
