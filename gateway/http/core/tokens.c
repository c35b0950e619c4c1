/* Tokens are long and random, so a plain hash protects them and no slow one is
 * needed. Only hashes are compared, in constant time, and always all of them. A
 * cookie names its token and is authenticated with a key that lives as long as
 * the gateway. A revoked token's cookie is therefore void, and after a restart
 * people have to log in again. */
#include "gateway/http/core/tokens.h"

#include "base/buffer.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define OWN_ID  "gateway"
#define OPEN_ID "open"

struct tokens {
    char *file;  /* owned; path of the tokens */
    char *token; /* owned, in sodium_malloc memory; the gateway's own token */
    uint8_t hash[TOKEN_HASH_SIZE];     /* of this token */
    bool is_open;                      /* no token is required */
    uint8_t key[crypto_auth_KEYBYTES]; /* for the MAC of cookies */
    struct stat read;                  /* the file's status when it was read */
    token_grants_t grants;             /* owned */
    tokens_watch_fn *subscription;     /* or NULL */
    void *watch_arg;                   /* borrowed */
};

void tokens_destroy(tokens_t **self_p)
{
    tokens_t *self = *self_p;

    if (!self)
        return;
    free(self->grants.list);
    if (self->token)
        sodium_free(self->token);
    free(self->file);
    sodium_memzero(self, sizeof *self);
    free(self);
    *self_p = NULL;
}

int tokens_new(const char *state_dir, const char *token, bool is_open,
               tokens_t **ret_auth, fault_t *fault)
{
    cleanup_tokens tokens_t *self = mem_new(sizeof *self);
    size_t size = token ? strlen(token) : TOKEN_TEXT_SIZE - 1;

    self->file = token_file_path(state_dir);
    self->is_open = is_open;
    self->token = sodium_malloc(size + 1);
    if (!self->token)
        return fault_set(fault, ENOMEM, "no guarded memory for the token");
    if (token)
        memcpy(self->token, token, size + 1);
    else
        token_random(self->token);
    token_hash(self->token, size, self->hash);
    randombytes_buf(self->key, sizeof self->key);
    *ret_auth = take_ptr(self);
    return 0;
}

void tokens_watch(tokens_t *self, tokens_watch_fn *subscription, void *arg)
{
    self->subscription = subscription;
    self->watch_arg = arg;
}

bool tokens_is_open(const tokens_t *self)
{
    return self->is_open;
}

const char *tokens_token(const tokens_t *self)
{
    return self->token;
}

static bool has_grant(const token_grants_t *grants, const char *id)
{
    for (size_t i = 0; i < grants->count; i++)
        if (strcmp(grants->list[i].id, id) == 0)
            return true;
    return false;
}

/* Reports grants that the other list does not have. */
static void report_changes(const tokens_t *self, const token_grants_t *grants,
                           const token_grants_t *others, bool is_made)
{
    for (size_t i = 0; self->subscription && i < grants->count; i++)
        if (!has_grant(others, grants->list[i].id))
            self->subscription(self->watch_arg, grants->list[i].id,
                               is_made ? grants->list[i].scopes : 0,
                               self->read.st_uid);
}

/* Reads the file again after a change. It is replaced as a whole, so a change
 * has another inode or time. */
void tokens_refresh(tokens_t *self)
{
    token_grants_t old = self->grants;
    struct stat now = {0};

    if (stat(self->file, &now) < 0)
        now = (struct stat){0};
    if (now.st_ino == self->read.st_ino
        && now.st_mtim.tv_sec == self->read.st_mtim.tv_sec
        && now.st_mtim.tv_nsec == self->read.st_mtim.tv_nsec)
        return;
    self->read = now;
    self->grants = token_file_grants(self->file);
    report_changes(self, &self->grants, &old, true);
    report_changes(self, &old, &self->grants, false);
    free(old.list);
}

int64_t tokens_windows_from(tokens_t *self)
{
    tokens_refresh(self);
    return self->grants.windows_from_us;
}

unsigned tokens_check(tokens_t *self, const char *token, size_t size,
                      char ret_id[TOKEN_ID_SIZE])
{
    uint8_t hash[TOKEN_HASH_SIZE];
    unsigned scopes = 0;

    snprintf(ret_id, TOKEN_ID_SIZE, "%s", self->is_open ? OPEN_ID : "");
    tokens_refresh(self);
    token_hash(token, size, hash);
    if (sodium_memcmp(hash, self->hash, TOKEN_HASH_SIZE) == 0 && size) {
        snprintf(ret_id, TOKEN_ID_SIZE, OWN_ID);
        scopes = SCOPE_ALL;
    }
    for (size_t i = 0; i < self->grants.count; i++) {
        if (sodium_memcmp(hash, self->grants.list[i].hash, TOKEN_HASH_SIZE)
            != 0)
            continue;
        memcpy(ret_id, self->grants.list[i].id, TOKEN_ID_SIZE);
        scopes = self->grants.list[i].scopes;
    }
    return self->is_open && !scopes ? SCOPE_ALL : scopes;
}

bool tokens_equals(const char *one, const char *other)
{
    size_t size = strlen(one);

    return size == strlen(other) && sodium_memcmp(one, other, size) == 0;
}

/* --- Cookies: "<id>.<expiry>.<mac>" --- */

static void sign_cookie(const tokens_t *self, const char *text, size_t size,
                        char ret_mac[2 * crypto_auth_BYTES + 1])
{
    uint8_t mac[crypto_auth_BYTES];

    crypto_auth(mac, (const uint8_t *) text, size, self->key);
    sodium_bin2hex(ret_mac, 2 * crypto_auth_BYTES + 1, mac, sizeof mac);
}

char *tokens_cookie(const tokens_t *self, const char *id, int64_t expires_us)
{
    char mac[2 * crypto_auth_BYTES + 1];
    cleanup_free char *text = mem_format("%s.%lld", id, (long long) expires_us);

    sign_cookie(self, text, strlen(text), mac);
    return mem_format("%s.%s", text, mac);
}

static unsigned scopes_of(tokens_t *self, const char *id)
{
    tokens_refresh(self);
    if (strcmp(id, OWN_ID) == 0)
        return SCOPE_ALL;
    for (size_t i = 0; i < self->grants.count; i++)
        if (strcmp(self->grants.list[i].id, id) == 0)
            return self->grants.list[i].scopes;
    return 0;
}

bool tokens_has(tokens_t *self, const char *id)
{
    return scopes_of(self, id) != 0;
}

unsigned tokens_check_cookie(tokens_t *self, const char *value, size_t size,
                             int64_t now_us, char ret_id[TOKEN_ID_SIZE])
{
    char mac[2 * crypto_auth_BYTES + 1], id[TOKEN_ID_SIZE];
    const size_t mac_size = sizeof mac - 1;
    cleanup_free char *text = mem_copy(value, size);
    char *dot = strchr(text, '.');

    if (size < mac_size + 3 || text[size - mac_size - 1] != '.' || !dot
        || (size_t) (dot - text) >= sizeof id)
        return 0;
    text[size - mac_size - 1] = '\0';
    sign_cookie(self, text, size - mac_size - 1, mac);
    if (sodium_memcmp(mac, text + size - mac_size, mac_size) != 0
        || strtoll(dot + 1, NULL, 10) < now_us)
        return 0;
    snprintf(id, sizeof id, "%.*s", (int) (dot - text), text);
    unsigned scopes = scopes_of(self, id);
    if (scopes)
        memcpy(ret_id, id, sizeof id);
    return scopes;
}
