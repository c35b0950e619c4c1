/* See file_hash.h. */
#include "gateway/files/file_hash.h"

#include <openssl/evp.h>
#include <sodium.h>

#include <stdlib.h>

#define HOLES_MAX (64u << 20) /* zeros that are hashed; more: no hash */

void file_hash_begin(file_hash_t *self)
{
    *self = (file_hash_t){.context = EVP_MD_CTX_new()};
    if (!self->context
        || EVP_DigestInit_ex(self->context, EVP_sha256(), NULL) != 1)
        abort();
}

static void forget(file_hash_t *self)
{
    EVP_MD_CTX_free(self->context);
    self->context = NULL;
}

void file_hash_add(file_hash_t *self, uint64_t offset, const void *bytes,
                   uint64_t size)
{
    static const uint8_t zeros[64u << 10];

    if (!self->context || offset != self->hashed) {
        if (offset > self->hashed)
            forget(self);
        return;
    }
    self->hashed += size;
    if (bytes) {
        EVP_DigestUpdate(self->context, bytes, (size_t) size);
        return;
    }
    self->holes += size;
    if (self->holes > HOLES_MAX || self->holes < size) {
        forget(self);
        return;
    }
    for (uint64_t left = size; left;) {
        size_t part = left < sizeof zeros ? (size_t) left : sizeof zeros;

        EVP_DigestUpdate(self->context, zeros, part);
        left -= part;
    }
}

json_t *file_hash_json(file_hash_t *self, uint64_t size)
{
    uint8_t sum[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned length = 0;

    if (!self->context || self->hashed != size
        || EVP_DigestFinal_ex(self->context, sum, &length) != 1) {
        forget(self);
        return json_null();
    }
    forget(self);
    return json_string(sodium_bin2hex(text, sizeof text, sum, length));
}

void file_hash_clear(file_hash_t *self)
{
    forget(self);
}
