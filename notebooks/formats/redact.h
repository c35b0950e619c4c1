/* Replaces secrets by "[masked]": by pattern, or by the environment variable
 * that holds them. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_REDACT_H
#define HEARTH_NOTEBOOKS_FORMATS_REDACT_H

#include "base/buffer.h"
#include "base/fault.h"
#include "notebooks/formats/notebook.h"

typedef struct redact redact_t;

#define REDACT_TEXT "[masked]"

/* Reads patterns, separated by blanks. Each is an extended regular expression,
 * see regex(7), or $NAME for the value of that environment variable. Returns
 * -EINVAL, with the pattern in the fault, if one is invalid. Without patterns
 * *ret_mask is NULL, which masks nothing. */
int redact_new(const char *patterns, redact_t **ret_mask, fault_t *fault);
void redact_destroy(redact_t **self_p);
#define cleanup_redact CLEANUP(redact_destroy)

/* Redacts source, outputs and metadata of a cell; pictures are unchanged. */
void redact_cell(const redact_t *self, notebook_cell_t *cell);
/* Replaces a value, which may be NULL, by a masked one. */
void redact_json(const redact_t *self, json_t **member);
/* Returns a redacted copy of the text, owned by the caller. */
char *redact_text(const redact_t *self, const char *text, size_t size,
                  size_t *ret_size);

#endif
