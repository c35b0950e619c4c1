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

/* A frame that a client sent. 0: *ret_message is the caller's. -EBADMSG: it is
 * no message, `fault` says why. -EPROTONOSUPPORT: it is one, of a channel that
 * there is not (or iopub, which only listens); to be dropped, not to end the
 * connection. Clients differ: a missing channel is shell, a missing part {},
 * buffers may be {}, and legacy binary may come in a text frame. */
int websocket_decode(websocket_form_t form, const void *bytes, size_t size,
                     channel_t *ret_channel, message_t **ret_message,
                     fault_t *fault);

/* Appends the frame to `out`; returns whether it is a text frame. With
 * `text_only` buffers are left out: there are clients that cannot read binary
 * frames. The parts are JSON that was checked. */
bool websocket_encode(websocket_form_t form, bool text_only, channel_t channel,
                      const websocket_parts_t *parts, buffer_t *out);

/* The channel of that name; CHANNEL_COUNT when there is none. */
channel_t websocket_channel(const void *name, size_t size);
const char *websocket_channel_name(channel_t channel);

#endif
