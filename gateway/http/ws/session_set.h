/* The ids of the sessions that are alive, as the registry tells them: whether
 * a WebSocket may be had is known without asking anybody. */
#ifndef HEARTH_GATEWAY_HTTP_WS_SESSION_SET_H
#define HEARTH_GATEWAY_HTTP_WS_SESSION_SET_H

#include "gateway/http/core/internal.h"

zhashx_t *roster_new(void);
/* True when the registry has told all that there are. */
bool roster_is_read(const http_t *http);
void roster_on_event(http_t *http, const front_event_t *event);
bool roster_has(const http_t *http, const char *session);
/* What else was heard of a session. */
void roster_note(http_t *http, const char *session, bool is_there);

#endif
