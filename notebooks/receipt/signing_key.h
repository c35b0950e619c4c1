/* The Ed25519 key (RFC 8032) with which a gateway signs receipts, and its
 * public half, with which others check them. */
#ifndef HEARTH_NOTEBOOKS_RECEIPT_SIGNING_KEY_H
#define HEARTH_NOTEBOOKS_RECEIPT_SIGNING_KEY_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/receipt/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNING_KEY_SEED    32 /* bytes: what is kept of the private half */
#define SIGNING_KEY_SIZE    64 /* bytes of a signature */
#define SIGNING_KEY_PEM_MAX 4096

/* Both halves, or the public one alone. */
typedef struct signing_key signing_key_t;

/* Makes the key of a seed; it has both halves. */
signing_key_t *signing_key_new(const uint8_t seed[SIGNING_KEY_SEED]);
/* Reads a public half: a SubjectPublicKeyInfo in PEM (RFC 8410). -EINVAL: the
 * text is no such key. */
int signing_key_parse(bytes_t pem, signing_key_t **ret_key, fault_t *fault);
void signing_key_destroy(signing_key_t **self_p);
#define cleanup_signing_key CLEANUP(signing_key_destroy)

/* Returns the key's name, lent: the SHA-256 of its SubjectPublicKeyInfo in DER,
 * as hex digits. */
const char *signing_key_id(const signing_key_t *self);
/* Appends the public half as PEM. */
void signing_key_write(const signing_key_t *self, buffer_t *out);

/* Signs with the private half, which the key must have. */
void signing_key_sign(const signing_key_t *self, bytes_t message,
                      uint8_t ret_signature[SIGNING_KEY_SIZE]);
bool signing_key_verify(const signing_key_t *self, bytes_t message,
                        bytes_t signature);

#endif
