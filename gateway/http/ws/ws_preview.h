/* Replaces a message that is too big for its client. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WS_PREVIEW_H
#define HEARTH_GATEWAY_HTTP_WS_WS_PREVIEW_H

#include "gateway/http/ws/ws_client.h"

/* Writes JSON text to be sent instead of content that is too big for the
 * client: small parts, sizes, and the URL of the whole. */
void preview_write(const ws_client_t *client, uint64_t seq, const char *type,
                   bytes_t bytes, buffer_t *out);

#endif
