/* Orders about the files of workspaces, with the bytes that go along. A few
 * are under way at a time, the others wait in line: memory does not grow with
 * the number of clients, and the thread for files never hears of more than it
 * takes. Who waits for an answer can go at any time. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_FILES_CLIENT_H
#define HEARTH_GATEWAY_HTTP_RPC_FILES_CLIENT_H

#include "gateway/http/core/internal.h"

#define COURIER_PIECE (256u << 10) /* bytes of a file in one order */

courier_t *courier_new(void);
void courier_destroy(courier_t **self_p);

/* `reply` and `data` are lent for the call. */
typedef void courier_fn(void *owner, const json_t *reply, bytes_t data);
/* `content` is taken, so is what `data` holds (NULL: nothing goes along). `fn`
 * is called once, never from here, unless the owner is forgotten first; an
 * owner that is NULL wants no answer. */
void courier_order(http_t *http, void *owner, const char *type, json_t *content,
                   buffer_t *data, courier_fn *fn);
/* The first of several: it says in whose name they are. */
void courier_begin(const exchange_t *exchange, void *owner, const char *type,
                   json_t *content, courier_fn *fn);
/* The same for a request that needs no bytes; `fn` as in desk_order. */
void courier_ask(exchange_t *exchange, const char *type, json_t *content,
                 desk_reply_fn *fn);
/* Orders of this owner are answered into nothing; a transfer that one of them
 * began is closed. */
void courier_forget(http_t *http, const void *owner);
/* Ends a transfer that nobody will read on or write on; NULL: there is none. */
void courier_close(http_t *http, const char *transfer);
/* That of a reply, when it is not done. */
void courier_close_left(http_t *http, const json_t *reply);
/* False: it is none of these. */
bool courier_on_answer(http_t *http, const front_event_t *event);
/* Each second: what the thread for files had no room for is sent anew. */
void courier_on_tick(http_t *http);

#endif
