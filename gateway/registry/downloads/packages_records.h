/* The traces of a job with a session's packages: records in the audit log, and
 * a note in the session's notebook. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_RECORDS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_RECORDS_H

#include "gateway/registry/core/parts.h"

#include <jansson.h>

/* A job; all members are borrowed. */
typedef struct {
    const char *session;   /* its id */
    const char *who;       /* asked for it, as in the audit log */
    const char *operation; /* add or remove */
    json_t *names;         /* that it is about */
    const json_t *job;     /* that the worker got; NULL: none was started */
    bool is_repeated;      /* a replay or a revival asks again */
    bool is_revival;       /* it is a revival */
} packages_job_about_t;

/* Records the reply to it, of the management protocol: each change, or why
 * there was none. */
void packages_records_note(const registry_parts_t *parts,
                           const packages_job_about_t *about, json_t *reply);

#endif
