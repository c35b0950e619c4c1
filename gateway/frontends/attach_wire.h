/* What both ends of docs/PROTOCOL.front.md write and read alike; nobody else
 * includes it. */
#ifndef HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H
#define HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H

#include "protocol/channel.h"
#include "protocol/message.h"

#include <stdbool.h>

#define FRONT_ENDPOINT_SIZE 64
#define FRONT_EVENT_FRAMES  9 /* from the word to the content */

/* "inproc://front-http"; false when the name is none. */
bool front_endpoint(const char *name, char ret_endpoint[FRONT_ENDPOINT_SIZE]);
/* What frames weigh while they wait: their bytes and libzmq's own. */
uint64_t front_weight(const bytes_t *frames, size_t count);
/* Decimal text; 0 when it is none. */
uint64_t front_number(bytes_t text);

#endif
