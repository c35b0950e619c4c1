/* Stops a gateway: sessions are kept or ended, and those that do not answer are
 * not waited for. A session that no client has does not outlive the gateway: a
 * member of the pool, or one that has not started yet. Belongs to the main
 * thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_CLOSING_H
#define HEARTH_GATEWAY_REGISTRY_CORE_CLOSING_H

#include "gateway/config/options.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_table.h"

#include <czmq.h>
#include <jansson.h>

typedef struct closing closing_t;

/* Returns the end of a gateway, which has not begun; the caller owns it. All
 * arguments are borrowed. `loop` is ended when all sessions are done, or have
 * had their time. */
closing_t *closing_new(const options_t *options, session_table_t *table,
                       pending_requests_t *pending, zloop_t *loop);
void closing_destroy(closing_t **self_p);
#define cleanup_closing CLEANUP(closing_destroy)

/* Asks the sessions to keep their kernels, or to end; does nothing if that was
 * done before. Requests for sessions that have not started are refused. */
void closing_begin(closing_t *self, bool ends_sessions);
/* Returns the answer to a request for a session that is not started because the
 * gateway stops; the caller owns it. */
json_t *closing_refusal(void);
/* Returns true if no session outlives the gateway, after closing_begin. */
bool closing_ends_sessions(const closing_t *self);
/* Returns true if the gateway stops and waits for no session any more. */
bool closing_is_done(const closing_t *self);
/* Ends the threads of all sessions and empties the table. Returns false if one
 * does not end in its time. */
bool closing_end_threads(closing_t *self);

#endif
