/* See piece_digest.h. */
#include "protocol/piece_digest.h"

#include <sodium.h>

void piece_digest(bytes_t piece, char ret_text[PIECE_DIGEST_SIZE])
{
    uint8_t sum[PIECE_DIGEST_SIZE / 2];

    crypto_generichash(sum, sizeof sum, piece.bytes, piece.size, NULL, 0);
    sodium_bin2hex(ret_text, PIECE_DIGEST_SIZE, sum, sizeof sum);
}
