/* Decides once, at the start, if the sessions of an ordinary user's gateway
 * have users of their own. */
#ifndef HEARTH_GATEWAY_SERVE_USER_NAMESPACE_SETUP_H
#define HEARTH_GATEWAY_SERVE_USER_NAMESPACE_SETUP_H

#include "gateway/config/options.h"

/* Enters the user namespace of the living sessions, or a new one
 * (sandbox/users/user_namespace.h). Then uid_first, uid_count and lends_subids
 * of the options describe its range, and the process has its capabilities over
 * that range. Does nothing for a gateway that can give users without it. Must
 * be called before there are threads, and with the lock held. After a failure
 * the gateway cannot start, because it cannot do what was configured. */
int user_namespace_setup_begin(options_t *options, const char *package_folder,
                               fault_t *fault);

/* Tries user_namespace_setup_begin for this process's user, in a process that
 * then ends. Returns 0 if sessions would get users of their own; otherwise the
 * fault says what is missing. Ignores living sessions. */
int user_namespace_setup_try(const options_t *options,
                             const char *package_folder, uint64_t *ret_first,
                             uint64_t *ret_count, fault_t *fault);

#endif
