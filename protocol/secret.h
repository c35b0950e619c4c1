/* A session's HMAC key, in guarded memory (libsodium), never printed, wiped on
 * destroy. Only protocol/ and gateway/ may include this header. */
#ifndef HEARTH_PROTOCOL_SECRET_H
#define HEARTH_PROTOCOL_SECRET_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define SECRET_SIGNATURE_SIZE 64 /* lower-case hex of HMAC-SHA256, no NUL */
#define SECRET_KEY_MAX        1024

typedef struct secret secret_t;

/* 32 random bytes as lower-case hex. */
secret_t *secret_new_random(void);
/* The key as it stands in a connection file, used as is; "" switches
 * authentication off. -EINVAL past SECRET_KEY_MAX. */
int secret_new(const char *key, size_t size, secret_t **ret_secret,
               fault_t *fault);
void secret_destroy(secret_t **self_p);
#define cleanup_secret CLEANUP(secret_destroy)

bool secret_is_empty(const secret_t *self);
/* The key's text for the connection file; lent. */
const char *secret_text(const secret_t *self);
void secret_sign(const secret_t *self, const struct iovec *parts, size_t count,
                 char ret_signature[SECRET_SIGNATURE_SIZE]);
/* Length first, then constant time. An empty key accepts everything. */
bool secret_verify(const secret_t *self, const struct iovec *parts,
                   size_t count, const void *signature, size_t size);

#endif
