/* Management requests (docs/design/PROTOCOL.management.md). */
#ifndef HEARTH_GATEWAY_REGISTRY_API_MANAGEMENT_API_H
#define HEARTH_GATEWAY_REGISTRY_API_MANAGEMENT_API_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"

typedef struct management_api management_api_t;

/* Returns the table of management requests, which the caller owns. `parts` is
 * borrowed, and may be filled later. */
management_api_t *management_api_new(const registry_parts_t *parts);
void management_api_destroy(management_api_t **self_p);
#define cleanup_management_api CLEANUP(management_api_destroy)

/* Serves all requests that have come. */
void management_api_serve(management_api_t *self);
/* Serves again the requests that a session's actor has not answered before it
 * ended. */
void management_api_redo(management_api_t *self, const char *session);
/* Notes a dropped message in the audit log: a management_watch_fn, whose `arg`
 * is the parts. */
void management_api_on_bad_message(void *arg, const char *who,
                                   const char *verdict);

#endif
