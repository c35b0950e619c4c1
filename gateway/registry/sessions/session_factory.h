/* Makes sessions: their specs (gateway/session/actor/actor.h) out of what a
 * client wished, their folders and connection files, their place in the table.
 */
#ifndef HEARTH_GATEWAY_REGISTRY_SESSIONS_SESSION_FACTORY_H
#define HEARTH_GATEWAY_REGISTRY_SESSIONS_SESSION_FACTORY_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

#include <jansson.h>

/* Returns the profile of that name, lent; the default one if no profile has it.
 */
const profile_t *session_factory_profile(const options_t *options,
                                         const char *name);
/* Fills in the settings that the configuration has, not the session. Makes the
 * name of its folder of packages if it lacks one. */
void session_factory_fill_settings(const registry_parts_t *parts,
                                   session_spec_t *spec);
/* Fills in a request's wishes about the session's life. `request` has that
 * content; NULL: no client asks. */
int session_factory_fill_wishes(const options_t *options, json_t *content,
                                const message_t *request, session_spec_t *spec,
                                fault_t *fault);
/* Fills in fresh ports and a fresh key, or those of a client's connection file
 * `file`. `transport` is "ipc", "tcp" or NULL: as the options say. */
int session_factory_make_connection(const options_t *options,
                                    session_spec_t *spec, const char *file,
                                    const char *transport, fault_t *fault);

/* Adds a session to the table and reports it; `*spec_p` is taken on success. */
int session_factory_add(const registry_parts_t *parts, session_spec_t **spec_p,
                        bool is_start, session_entry_t **ret_entry,
                        fault_t *fault);
/* Reports a session that is alive: followers learn of it, and its workspace is
 * measured. */
void session_factory_announce(const registry_parts_t *parts,
                              session_entry_t *entry);
/* Judges a request with that content before it waits for something: most that
 * would be refused when its turn comes is refused now. */
int session_factory_check(const registry_parts_t *parts, json_t *content,
                          const message_t *request, fault_t *fault);
/* Makes a session as a request with that content wishes it; NULL: it is made
 * for the pool. Returns NULL, and sets the fault, if that fails. */
session_entry_t *session_factory_start(const registry_parts_t *parts,
                                       json_t *content,
                                       const message_t *request_or_null,
                                       fault_t *fault);
/* Prepares resources of the next fork, for the usual case. */
void session_factory_prealloc(const registry_parts_t *parts);

#endif
