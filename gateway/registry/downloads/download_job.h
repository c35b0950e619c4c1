/* What every job of a worker of downloads has, as its first datagram describes
 * it (docs/design/PROTOCOL.downloads.md), and how its members are read. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_JOB_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_JOB_H

#include "gateway/registry/core/parts.h"
#include "kernels/profile.h"

#include <jansson.h>

/* Returns a job with its order, the worker's folder, the profile, its walls and
 * the users; the caller owns it, and adds what its kind needs. */
json_t *download_job_new(const registry_parts_t *parts,
                         const profile_t *profile, const char *order,
                         const char *work);
/* Returns a JSON array of the texts, which end with NULL; the caller owns it.
 * NULL has none. */
json_t *download_job_list(char *const *texts_or_null);
/* Returns the member's text, lent; "" if it is no text. */
const char *download_job_text(const json_t *object, const char *key);

#endif
