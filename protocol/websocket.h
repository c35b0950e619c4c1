/* Jupyter messages as WebSocket frames, in the three forms that clients use:
 * legacy JSON in a text frame, legacy binary (JSON and buffers), and
 * v1.kernel.websocket.jupyter.org. (jupyter_server's
 * websocket-protocols.rst.) Whole frames, no sockets. */
#ifndef HEARTH_PROTOCOL_WEBSOCKET_H
#define HEARTH_PROTOCOL_WEBSOCKET_H

#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/message.h"

#include <stdbool.h>

/* The name that a client offers for the third form. */
#define WEBSOCKET_V1_NAME "v1.kernel.websocket.jupyter.org"

typedef enum {
    WEBSOCKET_LEGACY,
    WEBSOCKET_V1,
} websocket_form_t;

/* A message on its way out; all borrowed. Size 0 means "{}". */
typedef struct {
    bytes_t header, parent, metadata, content;
    const bytes_t *buffers;
    size_t buffer_count;
} websocket_parts_t;

/* Decodes a frame that a client sent; the caller owns *ret_message. Forms
 * differ from client to client. A channel may be missing (shell is meant), and
 * so may any part but the header. `buffers` may be an object, and legacy binary
 * may come in a text frame. Returns -EBADMSG if the frame is no message;
 * `fault` says why. Returns -EPROTONOSUPPORT if its channel is unknown or
 * iopub, to which clients do not send. The caller drops such a message and
 * keeps the connection. */
int websocket_decode(websocket_form_t form, const void *bytes, size_t size,
                     channel_t *ret_channel, message_t **ret_message,
                     fault_t *fault);

/* Appends the frame to `out`; returns whether it is a text frame. With
 * `text_only` buffers are left out: there are clients that cannot read binary
 * frames. The parts are JSON that was checked. */
bool websocket_encode(websocket_form_t form, bool text_only, channel_t channel,
                      const websocket_parts_t *parts, buffer_t *out);

/* Returns the channel of that name; CHANNEL_COUNT if no channel has it. A
 * client has no heartbeat channel on a WebSocket, so "hb" is not found. */
channel_t websocket_channel(const void *name, size_t size);
const char *websocket_channel_name(channel_t channel);

#endif
