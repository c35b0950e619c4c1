/* Who may do what over HTTP: the gateway's own token, and scoped tokens that
 * `hearth token` makes, kept as hashes in the state folder. Belongs to one
 * thread; the file is shared with the command line. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_TOKENS_H
#define HEARTH_GATEWAY_HTTP_CORE_TOKENS_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*   name     text       what its holder may do */
#define AUTH_SCOPES(X)                                                         \
    X(OBSERVE, "observe", "see sessions and their outputs")                    \
    X(EXECUTE, "execute", "create, use and end sessions")                      \
    X(FILES, "files", "read and write files of workspaces")                    \
    X(ADMIN, "admin", "manage the gateway")

enum {
#define X(name, text, help) AUTH_BIT_##name,
    AUTH_SCOPES(X)
#undef X
    AUTH_SCOPE_COUNT
};
enum {
#define X(name, text, help) AUTH_##name = 1 << AUTH_BIT_##name,
    AUTH_SCOPES(X)
#undef X
    AUTH_ALL = (1 << AUTH_SCOPE_COUNT) - 1
};

#define AUTH_TOKENS_FILE "tokens.json" /* in the state folder, 0600 */
#define AUTH_ID_SIZE     17            /* 16 hex digits and a NUL */

typedef struct auth auth_t;

/* `token` is the gateway's own, with every scope; NULL: a random one. With
 * `is_open` nobody needs any. */
int auth_new(const char *state_dir, const char *token, bool is_open,
             auth_t **ret_auth, fault_t *fault);
void auth_destroy(auth_t **self_p);
#define cleanup_auth CLEANUP(auth_destroy)

bool auth_is_open(const auth_t *self);
/* The gateway's own token, for the file that tells it; lent. */
const char *auth_token(const auth_t *self);

/* The scopes of whoever presents this token, 0 when nobody does. `ret_id`
 * names the token, for logs and cookies. Takes the same time for each wrong
 * token. A token that was made or revoked counts at once. */
unsigned auth_check(auth_t *self, const char *token, size_t size,
                    char ret_id[AUTH_ID_SIZE]);

/* Who is told that a token was made (with its scopes) or revoked (0), and the
 * user whose file says so. One that was there at first is told too. */
typedef void auth_watch_fn(void *arg, const char *id, unsigned scopes,
                           uid_t uid);
void auth_watch(auth_t *self, auth_watch_fn *watch, void *arg);
/* Looks whether the file has changed; each check does so by itself. */
void auth_refresh(auth_t *self);

/* A cookie's value for the holder of token `id`, good until `expires_us`; to
 * be freed. */
char *auth_cookie(const auth_t *self, const char *id, int64_t expires_us);
/* The scopes of a cookie's bearer; 0: forged, expired or revoked, else
 * `ret_id` names the token that it was got for. */
unsigned auth_check_cookie(auth_t *self, const char *value, size_t size,
                           int64_t now_us, char ret_id[AUTH_ID_SIZE]);
/* Length first, then constant time. */
bool auth_equals(const char *one, const char *other);

/* "observe,execute" -> bits; 0 when a word is none. */
unsigned auth_parse_scopes(const char *text);
/* An array of names. */
json_t *auth_scope_names(unsigned scopes);

/* For the command line. The token's text is told once, by create. */
int auth_create(const char *state_dir, const char *name, unsigned scopes,
                char **ret_token, char ret_id[AUTH_ID_SIZE], fault_t *fault);
/* [{"id","name","scopes","created"}], oldest first. */
int auth_list(const char *state_dir, json_t **ret_tokens, fault_t *fault);
/* -ENOENT when there is none of that id. */
int auth_revoke(const char *state_dir, const char *id, fault_t *fault);

#endif
