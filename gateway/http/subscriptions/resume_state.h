/* Data of the HTTP frontend that outlives a connection and a restart: Jupyter's
 * sessions (a document's path and its kernel), its terminals, E2B's sandboxes,
 * and the cursors of clients that may come back. One file in the state
 * folder. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_RESUME_STATE_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_RESUME_STATE_H

#include "gateway/http/core/http.h"

void resume_state_load(http_t *http);
void resume_state_save(http_t *http);

/* The position at which a client stopped. */
typedef struct {
    uint64_t seq;      /* all messages up to this number were sent */
    uint64_t question; /* the input_request that it has not answered, or 0 */
    uint64_t partial;  /* the stream message that was sent in part, or 0 */
    uint64_t bytes;    /* sent of that one's text (stream_pieces.h) */
} resume_cursor_t;

void resume_state_keep_cursor(http_t *http, const char *session,
                              const char *client,
                              const resume_cursor_t *cursor);
/* Returns false if nothing is known of the client. The cursor is forgotten when
 * it is taken. */
bool resume_state_take_cursor(http_t *http, const char *session,
                              const char *client, resume_cursor_t *ret_cursor);

#endif
