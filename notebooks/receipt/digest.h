/* SHA-256 (FIPS 180-4) as hex digits, as statements name files and code. */
#ifndef HEARTH_NOTEBOOKS_RECEIPT_DIGEST_H
#define HEARTH_NOTEBOOKS_RECEIPT_DIGEST_H

#include "base/bytes.h"

#define DIGEST_SIZE 64 /* hex digits */

void digest_bytes(bytes_t bytes, char ret_hex[DIGEST_SIZE + 1]);
/* Hashes what is left of a file; returns -1 and errno if it cannot be read. */
int digest_file(int fd, char ret_hex[DIGEST_SIZE + 1]);

#endif
