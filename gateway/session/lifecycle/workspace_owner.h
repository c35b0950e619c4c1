/* The owner of a workspace that hearth keeps, where sessions have users that
 * /etc/subuid lends (gateway/serve/user_namespace_setup.h). It is the session's
 * user while the session lives, else the gateway's, which could neither read
 * nor remove it otherwise. A folder that a client named is not touched. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_WORKSPACE_OWNER_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_WORKSPACE_OWNER_H

#include "gateway/session/lifecycle/spec.h"

/* Gives the workspace to the user `uid`, before a kernel is launched in it
 * again. What could not be given back at the end has its former user. */
int workspace_owner_begin(const session_spec_t *spec, uid_t uid,
                          fault_t *fault);
/* Gives the workspace back when the session has ended. A failure is logged. */
void workspace_owner_end(const session_spec_t *spec);

#endif
