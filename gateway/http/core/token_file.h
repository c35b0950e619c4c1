/* Scoped tokens: a file of their hashes in the state folder, which the command
 * line and the gateway change and the gateway reads. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_TOKEN_FILE_H
#define HEARTH_GATEWAY_HTTP_CORE_TOKEN_FILE_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A new scope is added at the end, because tokens of windows carry its bit
 * (window_access.h). */
/*   name     text       what its holder may do */
#define TOKEN_SCOPES(X)                                                        \
    X(OBSERVE, "observe", "see sessions and their outputs")                    \
    X(EXECUTE, "execute", "create, use and end sessions")                      \
    X(FILES, "files", "read and write files of workspaces")                    \
    X(ADMIN, "admin", "manage the gateway")

enum {
#define X(name, text, help) SCOPE_BIT_##name,
    TOKEN_SCOPES(X)
#undef X
    SCOPE_COUNT
};
enum {
#define X(name, text, help) SCOPE_##name = 1 << SCOPE_BIT_##name,
    TOKEN_SCOPES(X)
#undef X
    SCOPE_ALL = (1 << SCOPE_COUNT) - 1
};

#define TOKENS_FILE       "tokens.json" /* in the state folder, 0600 */
#define TOKEN_ID_SIZE     17            /* 16 hex digits and a NUL */
#define TOKEN_HASH_SIZE   32
#define TOKEN_RANDOM_SIZE 24 /* bytes of a token, as Jupyter's */
#define TOKEN_TEXT_SIZE   (2 * TOKEN_RANDOM_SIZE + 1) /* in hex, and a NUL */

/* Reads "observe,execute" as bits; 0 if a word is unknown. */
unsigned token_scopes_parse(const char *text);
/* Returns an array of the scopes' names. */
json_t *token_scopes_names(unsigned scopes);

/* Makes the hash under which a token is kept. */
void token_hash(const char *token, size_t size, uint8_t ret[TOKEN_HASH_SIZE]);
/* Makes the text of a new token. */
void token_random(char ret[TOKEN_TEXT_SIZE]);

/* Makes a token, for the command line. Its text is returned only here. */
int token_file_create(const char *state_dir, const char *name, unsigned scopes,
                      char **ret_token, char ret_id[TOKEN_ID_SIZE],
                      fault_t *fault);
/* Lists [{"id","name","scopes","created"}], oldest first. */
int token_file_list(const char *state_dir, json_t **ret_tokens, fault_t *fault);
/* Revokes a token; -ENOENT if no token has that id. */
int token_file_revoke(const char *state_dir, const char *id, fault_t *fault);
/* Revokes the tokens and codes that windows have. */
int token_file_revoke_windows(const char *state_dir, int64_t now_us,
                              fault_t *fault);

/* The grants of one token, as the file has them. */
typedef struct {
    char id[TOKEN_ID_SIZE];
    uint8_t hash[TOKEN_HASH_SIZE];
    unsigned scopes;
} token_grant_t;

typedef struct {
    token_grant_t *list; /* owned by the caller */
    size_t count;
    int64_t windows_from_us; /* wall clock; older pages' tokens are revoked */
} token_grants_t;

/* Returns the file's path; to be freed. */
char *token_file_path(const char *state_dir);
/* Reads the file at that path. One that cannot be read grants nothing. */
token_grants_t token_file_grants(const char *path);

#endif
