/* A session's HMAC key, in guarded memory (libsodium), never printed, wiped on
 * destroy. Only protocol/ and gateway/ may include this header. */
#ifndef HEARTH_PROTOCOL_SECRET_H
#define HEARTH_PROTOCOL_SECRET_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SECRET_SIGNATURE_SIZE 64 /* lower-case hex of HMAC-SHA256, no NUL */
#define SECRET_DIGEST_SIZE    32 /* bytes that the hex encodes */
#define SECRET_KEY_MAX        1024

typedef struct secret secret_t;

/* Makes a key of 32 random bytes in lower-case hex. */
secret_t *secret_new_random(void);
/* Makes a key from a connection file, used unchanged; "" switches
 * authentication off. -EINVAL past SECRET_KEY_MAX. */
int secret_new(const char *key, size_t size, secret_t **ret_secret,
               fault_t *fault);
void secret_destroy(secret_t **self_p);
#define cleanup_secret CLEANUP(secret_destroy)

bool secret_is_empty(const secret_t *self);
/* Returns the key's text for the connection file, lent. */
const char *secret_text(const secret_t *self);
void secret_sign(const secret_t *self, const struct iovec *parts, size_t count,
                 char ret_signature[SECRET_SIGNATURE_SIZE]);
/* Compares the length first, then in constant time. *ret_digest is the decoded
 * signature. An empty key accepts everything, and leaves it. */
bool secret_verify(const secret_t *self, const struct iovec *parts,
                   size_t count, const void *signature, size_t size,
                   uint8_t ret_digest[SECRET_DIGEST_SIZE]);

#endif
