/* Calls of host tools: what the kernel's code calls goes to the process that
 * offers the tool, and its answer comes back. Both are in the journal. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_HOST_TOOLS_H
#define HEARTH_GATEWAY_SESSION_TOOLS_HOST_TOOLS_H

#include "gateway/session/core/session.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_providers.h"

/* Gives the kernel, which has just greeted, the tools and the answers that it
 * may have missed. */
void host_tools_greet(session_t *self, jspan_t welcome);
/* Gives the kernel the tools that there are now. */
void host_tools_announce(session_t *self);

/* An answer to a call. */
typedef struct {
    const char *who;    /* the provider, as in the audit log */
    bytes_t result;     /* JSON; empty if the call failed */
    const char *reason; /* without a result: a word, and ... */
    const char *text;   /* ... a sentence */
} host_tools_answer_t;

/* Ends a call: its answer enters the journal, and the kernel gets it. -ENOENT
 * if the call does not wait, -EXXX if the journal cannot be written; then it
 * waits on. */
int host_tools_end(session_t *self, uint64_t id,
                   const host_tools_answer_t *answer, fault_t *fault);
/* Ends the calls of a server of the gateway's own; NULL: of all servers. Ends
 * those that were given to it, or those that were not. */
void host_tools_fail_servers(session_t *self, const char *provider_or_null,
                             bool is_given, const char *text);
/* Says to the kernel how far a call has come, a JSON object, if it takes that.
 * This is not journaled: the kernel does not get it again. */
void host_tools_say_progress(session_t *self, uint64_t id, bytes_t progress);
/* Ends a call with an error of the gateway's. If the journal does not take it,
 * the timer tries again. */
void host_tools_fail(session_t *self, uint64_t id, const char *reason,
                     const char *text);
/* Says to a server of the gateway's own that the code does not wait for a call
 * any more, if it was given the call. */
void host_tools_withdraw(session_t *self, const tool_call_t *call);
/* Gives the calls of a provider to one of its places that wait. */
void host_tools_offer(session_t *self, const char *provider);
/* Answers the request of a place with the calls that it wants. Returns false,
 * without an answer, if it wants no call. */
bool host_tools_give(session_t *self, const tool_wait_t *wait);
/* Returns true if the provider waits for calls, works on one, or did so a short
 * time ago. */
bool host_tools_has(const session_t *self, const char *provider);

/* Ends all calls, since the kernel has ended. */
void host_tools_end_all(session_t *self);
/* Ends the calls whose time is over, and those that no process is there to
 * answer. */
void host_tools_end_due(session_t *self);
/* Handles TIMER_TOOLS; `session` is it. */
void host_tools_on_timer(void *session);
/* Starts TIMER_TOOLS for what is due next. */
void host_tools_await(session_t *self);

#endif
