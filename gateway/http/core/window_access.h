/* Lets a browser's page in without a cookie, which every port of the host would
 * get. `hearth window` puts a code into a URL's fragment. Within a minute the
 * page trades it, once, for a token, which it sends in the header
 * Authorization. Code and token are texts with a MAC, so that a token outlives
 * a restart of the gateway. Belongs to one thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_WINDOW_ACCESS_H
#define HEARTH_GATEWAY_HTTP_CORE_WINDOW_ACCESS_H

#include "base/cleanup.h"
#include "gateway/http/core/tokens.h"
#include "notebooks/journal/log_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_CODE_SECONDS  60
#define WINDOW_TOKEN_SECONDS (12 * 3600)

typedef struct window_access window_access_t;

/* Takes the key of the journals, from which it derives its own. Codes made
 * before `begun_us` (wall clock) are refused. */
window_access_t *window_access_new(const uint8_t log_key[LOG_KEY_SIZE],
                                   int64_t begun_us);
void window_access_destroy(window_access_t **self_p);
#define cleanup_window_access CLEANUP(window_access_destroy)

/* Codes and tokens that were made before that time (wall clock) are refused. */
void window_access_revoke(window_access_t *self, int64_t before_us);

/* Returns a code for a token with these scopes, to be freed. */
char *window_access_code(const uint8_t log_key[LOG_KEY_SIZE], unsigned scopes,
                         int64_t now_us);

/* Trades a code for a token, to be freed. -EACCES: this is no code of this
 * gateway's; -ETIME: it is too old; -EALREADY: it was traded before; -EBUSY:
 * too many were traded in the last minute for another one to be remembered. */
int window_access_trade(window_access_t *self, const char *code, int64_t now_us,
                        char **ret_token, unsigned *ret_scopes,
                        int64_t *ret_expires_us);

/* Returns the scopes of a token's bearer; 0 if it is forged, revoked or
 * expired. Otherwise `ret_id` names the window, for logs. */
unsigned window_access_check(const window_access_t *self, const char *token,
                             int64_t now_us, char ret_id[TOKEN_ID_SIZE]);

#endif
