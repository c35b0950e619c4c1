/* Takes over the session of an earlier gateway, whose state is in its journal.
 * A request without a reply waits or runs. The first of them is the one that
 * the kernel has, since requests are handed over one by one. */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_RECOVERY_H
#define HEARTH_GATEWAY_SESSION_ACTOR_RECOVERY_H

#include "gateway/session/core/session.h"

typedef struct recovery recovery_t;

/* Rebuilds the queue, the running request, numbers and counts from the journal,
 * and makes the session's recovery_t. */
int recovery_read(session_t *self, fault_t *fault);
void recovery_destroy(recovery_t **self_p);
/* Returns true if the journal has a kernel that was ready, and not its end. */
bool recovery_misses_end(const recovery_t *self);
/* Returns true if the other gateway was asked to end the kernel, and has not
 * ended it. */
bool recovery_is_leaving(const recovery_t *self);
/* Sends replies of the last second before the end once more. */
void recovery_repeat(session_t *self);
/* Gives requests without a reply the error of a session that is gone. */
void recovery_refuse(session_t *self);
/* Gives requests to a kernel that is being restarted the error of its end. */
void recovery_refuse_old(session_t *self);

#endif
