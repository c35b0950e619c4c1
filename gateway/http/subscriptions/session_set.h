/* The ids of the living sessions, as the registry sends them. So it is known at
 * once, without a request, if a WebSocket can be opened. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_SESSION_SET_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_SESSION_SET_H

#include "gateway/http/core/http.h"

zhashx_t *session_set_new(void);
/* Returns true when the registry has sent all sessions. */
bool session_set_is_read(const http_t *http);
void session_set_on_event(http_t *http, const frontend_event_t *event);
bool session_set_has(const http_t *http, const char *session);
/* Notes that a session was seen alive, or gone, in another message. */
void session_set_note(http_t *http, const char *session, bool is_there);

#endif
