/* Requests that the gateway answers by itself: kernel_info, the ports,
 * interrupts and shutdowns. On control they are answered while a cell runs. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_LOCAL_REPLIES_H
#define HEARTH_GATEWAY_SESSION_CORE_LOCAL_REPLIES_H

#include "gateway/session/core/session.h"

/* Publishes busy, the answer if there is one, and idle. */
void local_replies_give(session_t *self, request_t *request);
/* Returns true if the request has to wait in the queue. */
bool local_replies_wait(const session_t *self, const request_t *request);

#endif
