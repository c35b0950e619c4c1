/* Handles requests of processes that answer host tools: to register tools, to
 * wait for calls, to answer them. Also notes for the next gateway that they are
 * there. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_REQUESTS_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_REQUESTS_H

#include "gateway/session/core/session.h"
#include "gateway/session/lifecycle/messages.h"

/* Serves a command SESSION_TOOLS of a session that is alive, and answers it,
 * at once or when there are calls. */
void tool_requests_take(session_t *self, session_command_t *command);
/* Answers all that wait for calls: the session ends. */
void tool_requests_end(session_t *self, const char *sentence);

#endif
