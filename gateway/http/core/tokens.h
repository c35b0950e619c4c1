/* Decides what a client may do over HTTP: the gateway's own token, and scoped
 * tokens that `hearth token` makes (token_file.h). Belongs to one thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_TOKENS_H
#define HEARTH_GATEWAY_HTTP_CORE_TOKENS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/http/core/token_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct tokens tokens_t;

/* Reads the tokens. `token` is the gateway's own, with every scope; NULL: a
 * random one. With `is_open` no client needs a token. */
int tokens_new(const char *state_dir, const char *token, bool is_open,
               tokens_t **ret_auth, fault_t *fault);
void tokens_destroy(tokens_t **self_p);
#define cleanup_tokens CLEANUP(tokens_destroy)

bool tokens_is_open(const tokens_t *self);
/* Returns the gateway's own token, lent, for the file with the gateway's URL.
 */
const char *tokens_token(const tokens_t *self);

/* Returns the scopes of a client with this token, 0 if the token is not valid.
 * `ret_id` is the token's id, for logs and cookies. Takes the same time for
 * each wrong token. A token that was made or revoked counts at once. */
unsigned tokens_check(tokens_t *self, const char *token, size_t size,
                      char ret_id[TOKEN_ID_SIZE]);

/* Gets each token that was made (with its scopes) or revoked (0), and the user
 * who owns the file. At first it gets the tokens that exist. */
typedef void tokens_watch_fn(void *arg, const char *id, unsigned scopes,
                             uid_t uid);
void tokens_watch(tokens_t *self, tokens_watch_fn *subscription, void *arg);
/* Reads the file if it has changed; each check does this by itself. */
void tokens_refresh(tokens_t *self);

/* Returns the time (wall clock) from which on tokens of windows count
 * (window_access.h), because older ones were revoked. */
int64_t tokens_windows_from(tokens_t *self);

/* Returns true if there is a token of this id. A token of a window has none
 * here. */
bool tokens_has(tokens_t *self, const char *id);

/* Returns a cookie's value for the holder of token `id`, valid until
 * `expires_us`; to be freed. */
char *tokens_cookie(const tokens_t *self, const char *id, int64_t expires_us);
/* Returns the scopes of a cookie's bearer; 0 if it is forged, expired or
 * revoked. Otherwise `ret_id` is the id of the token for which it was issued.
 */
unsigned tokens_check_cookie(tokens_t *self, const char *value, size_t size,
                             int64_t now_us, char ret_id[TOKEN_ID_SIZE]);
/* Compares the length first, then the text in constant time. */
bool tokens_equals(const char *one, const char *other);

#endif
