/* The frontend as a client of the management protocol. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTEND_RPC_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTEND_RPC_H

#include "gateway/frontends/frontend_state.h"

/* Asks the registry to attach the session. */
int frontend_rpc_attach(frontend_t *self, const char *session, fault_t *fault);
/* Takes the next answer (self->answer). Returns false if no answer waits. An
 * answer about a session that was to be attached has its id in ret_attached;
 * else that is "", and *ret_event is the answer. */
bool frontend_rpc_next(frontend_t *self, char ret_attached[FRONTEND_ID_MAX],
                       frontend_event_t *ret_event);

#endif
