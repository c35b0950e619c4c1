/* Host tools over a WebSocket: its client registers tools by a message, gets
 * calls as messages and answers them so, all on the channel control. While the
 * connection is open, the client counts as there. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_TOOLS_H
#define HEARTH_GATEWAY_HTTP_WS_WS_TOOLS_H

#include "gateway/http/ws/ws_client.h"

/* Serves `tools_register` or `tool_answer`. Returns false if the message is
 * another one. */
bool ws_tools_take(ws_client_t *client, const message_t *message);
/* Ends what the client has of it: calls that it has got are for others. */
void ws_tools_destroy(ws_tools_t **self_p);

#endif
