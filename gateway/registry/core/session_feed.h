/* Frontends that follow the list of sessions. Each birth, hand-out and end is
 * reported before the request that caused it is answered. So a frontend knows a
 * session before its clients can name it. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_SESSION_FEED_H
#define HEARTH_GATEWAY_REGISTRY_CORE_SESSION_FEED_H

#include "base/cleanup.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/session_table.h"

#define SESSION_FEED_MAX 8 /* followers */

typedef struct session_feed session_feed_t;

/* Returns a feed without followers, which the caller owns. Both arguments are
 * borrowed. */
session_feed_t *session_feed_new(management_t *management,
                                 session_table_t *table);
void session_feed_destroy(session_feed_t **self_p);
#define cleanup_session_feed CLEANUP(session_feed_destroy)

/* Answers with all sessions that are there; the request is taken and answered
 * again for each change. Refuses the ninth follower. */
void session_feed_follow(session_feed_t *self, message_t **request_p);
/* Reports the session if it has come or gone since the last report. */
void session_feed_report(session_feed_t *self, session_entry_t *entry);

#endif
