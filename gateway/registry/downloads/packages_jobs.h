/* Jobs with the packages of sessions: a queue, the running ones, and the
 * effects of their answers. One job that writes runs at a time, lists run at
 * once. Lives in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_JOBS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_JOBS_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/session/lifecycle/messages.h"
#include "protocol/message.h"

#include <jansson.h>

typedef struct packages_jobs packages_jobs_t;

/* Returns no jobs yet; the caller owns the object. Both arguments are borrowed.
 * `package_folder` is the folder of the Python package hearth_downloads. */
packages_jobs_t *packages_jobs_new(const registry_parts_t *parts,
                                   const char *package_folder);
/* Ends the workers and waits for that. */
void packages_jobs_destroy(packages_jobs_t **self_p);
#define cleanup_packages_jobs CLEANUP(packages_jobs_destroy)

/* Returns a job with packages of the profile, as its worker gets it; the caller
 * owns it, and adds `session`. `packages` has the rules: the profile's, perhaps
 * lowered for a session. `content` has the operation, the names, and perhaps
 * what was recorded. */
json_t *packages_jobs_describe(const registry_parts_t *parts,
                               const profile_t *profile,
                               const profile_packages_t *packages,
                               const json_t *content);
/* Adds the users and passwords of the index to a job that may ask it. Returns
 * the error, the caller's, if none can be used; else NULL. A package is removed
 * without them: what stays comes from the cache. */
json_t *packages_jobs_add_credentials(const profile_t *profile, json_t *job);

/* Takes a packages_request, and answers it when its job is done. */
void packages_jobs_serve(packages_jobs_t *self, const json_t *content,
                         message_t **request_p);
/* Takes a call of code in a cell of the session, whose arguments are those of
 * such a request, and answers it likewise. */
void packages_jobs_call(packages_jobs_t *self, const session_entry_t *entry,
                        const session_call_t *call);
/* Returns true if a job that changes the packages of the session waits or has
 * no answer yet. */
bool packages_jobs_changes(const packages_jobs_t *self, const char *session);
/* Returns true if a job of the session waits or has no answer yet, also a list.
 * With the answer of each, a session that has expired is asked to give up its
 * ports again. */
bool packages_jobs_has(const packages_jobs_t *self, const char *session);
/* Gives up the jobs of a session that has just gone, or is removed. */
void packages_jobs_on_gone(packages_jobs_t *self, const char *session);
/* Gives up all jobs, because the gateway stops. */
void packages_jobs_stop(packages_jobs_t *self);

#endif
