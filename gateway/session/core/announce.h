/* Reports a session's state to the registry, the frontends and the audit
 * log. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_ANNOUNCE_H
#define HEARTH_GATEWAY_SESSION_CORE_ANNOUNCE_H

#include "gateway/session/core/session.h"

/* Answers a request of the registry with the session as it is. */
void announce_session(session_t *self, uint64_t token);
/* Does the same for a client with this identity, or NULL, which gets as
 * "unreported" the loss that it does not know (loss_report_model). */
void announce_to(session_t *self, uint64_t token, const char *identity);
/* Does the same without data that has to be looked for in /proc: a client
 * waits. */
void announce_created(session_t *self, uint64_t token);
/* Sends a frontend the session's description and the end of its journal. */
void announce_greet(session_t *self, const char *frontend);
/* Sends the frontends a new state; `status` messages report idle and busy. */
void announce_state(session_t *self);
/* Reports to all that wait for it that the session is ready. */
void announce_ready(session_t *self);

/* Has the session's start noted in the audit log in a moment: a client waits
 * for an answer that has to cross two threads first. */
void announce_start_soon(session_t *self);
/* Notes the start now, if it is due. */
void announce_start(session_t *self);
/* Handles TIMER_START; `session` is the session_t. */
void announce_on_start(void *session);

/* Reports that the kernel was refused a resource past a limit. */
void announce_limit(session_t *self, const char *name, uint64_t max);
/* Gives the registry the durations of replies that it does not have. */
void announce_latency(session_t *self);
/* Handles TIMER_LATENCY; `session` is the session_t. */
void announce_on_latency(void *session);

#endif
