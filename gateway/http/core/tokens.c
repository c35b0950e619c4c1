/* Tokens are random, so that a plain hash of one is as good as the token is
 * long: nothing has to be slow. All that is compared are hashes, in constant
 * time and all of them, whatever was found. A cookie names its token and is
 * authenticated with a key of this gateway's life: a revoked token's cookie
 * is worth nothing, and a restart asks people to log in again. */
#include "gateway/http/core/tokens.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define HASH_SIZE   32
#define RANDOM_SIZE 24 /* bytes of a token, as Jupyter's */
#define FILE_MAX    (1u << 20)
#define TOKENS_MAX  1000
#define OWN_ID      "gateway"
#define OPEN_ID     "open"

/* One scoped token. */
typedef struct {
    char id[AUTH_ID_SIZE];
    uint8_t hash[HASH_SIZE];
    unsigned scopes;
} grant_t;

struct auth {
    char *file;                        /* owned; path of the tokens */
    char *token;                       /* owned, sodium_malloc; its own */
    uint8_t hash[HASH_SIZE];           /* of it */
    bool is_open;                      /* nobody needs a token */
    uint8_t key[crypto_auth_KEYBYTES]; /* of the cookies */
    struct stat read;                  /* the file when it was read */
    grant_t *grants;                   /* owned */
    size_t grant_count;
    auth_watch_fn *watch; /* or NULL */
    void *watch_arg;      /* borrowed */
};

static const char *const scope_names[AUTH_SCOPE_COUNT] = {
#define X(name, text, help) [AUTH_BIT_##name] = text,
    AUTH_SCOPES(X)
#undef X
};

static void hash_token(const char *token, size_t size, uint8_t ret[HASH_SIZE])
{
    crypto_generichash(ret, HASH_SIZE, (const uint8_t *) token, size, NULL, 0);
}

/* --- Scopes --- */

unsigned auth_parse_scopes(const char *text)
{
    unsigned scopes = 0;

    while (text) {
        const char *comma = strchr(text, ',');
        size_t size = comma ? (size_t) (comma - text) : strlen(text);
        unsigned bit = 0;

        for (size_t i = 0; i < AUTH_SCOPE_COUNT; i++)
            if (strlen(scope_names[i]) == size
                && memcmp(scope_names[i], text, size) == 0)
                bit = 1u << i;
        if (!bit)
            return 0;
        scopes |= bit;
        text = comma ? comma + 1 : NULL;
    }
    return scopes;
}

json_t *auth_scope_names(unsigned scopes)
{
    json_t *names = json_array();

    for (size_t i = 0; i < AUTH_SCOPE_COUNT; i++)
        if (scopes & 1u << i)
            json_array_append_new(names, json_string(scope_names[i]));
    return names;
}

static unsigned read_scopes(const json_t *names)
{
    unsigned scopes = 0;
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name) if (json_is_string(name)) scopes |=
        auth_parse_scopes(json_string_value(name));
    return scopes;
}

/* --- The file --- */

static int load(const char *path, json_t **ret_tokens, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int r = file_read(path, FILE_MAX, &content, fault);

    if (r == -ENOENT) {
        *ret_tokens = json_array();
        return 0;
    }
    if (r < 0)
        return r;
    json_auto_t *whole =
        json_loadb((const char *) content.data, content.size, 0, NULL);
    json_t *tokens = json_object_get(whole, "tokens");
    if (!json_is_array(tokens))
        return fault_set(fault, EINVAL, "%s holds no tokens", path);
    *ret_tokens = json_incref(tokens);
    return 0;
}

static int store(const char *path, json_t *tokens, fault_t *fault)
{
    json_auto_t *whole = json_pack("{s:i,s:O}", "version", 1, "tokens", tokens);
    cleanup_free char *text = json_dumps(whole, JSON_INDENT(1));

    return file_write_atomic(path, 0600, text, strlen(text), fault);
}

/* Held by whoever changes the file. */
static int lock_tokens(const char *state_dir, int *ret_fd, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/tokens.lock", state_dir);
    int r = path_make_folders(state_dir, 0700, fault);

    if (r < 0)
        return r;
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    *ret_fd = take_fd(&fd);
    return 0;
}

static char *tokens_path(const char *state_dir)
{
    return mem_format("%s/%s", state_dir, AUTH_TOKENS_FILE);
}

static bool is_id(const json_t *token, const char *id)
{
    const char *own = json_string_value(json_object_get(token, "id"));

    return own && strcmp(own, id) == 0;
}

int auth_create(const char *state_dir, const char *name, unsigned scopes,
                char **ret_token, char ret_id[AUTH_ID_SIZE], fault_t *fault)
{
    cleanup_free char *path = tokens_path(state_dir);
    cleanup_fd int lock = -1;
    json_auto_t *tokens = NULL;
    uint8_t random[RANDOM_SIZE], hash[HASH_SIZE];
    char text[2 * RANDOM_SIZE + 1], hash_text[2 * HASH_SIZE + 1];
    char created[CLOCK_ISO_SIZE];
    int r;

    if ((r = lock_tokens(state_dir, &lock, fault)) < 0
        || (r = load(path, &tokens, fault)) < 0)
        return r;
    if (json_array_size(tokens) >= TOKENS_MAX)
        return fault_set(fault, EOVERFLOW, "there are %d tokens already",
                         TOKENS_MAX);
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(text, sizeof text, random, sizeof random);
    hash_token(text, strlen(text), hash);
    sodium_bin2hex(hash_text, sizeof hash_text, hash, sizeof hash);
    /* The id must not tell the token's beginning. */
    sodium_bin2hex(ret_id, AUTH_ID_SIZE, hash, 8);
    clock_iso(clock_wall_us(), created);
    json_array_append_new(tokens, json_pack("{s:s,s:s,s:o,s:s,s:s}", "id",
                                            ret_id, "name", name, "scopes",
                                            auth_scope_names(scopes), "created",
                                            created, "hash", hash_text));
    r = store(path, tokens, fault);
    if (r == 0)
        *ret_token = mem_text(text);
    sodium_memzero(text, sizeof text);
    sodium_memzero(random, sizeof random);
    return r;
}

int auth_list(const char *state_dir, json_t **ret_tokens, fault_t *fault)
{
    cleanup_free char *path = tokens_path(state_dir);
    json_auto_t *tokens = NULL;
    json_t *token;
    size_t i;
    int r = load(path, &tokens, fault);

    if (r < 0)
        return r;
    json_array_foreach(tokens, i, token) json_object_del(token, "hash");
    *ret_tokens = take_ptr(tokens);
    return 0;
}

int auth_revoke(const char *state_dir, const char *id, fault_t *fault)
{
    cleanup_free char *path = tokens_path(state_dir);
    cleanup_fd int lock = -1;
    json_auto_t *tokens = NULL;
    int r;

    if ((r = lock_tokens(state_dir, &lock, fault)) < 0
        || (r = load(path, &tokens, fault)) < 0)
        return r;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        if (!is_id(json_array_get(tokens, i), id))
            continue;
        json_array_remove(tokens, i);
        return store(path, tokens, fault);
    }
    return fault_set(fault, ENOENT,
                     "there is no token %.40s; `hearth token list` names them",
                     id);
}

/* --- In the gateway --- */

void auth_destroy(auth_t **self_p)
{
    auth_t *self = *self_p;

    if (!self)
        return;
    free(self->grants);
    if (self->token)
        sodium_free(self->token);
    free(self->file);
    sodium_memzero(self, sizeof *self);
    free(self);
    *self_p = NULL;
}

int auth_new(const char *state_dir, const char *token, bool is_open,
             auth_t **ret_auth, fault_t *fault)
{
    cleanup_auth auth_t *self = mem_new(sizeof *self);
    uint8_t random[RANDOM_SIZE];
    size_t size = token ? strlen(token) : 2 * sizeof random;

    self->file = tokens_path(state_dir);
    self->is_open = is_open;
    self->token = sodium_malloc(size + 1);
    if (!self->token)
        return fault_set(fault, ENOMEM, "no guarded memory for the token");
    if (token) {
        memcpy(self->token, token, size + 1);
    } else {
        randombytes_buf(random, sizeof random);
        sodium_bin2hex(self->token, size + 1, random, sizeof random);
        sodium_memzero(random, sizeof random);
    }
    hash_token(self->token, size, self->hash);
    randombytes_buf(self->key, sizeof self->key);
    *ret_auth = take_ptr(self);
    return 0;
}

void auth_watch(auth_t *self, auth_watch_fn *watch, void *arg)
{
    self->watch = watch;
    self->watch_arg = arg;
}

bool auth_is_open(const auth_t *self)
{
    return self->is_open;
}

const char *auth_token(const auth_t *self)
{
    return self->token;
}

static void take_grants(auth_t *self, const json_t *tokens)
{
    const json_t *token;
    size_t i;

    self->grant_count = 0;
    self->grants = mem_new((json_array_size(tokens) + 1) * sizeof(grant_t));
    json_array_foreach(tokens, i, token)
    {
        grant_t *grant = &self->grants[self->grant_count];
        const char *id = json_string_value(json_object_get(token, "id"));
        const char *hash = json_string_value(json_object_get(token, "hash"));
        size_t size = 0;

        if (!id || strlen(id) != AUTH_ID_SIZE - 1 || !hash
            || sodium_hex2bin(grant->hash, HASH_SIZE, hash, strlen(hash), NULL,
                              &size, NULL)
                   != 0
            || size != HASH_SIZE)
            continue;
        memcpy(grant->id, id, AUTH_ID_SIZE);
        grant->scopes = read_scopes(json_object_get(token, "scopes"));
        self->grant_count++;
    }
}

static bool has_grant(const grant_t *grants, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(grants[i].id, id) == 0)
            return true;
    return false;
}

/* What was not among the others. */
static void tell_news(const auth_t *self, const grant_t *grants, size_t count,
                      const grant_t *others, size_t other_count, bool is_made)
{
    for (size_t i = 0; self->watch && i < count; i++)
        if (!has_grant(others, other_count, grants[i].id))
            self->watch(self->watch_arg, grants[i].id,
                        is_made ? grants[i].scopes : 0, self->read.st_uid);
}

/* The file is replaced whole when it changes, so another inode or time says
 * that it did. What cannot be read grants nothing. */
void auth_refresh(auth_t *self)
{
    cleanup_free grant_t *old = NULL;
    size_t old_count = self->grant_count;
    json_auto_t *tokens = NULL;
    struct stat now = {0};
    fault_t fault;

    if (stat(self->file, &now) < 0)
        now = (struct stat){0};
    if (now.st_ino == self->read.st_ino
        && now.st_mtim.tv_sec == self->read.st_mtim.tv_sec
        && now.st_mtim.tv_nsec == self->read.st_mtim.tv_nsec)
        return;
    self->read = now;
    if (load(self->file, &tokens, &fault) < 0)
        tokens = json_array();
    old = take_ptr(self->grants);
    take_grants(self, tokens);
    tell_news(self, self->grants, self->grant_count, old, old_count, true);
    tell_news(self, old, old_count, self->grants, self->grant_count, false);
}

unsigned auth_check(auth_t *self, const char *token, size_t size,
                    char ret_id[AUTH_ID_SIZE])
{
    uint8_t hash[HASH_SIZE];
    unsigned scopes = 0;

    snprintf(ret_id, AUTH_ID_SIZE, "%s", self->is_open ? OPEN_ID : "");
    auth_refresh(self);
    hash_token(token, size, hash);
    if (sodium_memcmp(hash, self->hash, HASH_SIZE) == 0 && size) {
        snprintf(ret_id, AUTH_ID_SIZE, OWN_ID);
        scopes = AUTH_ALL;
    }
    for (size_t i = 0; i < self->grant_count; i++) {
        if (sodium_memcmp(hash, self->grants[i].hash, HASH_SIZE) != 0)
            continue;
        memcpy(ret_id, self->grants[i].id, AUTH_ID_SIZE);
        scopes = self->grants[i].scopes;
    }
    return self->is_open && !scopes ? AUTH_ALL : scopes;
}

bool auth_equals(const char *one, const char *other)
{
    size_t size = strlen(one);

    return size == strlen(other) && sodium_memcmp(one, other, size) == 0;
}

/* --- Cookies: "<id>.<expiry>.<mac>" --- */

static void sign_cookie(const auth_t *self, const char *text, size_t size,
                        char ret_mac[2 * crypto_auth_BYTES + 1])
{
    uint8_t mac[crypto_auth_BYTES];

    crypto_auth(mac, (const uint8_t *) text, size, self->key);
    sodium_bin2hex(ret_mac, 2 * crypto_auth_BYTES + 1, mac, sizeof mac);
}

char *auth_cookie(const auth_t *self, const char *id, int64_t expires_us)
{
    char mac[2 * crypto_auth_BYTES + 1];
    cleanup_free char *text = mem_format("%s.%lld", id, (long long) expires_us);

    sign_cookie(self, text, strlen(text), mac);
    return mem_format("%s.%s", text, mac);
}

static unsigned scopes_of(auth_t *self, const char *id)
{
    auth_refresh(self);
    if (strcmp(id, OWN_ID) == 0)
        return AUTH_ALL;
    for (size_t i = 0; i < self->grant_count; i++)
        if (strcmp(self->grants[i].id, id) == 0)
            return self->grants[i].scopes;
    return 0;
}

unsigned auth_check_cookie(auth_t *self, const char *value, size_t size,
                           int64_t now_us, char ret_id[AUTH_ID_SIZE])
{
    char mac[2 * crypto_auth_BYTES + 1], id[AUTH_ID_SIZE];
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
