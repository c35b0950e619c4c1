/* See signing_key.h. */
#include "notebooks/receipt/signing_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <errno.h>
#include <stdlib.h>

struct signing_key {
    EVP_PKEY *key; /* owned */
    char id[DIGEST_SIZE + 1];
};

/* Takes the key over. */
static signing_key_t *wrap(EVP_PKEY *key)
{
    signing_key_t *self = mem_new(sizeof *self);
    uint8_t *der = NULL;
    int size = i2d_PUBKEY(key, &der);

    if (size <= 0)
        abort(); /* without memory */
    self->key = key;
    digest_bytes((bytes_t){der, (size_t) size}, self->id);
    OPENSSL_free(der);
    return self;
}

signing_key_t *signing_key_new(const uint8_t seed[SIGNING_KEY_SEED])
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed,
                                                 SIGNING_KEY_SEED);

    if (!key)
        abort();
    return wrap(key);
}

int signing_key_parse(bytes_t pem, signing_key_t **ret_key, fault_t *fault)
{
    BIO *text;
    EVP_PKEY *key;

    if (pem.size > SIGNING_KEY_PEM_MAX)
        return fault_set(fault, EINVAL, "a public key has at most %d bytes",
                         SIGNING_KEY_PEM_MAX);
    text = BIO_new_mem_buf(pem.bytes, (int) pem.size);
    key = text ? PEM_read_bio_PUBKEY(text, NULL, NULL, NULL) : NULL;
    BIO_free(text);
    if (!key || EVP_PKEY_id(key) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(key);
        return fault_set(
            fault, EINVAL,
            "it is not an Ed25519 key in PEM, such as `hearth notebook "
            "attest-key` prints");
    }
    *ret_key = wrap(key);
    return 0;
}

void signing_key_destroy(signing_key_t **self_p)
{
    if (!*self_p)
        return;
    EVP_PKEY_free((*self_p)->key);
    free(take_ptr(*self_p));
}

const char *signing_key_id(const signing_key_t *self)
{
    return self->id;
}

void signing_key_write(const signing_key_t *self, buffer_t *out)
{
    BIO *text = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    long size;

    if (!text || PEM_write_bio_PUBKEY(text, self->key) != 1)
        abort();
    size = BIO_get_mem_data(text, &bytes);
    buffer_append(out, bytes, (size_t) size);
    BIO_free(text);
}

void signing_key_sign(const signing_key_t *self, bytes_t message,
                      uint8_t ret_signature[SIGNING_KEY_SIZE])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t size = SIGNING_KEY_SIZE;

    if (!context
        || EVP_DigestSignInit(context, NULL, NULL, NULL, self->key) != 1
        || EVP_DigestSign(context, ret_signature, &size, message.bytes,
                          message.size)
               != 1)
        abort();
    EVP_MD_CTX_free(context);
}

bool signing_key_verify(const signing_key_t *self, bytes_t message,
                        bytes_t signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good;

    if (!context
        || EVP_DigestVerifyInit(context, NULL, NULL, NULL, self->key) != 1)
        abort();
    is_good = EVP_DigestVerify(context, signature.bytes, signature.size,
                               message.bytes, message.size)
              == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}
