/* Sends messages to a client as frames, which wait in a bounded queue. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_SEND_H
#define HEARTH_GATEWAY_HTTP_WS_WS_SEND_H

#include "gateway/http/ws/ws_client.h"

/* Queues a message. `seq` 0: not in the journal. */
void ws_client_queue(ws_client_t *self, uint64_t seq, channel_t channel,
                     const websocket_parts_t *parts);
/* Queues a status message that the session did not send; `parent` is a header.
 */
void ws_client_queue_status(ws_client_t *self, const char *state,
                            bytes_t parent);
/* Queues a message that is made here. `content` is JSON text. */
void ws_client_queue_made(ws_client_t *self, uint64_t seq, channel_t channel,
                          const char *type, bytes_t parent, bytes_t content);
/* Returns true if the queue is past its bound, or past a small part of it while
 * the memory is full. */
bool ws_client_is_full(const ws_client_t *self);
/* Returns true if more waits than may that no journal has. */
bool ws_client_is_flooded(const ws_client_t *self);
/* Disconnects a flooded client, if that has not begun; returns true if the
 * client gets no more. */
bool ws_client_end_flooded(ws_client_t *self);

/* Closes the connection after sending what waits. */
void ws_client_end(ws_client_t *self, int status, const char *text);
/* Asks for a chance to write. */
void ws_client_wake(ws_client_t *self);
/* Writes a fragment of the first frame, or a ping. Returns 1 if something was
 * written, 0 if nothing waits, a negative number if the connection is to be
 * closed. */
int ws_client_write(ws_client_t *self);
void ws_client_drop_frames(ws_client_t *self);

#endif
