/* Reads the messages that a viewer has missed from its session's journal: while
 * the viewer took none, and while no gateway ran. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_CATCHUP_H
#define HEARTH_GATEWAY_ENDPOINTS_CATCHUP_H

#include "gateway/endpoints/endpoint.h"

/* Sends the next records of the journal. At the end of the journal the endpoint
 * has caught up. */
void catchup_step(endpoint_t *self);

#endif
