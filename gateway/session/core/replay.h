/* Exactly once: a request whose msg_id came before is not run again. It gets
 * its events and its reply from the journal, under fresh ids. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_REPLAY_H
#define HEARTH_GATEWAY_SESSION_CORE_REPLAY_H

#include "gateway/session/core/session.h"

/* Answers a request whose msg_id was used before: repeated by its client, or
 * chosen a second time for another request, which is refused. One that still
 * waits or runs is answered later, by its own reply. */
void replay_request(session_t *self, request_t *request);

#endif
