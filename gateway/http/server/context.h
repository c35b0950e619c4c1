/* The context of libwebsockets with its virtual hosts: one for clients, one for
 * our own descriptors. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_CONTEXT_H
#define HEARTH_GATEWAY_HTTP_SERVER_CONTEXT_H

#include "gateway/http/server/server.h"

/* Makes the context. `own` are the protocols of our own descriptors, static. */
int context_make(server_t *self, const struct lws_protocols *own,
                 fault_t *fault);

#endif
