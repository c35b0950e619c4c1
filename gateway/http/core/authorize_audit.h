/* Records uses and refusals of tokens in the audit log. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_AUTHORIZE_AUDIT_H
#define HEARTH_GATEWAY_HTTP_CORE_AUTHORIZE_AUDIT_H

#include "gateway/http/core/http.h"

struct authorize_audit *authorize_audit_new(void);
void authorize_audit_destroy(struct authorize_audit **self_p);
/* Records a refused request; `why` is one of the words in
 * docs/reference/audit.md. */
void authorize_note_refusal(const exchange_t *exchange, const char *why);
/* Records that a valid token gave its bearer a lasting right: a cookie, a
 * WebSocket. `session` is "" if no session is concerned. */
void authorize_note_use(const exchange_t *exchange, const char *event,
                        const char *who, const char *session);
/* Records that a WebSocket's first message had a valid token, whose bearer is
 * `who`; NULL: it had none. */
void authorize_note_socket(http_t *http, void *wsi, const char *path,
                           const char *who);
/* Records from now on which tokens are made and revoked. */
void authorize_audit_watch(http_t *http);
void authorize_audit_on_tick(http_t *http);

#endif
