/* What is not to be told: secrets, by pattern or by the environment variable
 * that holds them, become "[masked]". */
#ifndef HEARTH_NOTEBOOKS_MASK_H
#define HEARTH_NOTEBOOKS_MASK_H

#include "base/buffer.h"
#include "base/fault.h"
#include "notebooks/notebook.h"

typedef struct mask mask_t;

#define MASK_TEXT "[masked]"

/* `patterns`: separated by blanks; each an extended regular expression
 * (regex(7)), or $NAME: what that environment variable holds here. -EINVAL
 * names the pattern that is none. Empty: *ret_mask is NULL, which masks
 * nothing. */
int mask_new(const char *patterns, mask_t **ret_mask, fault_t *fault);
void mask_destroy(mask_t **self_p);
#define cleanup_mask CLEANUP(mask_destroy)

/* Source, outputs and metadata; pictures are left as they are. */
void mask_cell(const mask_t *self, notebook_cell_t *cell);
/* A value, replaced by a masked one; it may be NULL. */
void mask_json(const mask_t *self, json_t **member);
/* The same text, or a masked one; the caller's. */
char *mask_text(const mask_t *self, const char *text, size_t size,
                size_t *ret_size);

#endif
