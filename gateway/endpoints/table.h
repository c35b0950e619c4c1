/* The endpoints of the thread and the sessions that they lead to. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_TABLE_H
#define HEARTH_GATEWAY_ENDPOINTS_TABLE_H

#include "gateway/audit/audit.h"
#include "gateway/endpoints/endpoint.h"

#define ENDPOINTS_MAX 32

typedef struct endpoint_table endpoint_table_t;

/* Returns a table without endpoints, which the caller owns. Both arguments are
 * borrowed. */
endpoint_table_t *endpoint_table_new(const endpoint_home_t *home,
                                     audit_writer_t *audit);
/* Closes all endpoints. Their files stay, but for those of sessions that are
 * gone, or end with the gateway. */
void endpoint_table_destroy(endpoint_table_t **self_p);

/* Notes that all sessions end with the gateway. The last event of a session may
 * come too late to say so. */
void endpoint_table_end_sessions(endpoint_table_t *self);

const endpoint_home_t *endpoint_table_home(const endpoint_table_t *self);

/* Returns the session that an endpoint is to lead to, attached; NULL, and sets
 * the fault, if it cannot be attached. */
endpoint_target_t *endpoint_table_find_target(endpoint_table_t *self,
                                              const char *session,
                                              fault_t *fault);
/* Returns the session if an endpoint leads to it, else NULL. */
endpoint_target_t *endpoint_table_target(const endpoint_table_t *self,
                                         const char *session);
/* Leaves the session, unless an endpoint leads to it. */
void endpoint_table_forget_target(endpoint_table_t *self,
                                  endpoint_target_t *target);
/* Attaches sessions again that were lost. */
void endpoint_table_attach_lost(endpoint_table_t *self);

/* Adds an endpoint, which is taken, and opens it. */
void endpoint_table_add(endpoint_table_t *self, endpoint_t *endpoint);
/* Opens one again that an earlier gateway left. */
void endpoint_table_restore(endpoint_table_t *self, const char *name);
/* Closes an endpoint for good, and leaves a session that only it needed. */
void endpoint_table_close(endpoint_table_t *self, endpoint_t *endpoint,
                          const char *who, const char *why);
/* Closes the oldest endpoint that leads to a gone session, if all places are
 * taken. Returns false if none is free after that. */
bool endpoint_table_make_room(endpoint_table_t *self);

/* Return how many endpoints there are; the newest one, and by `next` the
 * others; the endpoint of that name, NULL if no endpoint has it. */
size_t endpoint_table_count(const endpoint_table_t *self);
endpoint_t *endpoint_table_first(const endpoint_table_t *self);
endpoint_t *endpoint_table_find(const endpoint_table_t *self, const char *name);

#endif
