/* See digest.h. */
#include "notebooks/receipt/digest.h"

#include "base/buffer.h"

#include <openssl/evp.h>
#include <sodium.h>

#include <stdlib.h>
#include <unistd.h>

#define PIECE (256u << 10)

/* Frees the context. */
static void finish(EVP_MD_CTX *context, char ret_hex[DIGEST_SIZE + 1])
{
    uint8_t sum[DIGEST_SIZE / 2];

    if (EVP_DigestFinal_ex(context, sum, NULL) != 1)
        abort();
    EVP_MD_CTX_free(context);
    sodium_bin2hex(ret_hex, DIGEST_SIZE + 1, sum, sizeof sum);
}

static EVP_MD_CTX *begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        abort();
    return context;
}

void digest_bytes(bytes_t bytes, char ret_hex[DIGEST_SIZE + 1])
{
    EVP_MD_CTX *context = begin();

    EVP_DigestUpdate(context, bytes.bytes, bytes.size);
    finish(context, ret_hex);
}

int digest_file(int fd, char ret_hex[DIGEST_SIZE + 1])
{
    cleanup_free uint8_t *bytes = mem_new(PIECE);
    EVP_MD_CTX *context = begin();
    ssize_t size;

    while ((size = read(fd, bytes, PIECE)) > 0)
        EVP_DigestUpdate(context, bytes, (size_t) size);
    finish(context, ret_hex);
    return size < 0 ? -1 : 0;
}
