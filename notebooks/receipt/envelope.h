/* A signed text: DSSE, the Dead Simple Signing Envelope 1.0.2
 * (github.com/secure-systems-lab/dsse). */
#ifndef HEARTH_NOTEBOOKS_RECEIPT_ENVELOPE_H
#define HEARTH_NOTEBOOKS_RECEIPT_ENVELOPE_H

#include "notebooks/receipt/signing_key.h"

#include <jansson.h>

#define ENVELOPE_MAX        (64u << 20) /* bytes of an envelope */
#define ENVELOPE_SIGNATURES 16          /* that are looked at */

/* Signs a body of that type (a media type); the caller owns the envelope. */
json_t *envelope_seal(const signing_key_t *key, const char *type, bytes_t body);
/* Checks that the envelope is of that type and signed by that key, and appends
 * its body. -EINVAL: it is no such envelope; -EBADMSG: that key has not signed
 * it, or not with this body. */
int envelope_open(const signing_key_t *key, const char *type, bytes_t text,
                  buffer_t *ret_body, fault_t *fault);

#endif
