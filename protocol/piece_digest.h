/* The digest of a piece of a file on its way between a client and the gateway
 * (docs/design/PROTOCOL.management.md): BLAKE2b, in hexadecimal. */
#ifndef HEARTH_PROTOCOL_PIECE_DIGEST_H
#define HEARTH_PROTOCOL_PIECE_DIGEST_H

#include "base/bytes.h"

#define PIECE_DIGEST_SIZE 65 /* 32 bytes in hexadecimal, and a NUL */

void piece_digest(bytes_t piece, char ret_text[PIECE_DIGEST_SIZE]);

#endif
