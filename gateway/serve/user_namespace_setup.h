/* Whether sessions of an ordinary user's gateway have users of their own
 * (gateway/session_users): decided once, at its start. */
#ifndef HEARTH_GATEWAY_SERVE_USER_NAMESPACE_SETUP_H
#define HEARTH_GATEWAY_SERVE_USER_NAMESPACE_SETUP_H

#include "gateway/config/options.h"

/* Enters the user namespace of the sessions that live, or a new one
 * (sandbox/user_namespace.h); uid_first, uid_count and lends_subids of the
 * options are its range then, and the process has its capabilities over that.
 * Nothing of it for a gateway that can give users as it is. Before there are
 * threads, and with the lock held. A failure is the end of the start: what was
 * asked for cannot be had. */
int session_users_begin(options_t *options, const char *package_folder,
                        fault_t *fault);

/* Whether session_users_begin would give sessions users of their own, started
 * by whoever asks: tried, in a process that ends with it. The sentence says
 * what is in the way. Sessions that live are not looked at. */
int session_users_try(const options_t *options, const char *package_folder,
                      uint64_t *ret_first, uint64_t *ret_count, fault_t *fault);

#endif
