/* The forms of messages that both ends of docs/design/PROTOCOL.attach.md share.
 * Only these two include it. */
#ifndef HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H
#define HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H

#include "protocol/channel.h"
#include "protocol/message.h"

#include <stdbool.h>

#define FRONTEND_ENDPOINT_SIZE 64
#define FRONTEND_EVENT_FRAMES  9 /* from the type to the content */

/* Writes "inproc://front-http"; returns false if the name is not valid. */
bool frontend_endpoint(const char *name,
                       char ret_endpoint[FRONTEND_ENDPOINT_SIZE]);
/* Returns the memory of waiting frames: their bytes and libzmq's own. */
uint64_t frontend_weight(const bytes_t *frames, size_t count);
/* Returns the number in decimal text; 0 if it is another text. */
uint64_t frontend_number(bytes_t text);

#endif
