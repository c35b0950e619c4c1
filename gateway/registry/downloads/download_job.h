/* Describes what all jobs of the workers of downloads have, and reads members
 * of jobs (docs/design/PROTOCOL.downloads.md). */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_JOB_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_JOB_H

#include "gateway/config/download_rules.h"
#include "gateway/registry/core/parts.h"
#include "kernels/profile.h"

#include <jansson.h>

/* Returns a job with its operation, the worker's folder, the profile's walls
 * and the users. The caller owns it, and adds what its kind needs. */
json_t *download_job_new(const registry_parts_t *parts,
                         const profile_t *profile, const char *operation,
                         const char *work);
/* Adds what the session's own rules of that section are: `own_allow` and
 * `own_deny`, and `own_texts` with its numbers and switches as texts. */
void download_job_add_own(json_t *job, const char *section,
                          json_t *own_or_null);
/* Returns the member's text, lent; "" if it is no text or has a NUL. */
const char *download_job_text(const json_t *object, const char *key);
/* Returns the request that a call of code makes, lent: its arguments, and in a
 * replay the recorded result (recorded_result.h). */
json_t *download_job_of_call(const json_t *call);

#endif
