/* The first messages on a new WebSocket, by which a client learns the state of
 * its kernel: busy and idle of a kernel_info_request, as Jupyter's servers send
 * them. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_GREETING_H
#define HEARTH_GATEWAY_HTTP_WS_WS_GREETING_H

#include "gateway/http/ws/ws_client.h"

/* Queues busy, and idle if the kernel is idle. */
void ws_client_greet(ws_client_t *self);
/* Queues the idle that is missing, if the kernel has become idle. */
void ws_client_greet_idle(ws_client_t *self);

#endif
