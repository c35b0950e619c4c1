/* A session's HMAC key. It is in libsodium's guarded memory, with the state of
 * HMAC after the key was hashed in, from which each signature starts. It does
 * not change after it was made: threads may share it. libsodium keeps the key,
 * but OpenSSL hashes: its SHA-256 uses the processor's own instructions,
 * libsodium's does not (27 MB: 26 and 230 ms). OpenSSL's older interface is
 * used, because its state is a plain struct, which can be guarded, copied and
 * wiped. The newer one keeps its state on the heap. HMAC around it follows RFC
 * 2104. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "protocol/secret.h"

#include <errno.h>
#include <openssl/sha.h>
#include <sodium.h>
#include <string.h>

#define RANDOM_SIZE 32 /* bytes of a key that we make */

struct secret {
    SHA256_CTX inner; /* the key is in, nothing signed yet */
    SHA256_CTX outer; /* the same, for the digest of the inner one */
    size_t size;      /* bytes of the text */
    char text[];      /* the key, NUL-terminated */
};

/* Prepares libsodium: without it sodium_malloc aborts. Threads may call it at
 * the same time. */
static void init_sodium(void)
{
    if (sodium_init() < 0)
        abort();
}

static void start(SHA256_CTX *ret_state, unsigned char byte,
                  const unsigned char key[SHA256_CBLOCK])
{
    unsigned char block[SHA256_CBLOCK];

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ byte;
    SHA256_Init(ret_state);
    SHA256_Update(ret_state, block, sizeof block);
    sodium_memzero(block, sizeof block);
}

static void hash_key_in(secret_t *self)
{
    unsigned char key[SHA256_CBLOCK] = {0};

    if (self->size > sizeof key)
        SHA256((unsigned char *) self->text, self->size, key);
    else
        memcpy(key, self->text, self->size);
    start(&self->inner, 0x36, key);
    start(&self->outer, 0x5c, key);
    sodium_memzero(key, sizeof key);
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
    hash_key_in(self);
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
        return fault_set(fault, EINVAL,
                         "a key of %zu bytes; at most %d are permitted", size,
                         SECRET_KEY_MAX);
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

/* Makes a signature, as bytes and as text. */
static void hash(const secret_t *self, const struct iovec *parts, size_t count,
                 uint8_t ret_digest[SECRET_DIGEST_SIZE],
                 char ret_text[SECRET_SIGNATURE_SIZE + 1])
{
    SHA256_CTX state = self->inner;
    for (size_t i = 0; i < count; i++)
        SHA256_Update(&state, parts[i].iov_base, parts[i].iov_len);
    SHA256_Final(ret_digest, &state);
    state = self->outer;
    SHA256_Update(&state, ret_digest, SECRET_DIGEST_SIZE);
    SHA256_Final(ret_digest, &state);
    /* The remaining state is as good as the key, so it is wiped. */
    sodium_memzero(&state, sizeof state);
    sodium_bin2hex(ret_text, SECRET_SIGNATURE_SIZE + 1, ret_digest,
                   SECRET_DIGEST_SIZE);
}

void secret_sign(const secret_t *self, const struct iovec *parts, size_t count,
                 char ret_signature[SECRET_SIGNATURE_SIZE])
{
    uint8_t digest[SECRET_DIGEST_SIZE];
    char text[SECRET_SIGNATURE_SIZE + 1];
    hash(self, parts, count, digest, text);
    memcpy(ret_signature, text, SECRET_SIGNATURE_SIZE);
}

bool secret_verify(const secret_t *self, const struct iovec *parts,
                   size_t count, const void *signature, size_t size,
                   uint8_t ret_digest[SECRET_DIGEST_SIZE])
{
    if (secret_is_empty(self))
        return true;
    if (size != SECRET_SIGNATURE_SIZE)
        return false;
    uint8_t digest[SECRET_DIGEST_SIZE];
    char ours[SECRET_SIGNATURE_SIZE + 1];
    hash(self, parts, count, digest, ours);
    if (sodium_memcmp(ours, signature, SECRET_SIGNATURE_SIZE) != 0)
        return false;
    memcpy(ret_digest, digest, sizeof digest);
    return true;
}
