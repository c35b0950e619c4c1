/* See token_file.h. The file is replaced as a whole, under a lock. */
#include "gateway/http/core/token_file.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define FILE_MAX (1u << 20)
#define WINDOWS  "windows_from_us" /* member of the file */

static const char *const scope_names[SCOPE_COUNT] = {
#define X(name, text, help) [SCOPE_BIT_##name] = text,
    TOKEN_SCOPES(X)
#undef X
};

/* --- Scopes --- */

unsigned token_scopes_parse(const char *text)
{
    unsigned scopes = 0;

    while (text) {
        const char *comma = strchr(text, ',');
        size_t size = comma ? (size_t) (comma - text) : strlen(text);
        unsigned bit = 0;

        for (size_t i = 0; i < SCOPE_COUNT; i++)
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

json_t *token_scopes_names(unsigned scopes)
{
    json_t *names = json_array();

    for (size_t i = 0; i < SCOPE_COUNT; i++)
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
        token_scopes_parse(json_string_value(name));
    return scopes;
}

void token_hash(const char *token, size_t size, uint8_t ret[TOKEN_HASH_SIZE])
{
    crypto_generichash(ret, TOKEN_HASH_SIZE, (const uint8_t *) token, size,
                       NULL, 0);
}

void token_random(char ret[TOKEN_TEXT_SIZE])
{
    uint8_t random[TOKEN_RANDOM_SIZE];

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(ret, TOKEN_TEXT_SIZE, random, sizeof random);
    sodium_memzero(random, sizeof random);
}

/* --- The file --- */

/* Gives the whole file and, lent from it, the tokens. */
static int load(const char *path, json_t **ret_whole, json_t **ret_tokens,
                fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int r = file_read(path, FILE_MAX, &content, fault);

    if (r < 0 && r != -ENOENT)
        return r;
    json_auto_t *whole =
        r < 0 ? json_pack("{s:i,s:[]}", "version", 1, "tokens")
              : json_loadb((const char *) content.data, content.size, 0, NULL);
    json_t *tokens = json_object_get(whole, "tokens");
    if (!json_is_array(tokens))
        return fault_set(fault, EINVAL, "%s holds no tokens", path);
    *ret_whole = json_incref(whole);
    *ret_tokens = tokens;
    return 0;
}

static int store(const char *path, const json_t *whole, fault_t *fault)
{
    cleanup_free char *text = json_dumps(whole, JSON_INDENT(1));

    return file_write_atomic(path, 0600, text, strlen(text), fault);
}

/* Locks the file for a change. */
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

char *token_file_path(const char *state_dir)
{
    return mem_format("%s/%s", state_dir, TOKENS_FILE);
}

static bool is_id(const json_t *token, const char *id)
{
    const char *own = json_string_value(json_object_get(token, "id"));

    return own && strcmp(own, id) == 0;
}

int token_file_create(const char *state_dir, const char *name, unsigned scopes,
                      char **ret_token, char ret_id[TOKEN_ID_SIZE],
                      fault_t *fault)
{
    cleanup_free char *path = token_file_path(state_dir);
    cleanup_fd int lock = -1;
    json_auto_t *whole = NULL;
    json_t *tokens;
    uint8_t hash[TOKEN_HASH_SIZE];
    char text[TOKEN_TEXT_SIZE], hash_text[2 * TOKEN_HASH_SIZE + 1];
    char created[CLOCK_ISO_SIZE];
    int r;

    if ((r = lock_tokens(state_dir, &lock, fault)) < 0
        || (r = load(path, &whole, &tokens, fault)) < 0)
        return r;
    if (json_array_size(tokens) >= TOKENS_MAX)
        return fault_set(fault, EOVERFLOW, "there are %d tokens already",
                         TOKENS_MAX);
    token_random(text);
    token_hash(text, strlen(text), hash);
    sodium_bin2hex(hash_text, sizeof hash_text, hash, sizeof hash);
    /* The id must not reveal the token's first bytes. */
    sodium_bin2hex(ret_id, TOKEN_ID_SIZE, hash, 8);
    clock_iso(clock_wall_us(), created);
    json_array_append_new(
        tokens, json_pack("{s:s,s:s,s:o,s:s,s:s}", "id", ret_id, "name", name,
                          "scopes", token_scopes_names(scopes), "created",
                          created, "hash", hash_text));
    r = store(path, whole, fault);
    if (r == 0)
        *ret_token = mem_text(text);
    sodium_memzero(text, sizeof text);
    return r;
}

int token_file_list(const char *state_dir, json_t **ret_tokens, fault_t *fault)
{
    cleanup_free char *path = token_file_path(state_dir);
    json_auto_t *whole = NULL;
    json_t *tokens, *token;
    size_t i;
    int r = load(path, &whole, &tokens, fault);

    if (r < 0)
        return r;
    json_array_foreach(tokens, i, token) json_object_del(token, "hash");
    *ret_tokens = json_incref(tokens);
    return 0;
}

int token_file_revoke(const char *state_dir, const char *id, fault_t *fault)
{
    cleanup_free char *path = token_file_path(state_dir);
    cleanup_fd int lock = -1;
    json_auto_t *whole = NULL;
    json_t *tokens;
    int r;

    if ((r = lock_tokens(state_dir, &lock, fault)) < 0
        || (r = load(path, &whole, &tokens, fault)) < 0)
        return r;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        if (!is_id(json_array_get(tokens, i), id))
            continue;
        json_array_remove(tokens, i);
        return store(path, whole, fault);
    }
    return fault_set(
        fault, ENOENT,
        "there is no token %.40s; `hearth token list` shows the tokens", id);
}

int token_file_revoke_windows(const char *state_dir, int64_t now_us,
                              fault_t *fault)
{
    cleanup_free char *path = token_file_path(state_dir);
    cleanup_fd int lock = -1;
    json_auto_t *whole = NULL;
    json_t *tokens;
    int r;

    if ((r = lock_tokens(state_dir, &lock, fault)) < 0
        || (r = load(path, &whole, &tokens, fault)) < 0)
        return r;
    json_object_set_new(whole, WINDOWS, json_integer(now_us));
    return store(path, whole, fault);
}

static bool take_grant(const json_t *token, token_grant_t *ret_grant)
{
    const char *id = json_string_value(json_object_get(token, "id"));
    const char *hash = json_string_value(json_object_get(token, "hash"));
    size_t size = 0;

    if (!id || strlen(id) != TOKEN_ID_SIZE - 1 || !hash
        || sodium_hex2bin(ret_grant->hash, TOKEN_HASH_SIZE, hash, strlen(hash),
                          NULL, &size, NULL)
               != 0
        || size != TOKEN_HASH_SIZE)
        return false;
    memcpy(ret_grant->id, id, TOKEN_ID_SIZE);
    ret_grant->scopes = read_scopes(json_object_get(token, "scopes"));
    return true;
}

token_grants_t token_file_grants(const char *path)
{
    token_grants_t grants = {0};
    json_auto_t *whole = NULL;
    json_t *tokens = NULL;
    const json_t *token;
    size_t i;
    fault_t fault;

    (void) load(path, &whole, &tokens, &fault);
    grants.windows_from_us =
        json_integer_value(json_object_get(whole, WINDOWS));
    grants.list = mem_new((json_array_size(tokens) + 1) * sizeof *grants.list);
    json_array_foreach(tokens, i, token)
    {
        if (take_grant(token, &grants.list[grants.count]))
            grants.count++;
    }
    return grants;
}
