/* Which host tools a session may have: its profile says which may be
 * registered, and the session's own list which of those its code may call. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_POLICY_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_POLICY_H

#include "gateway/session/lifecycle/spec.h"
#include "gateway/session/tools/tool_offer.h"

/* Checks that sessions of the profile may have these tools. -EPERM says which
 * setting forbids one. */
int tool_policy_check(const profile_t *profile, const tool_offer_t *offer,
                      fault_t *fault);
/* Returns true if the session's code may call the tool. */
bool tool_policy_permits(const session_spec_t *spec, const char *name);
/* Returns why it may not, as a sentence that names what it may call, to be
 * freed. */
char *tool_policy_refusal(const session_spec_t *spec);

#endif
