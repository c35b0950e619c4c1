/* See window_access.h. Both texts are "<kind>.<microseconds>.<scopes>.<nonce>."
 * and the MAC of all that; the time is when a code was made, and when a token
 * ends. A nonce is remembered as long as its code is good. */
#include "gateway/http/core/window_access.h"

#include "base/fd.h"

#include <sodium.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE       "code"
#define TOKEN      "window"
#define NONCE_SIZE 16                   /* bytes */
#define NONCE_TEXT (2 * NONCE_SIZE + 1) /* hex digits and a NUL */
#define MAC_TEXT   (2 * crypto_auth_BYTES + 1)
#define TRADED_MAX 256
#define SECOND     INT64_C(1000000)
#define NAME_HEX   8 /* digits of the nonce in the window's name */

/* A code that was traded. */
typedef struct {
    char nonce[NONCE_TEXT];
    int64_t made_us;
} traded_t;

struct window_access {
    uint8_t key[crypto_auth_KEYBYTES];
    int64_t begun_us;
    int64_t from_us;             /* texts that were made before were revoked */
    traded_t traded[TRADED_MAX]; /* those that are still good come first */
    size_t traded_count;
};

/* The content of a code or a token. */
typedef struct {
    int64_t time_us;
    unsigned scopes;
    char nonce[NONCE_TEXT];
} claims_t;

static void derive(const uint8_t log_key[LOG_KEY_SIZE],
                   uint8_t ret_key[crypto_auth_KEYBYTES])
{
    static const uint8_t purpose[] = "hearth window";

    crypto_generichash(ret_key, crypto_auth_KEYBYTES, purpose, sizeof purpose,
                       log_key, LOG_KEY_SIZE);
}

static void sign(const uint8_t key[crypto_auth_KEYBYTES], const char *text,
                 size_t size, char ret_mac[MAC_TEXT])
{
    uint8_t mac[crypto_auth_BYTES];

    crypto_auth(mac, (const uint8_t *) text, size, key);
    sodium_bin2hex(ret_mac, MAC_TEXT, mac, sizeof mac);
}

static char *seal(const uint8_t key[crypto_auth_KEYBYTES], const char *kind,
                  const claims_t *claims)
{
    char mac[MAC_TEXT];
    cleanup_free char *text =
        mem_format("%s.%" PRId64 ".%u.%s", kind, claims->time_us,
                   claims->scopes, claims->nonce);

    sign(key, text, strlen(text), mac);
    return mem_format("%s.%s", text, mac);
}

static void draw_nonce(char ret_nonce[NONCE_TEXT])
{
    uint8_t random[NONCE_SIZE];

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(ret_nonce, NONCE_TEXT, random, sizeof random);
}

/* Returns true if the text has the right MAC, and is of that kind. What has the
 * MAC was written by seal(). */
static bool unseal(const window_access_t *self, const char *kind,
                   const char *text, claims_t *ret)
{
    char mac[MAC_TEXT];
    const char *dot = strrchr(text, '.');
    size_t size = strlen(kind);

    if (!dot || strlen(dot + 1) != MAC_TEXT - 1
        || strncmp(text, kind, size) != 0 || text[size] != '.')
        return false;
    sign(self->key, text, (size_t) (dot - text), mac);
    return sodium_memcmp(mac, dot + 1, MAC_TEXT - 1) == 0
           && sscanf(text + size + 1, "%" SCNd64 ".%u.%32[0-9a-f]",
                     &ret->time_us, &ret->scopes, ret->nonce)
                  == 3;
}

window_access_t *window_access_new(const uint8_t log_key[LOG_KEY_SIZE],
                                   int64_t begun_us)
{
    window_access_t *self = mem_new(sizeof *self);

    derive(log_key, self->key);
    self->begun_us = begun_us;
    return self;
}

void window_access_revoke(window_access_t *self, int64_t before_us)
{
    self->from_us = before_us;
}

void window_access_destroy(window_access_t **self_p)
{
    window_access_t *self = *self_p;

    if (!self)
        return;
    sodium_memzero(self, sizeof *self);
    free(self);
    *self_p = NULL;
}

char *window_access_code(const uint8_t log_key[LOG_KEY_SIZE], unsigned scopes,
                         int64_t now_us)
{
    uint8_t key[crypto_auth_KEYBYTES];
    claims_t claims = {.time_us = now_us, .scopes = scopes};
    char *code;

    derive(log_key, key);
    draw_nonce(claims.nonce);
    code = seal(key, CODE, &claims);
    sodium_memzero(key, sizeof key);
    return code;
}

static bool is_over(int64_t made_us, int64_t now_us)
{
    return now_us - made_us > WINDOW_CODE_SECONDS * SECOND
           || made_us - now_us > WINDOW_CODE_SECONDS * SECOND;
}

static void forget_old(window_access_t *self, int64_t now_us)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->traded_count; i++)
        if (!is_over(self->traded[i].made_us, now_us))
            self->traded[kept++] = self->traded[i];
    self->traded_count = kept;
}

static bool was_traded(const window_access_t *self, const char *nonce)
{
    for (size_t i = 0; i < self->traded_count; i++)
        if (strcmp(self->traded[i].nonce, nonce) == 0)
            return true;
    return false;
}

int window_access_trade(window_access_t *self, const char *code, int64_t now_us,
                        char **ret_token, unsigned *ret_scopes,
                        int64_t *ret_expires_us)
{
    claims_t claims;

    if (!unseal(self, CODE, code, &claims))
        return -EACCES;
    if (is_over(claims.time_us, now_us) || claims.time_us < self->begun_us
        || claims.time_us < self->from_us)
        return -ETIME;
    forget_old(self, now_us);
    if (was_traded(self, claims.nonce))
        return -EALREADY;
    if (self->traded_count == TRADED_MAX)
        return -EBUSY;
    traded_t *traded = &self->traded[self->traded_count++];
    memcpy(traded->nonce, claims.nonce, sizeof traded->nonce);
    traded->made_us = claims.time_us;

    claims.time_us = now_us + WINDOW_TOKEN_SECONDS * SECOND;
    draw_nonce(claims.nonce);
    *ret_token = seal(self->key, TOKEN, &claims);
    *ret_scopes = claims.scopes;
    *ret_expires_us = claims.time_us;
    return 0;
}

unsigned window_access_check(const window_access_t *self, const char *token,
                             int64_t now_us, char ret_id[TOKEN_ID_SIZE])
{
    claims_t claims;

    if (!unseal(self, TOKEN, token, &claims) || claims.time_us < now_us
        || claims.time_us - WINDOW_TOKEN_SECONDS * SECOND < self->from_us)
        return 0;
    snprintf(ret_id, TOKEN_ID_SIZE, TOKEN "-%.*s", NAME_HEX, claims.nonce);
    return claims.scopes;
}
