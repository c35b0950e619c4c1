/* Catches up a slow client from the journal. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_CATCHUP_H
#define HEARTH_GATEWAY_HTTP_WS_WS_CATCHUP_H

#include "gateway/http/ws/ws_client.h"

/* Queues the records after the client's cursor, until the queue is full or the
 * client has caught up. */
void ws_client_catch_up(ws_client_t *self);
/* Returns the journal number of the client's oldest request to which an earlier
 * gateway has not sent a reply; 0 if all have theirs. Looks only among the last
 * SCAN_MAX records. */
uint64_t ws_client_find_unanswered(const ws_client_t *self);
/* Sends the question again that the client's old connection left unanswered. */
void ws_client_ask_again(ws_client_t *self);

#endif
