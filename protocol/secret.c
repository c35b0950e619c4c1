/* A session's HMAC key. It lives in libsodium's guarded memory together with
 * the state of HMAC after the key was hashed in, from which each signature
 * starts. Does not change after it was made: threads may share it. */
#include "protocol/secret.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define RANDOM_SIZE 32 /* bytes of a key that we make */

struct secret {
    crypto_auth_hmacsha256_state keyed; /* the key is in, nothing signed yet */
    size_t size;                        /* bytes of the text */
    char text[];                        /* the key, NUL-terminated */
};

/* Without it sodium_malloc aborts. Threads may call it at the same time. */
static void init_sodium(void)
{
    if (sodium_init() < 0)
        abort();
}

static secret_t *make(const char *key, size_t size)
{
    init_sodium();
    /* sodium_malloc puts the end of the memory at the end of a page, so that
     * only a rounded size has an aligned beginning. */
    size_t whole = (sizeof(secret_t) + size + 1 + 15) & ~(size_t) 15;
    secret_t *self = sodium_malloc(whole);
    if (self == NULL)
        abort();
    self->size = size;
    if (size > 0)
        memcpy(self->text, key, size);
    self->text[size] = '\0';
    crypto_auth_hmacsha256_init(&self->keyed, (unsigned char *) self->text,
                                size);
    return self;
}

void secret_destroy(secret_t **self_p)
{
    sodium_free(*self_p); /* wipes; accepts NULL */
    *self_p = NULL;
}

secret_t *secret_new_random(void)
{
    init_sodium();
    unsigned char bytes[RANDOM_SIZE];
    char text[2 * RANDOM_SIZE + 1];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(text, sizeof text, bytes, sizeof bytes);
    secret_t *self = make(text, 2 * RANDOM_SIZE);
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(text, sizeof text);
    return self;
}

int secret_new(const char *key, size_t size, secret_t **ret_secret,
               fault_t *fault)
{
    if (size > SECRET_KEY_MAX)
        return fault_set(fault, EINVAL, "a key of %zu bytes, %d are the most",
                         size, SECRET_KEY_MAX);
    *ret_secret = make(key, size);
    return 0;
}

bool secret_is_empty(const secret_t *self)
{
    return self->size == 0;
}

const char *secret_text(const secret_t *self)
{
    return self->text;
}

void secret_sign(const secret_t *self, const struct iovec *parts, size_t count,
                 char ret_signature[SECRET_SIGNATURE_SIZE])
{
    crypto_auth_hmacsha256_state state = self->keyed;
    for (size_t i = 0; i < count; i++)
        crypto_auth_hmacsha256_update(&state, parts[i].iov_base,
                                      parts[i].iov_len);
    unsigned char digest[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_final(&state, digest);
    /* What is left of the state would do as the key. */
    sodium_memzero(&state, sizeof state);

    char text[SECRET_SIGNATURE_SIZE + 1];
    sodium_bin2hex(text, sizeof text, digest, sizeof digest);
    memcpy(ret_signature, text, SECRET_SIGNATURE_SIZE);
}

bool secret_verify(const secret_t *self, const struct iovec *parts,
                   size_t count, const void *signature, size_t size)
{
    if (secret_is_empty(self))
        return true;
    if (size != SECRET_SIGNATURE_SIZE)
        return false;
    char ours[SECRET_SIGNATURE_SIZE];
    secret_sign(self, parts, count, ours);
    return sodium_memcmp(ours, signature, sizeof ours) == 0;
}
