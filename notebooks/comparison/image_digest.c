/* See image_digest.h. */
#include "notebooks/comparison/image_digest.h"

#include "base/buffer.h"

#include <sodium.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SIGNATURE_SIZE 8
#define CHUNK_EXTRA    12 /* length, type, check */

static const uint8_t png[SIGNATURE_SIZE] = {0x89, 'P',  'N',  'G',
                                            '\r', '\n', 0x1a, '\n'};

static uint32_t big_endian(const uint8_t *from)
{
    return (uint32_t) from[0] << 24 | (uint32_t) from[1] << 16
           | (uint32_t) from[2] << 8 | from[3];
}

/* Hashes the critical chunks, whose names begin with a capital (PNG, 5.4). */
static void hash_chunks(crypto_generichash_state *state, const buffer_t *bytes)
{
    size_t at = SIGNATURE_SIZE;

    while (at + CHUNK_EXTRA <= bytes->size) {
        uint32_t size = big_endian(bytes->data + at);
        const uint8_t *type = bytes->data + at + 4;
        if (size > bytes->size - at - CHUNK_EXTRA)
            break;
        if (!(type[0] & 0x20))
            crypto_generichash_update(state, type, 4 + (size_t) size);
        at += CHUNK_EXTRA + size;
    }
    crypto_generichash_update(state, bytes->data + at, bytes->size - at);
}

void image_digest_name(const json_t *value,
                       char ret_name[IMAGE_DIGEST_NAME_SIZE])
{
    size_t size = json_string_length(value);
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    crypto_generichash_state state;
    uint8_t hash[16];
    char hex[2 * sizeof hash + 1];
    size_t decoded = 0;

    buffer_reserve(&bytes, size / 4 * 3 + 4);
    sodium_base642bin(bytes.data, bytes.capacity, json_string_value(value),
                      size, " \r\n", &decoded, NULL,
                      sodium_base64_VARIANT_ORIGINAL);
    bytes.size = decoded;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    bool is_png =
        bytes.size >= 33 && memcmp(bytes.data, png, SIGNATURE_SIZE) == 0;
    if (is_png)
        hash_chunks(&state, &bytes);
    else
        crypto_generichash_update(&state, bytes.data, bytes.size);
    crypto_generichash_final(&state, hash, sizeof hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    if (is_png)
        snprintf(ret_name, IMAGE_DIGEST_NAME_SIZE, "%ux%u png, %s",
                 big_endian(bytes.data + 16), big_endian(bytes.data + 20), hex);
    else
        snprintf(ret_name, IMAGE_DIGEST_NAME_SIZE, "%zu bytes, %s", bytes.size,
                 hex);
}
