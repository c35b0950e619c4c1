/* The text of a receipt: an in-toto Statement v1 with SLSA's provenance v1
 * (github.com/in-toto/attestation, slsa.dev/spec/v1.0/provenance). */
#ifndef HEARTH_NOTEBOOKS_RECEIPT_STATEMENT_H
#define HEARTH_NOTEBOOKS_RECEIPT_STATEMENT_H

#include "base/bytes.h"
#include "base/fault.h"
#include "notebooks/formats/notebook.h"

#include <jansson.h>
#include <stdbool.h>

#define STATEMENT_TYPE "application/vnd.in-toto+json"

/* The author of a statement. */
typedef struct {
    const char *key_id;  /* of the key that signs */
    const char *version; /* of hearth */
} statement_author_t;

/* Makes the statement of a session's exported notebook; the caller owns it.
 * `subjects` is an array of {"name", "digest": {"sha256"}}, the caller's. */
json_t *statement_new(const notebook_t *notebook, json_t *subjects,
                      const statement_author_t *author);
/* Reads a statement; the caller owns it. -EINVAL: it is not about a
 * session, or names something that is no file of one folder. */
int statement_parse(bytes_t text, json_t **ret_statement, fault_t *fault);
/* Returns the array of its subjects, lent. */
json_t *statement_subjects(const json_t *statement);
/* Returns the id of the session that it is about, lent. */
const char *statement_session(const json_t *statement);

/* Returns true if a name is one of a file, without a folder. */
bool statement_is_name(const char *name);

#endif
