/* What this side remembers beyond a connection, and over a restart: Jupyter's
 * sessions (a document's path and its kernel), its terminals, E2B's sandboxes,
 * and the cursors of clients that may come back. One file in the state folder.
 */
#ifndef HEARTH_GATEWAY_HTTP_WS_RESUME_STATE_H
#define HEARTH_GATEWAY_HTTP_WS_RESUME_STATE_H

#include "gateway/http/core/http.h"

void resume_state_load(http_t *http);
void resume_state_save(http_t *http);

/* Where a client stopped, and the question that it was asked and has not
 * answered: its number in the journal, or 0. */
void resume_state_keep_cursor(http_t *http, const char *session,
                              const char *client, uint64_t cursor,
                              uint64_t question);
/* False when nothing is known of it; it is forgotten when it is taken. */
bool resume_state_take_cursor(http_t *http, const char *session,
                              const char *client, uint64_t *ret_cursor,
                              uint64_t *ret_question);

#endif
