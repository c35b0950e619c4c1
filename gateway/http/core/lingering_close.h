/* An answer past libwebsockets, to somebody it parts from without a word. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_LINGERING_CLOSE_H
#define HEARTH_GATEWAY_HTTP_CORE_LINGERING_CLOSE_H

#include "gateway/http/core/internal.h"

/* {"message","reason"}, the message as it stands within a string of JSON;
 * libwebsockets is about to close the connection, and nothing was answered on
 * it that has not gone. */
void parting_say(http_t *http, struct lws *wsi, int status, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));
/* Parts from those who have their answer. */
void parting_on_tick(http_t *http);
void parting_end(http_t *http);

#endif
