/* The line from a session to the registry, for events and answers
 * (messages.h). Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_NOTIFY_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_NOTIFY_H

#include "base/cleanup.h"
#include "gateway/session/lifecycle/messages.h"

#include <czmq.h>

typedef struct notify notify_t;

/* Returns a line that does not listen yet; `pipe` is borrowed. */
notify_t *notify_new(zsock_t *pipe);
void notify_destroy(notify_t **self_p);
#define cleanup_notify CLEANUP(notify_destroy)

/* Calls `handler` for the registry's messages, from the loop. */
void notify_listen(notify_t *self, zloop_t *loop, zloop_reader_fn *handler,
                   void *arg);
/* Returns true if the registry has sent what is not handled yet. The loop then
 * handles it in its next turn. */
bool notify_has_command(notify_t *self);
/* Sends an event, which is taken. */
void notify_send(notify_t *self, session_report_t *event);
/* Sends an event of a kind without data. */
void notify_report(notify_t *self, session_report_kind_t kind);
/* Answers a request by its token; `answer` is taken. */
void notify_answer(notify_t *self, uint64_t token, json_t *answer);
/* Reports that a limit was reached. */
void notify_limit(notify_t *self, const char *name);
/* Reports a kernel's control group that could not be removed. */
void notify_left(notify_t *self, const char *group);
/* Reports the end; `detail` is a sentence or NULL. */
void notify_gone(notify_t *self, const char *reason, const char *detail);

#endif
