/* Keyed hashes in an exported notebook: which cell was changed, and whether
 * any was added, removed or moved, without the journal. */
#ifndef HEARTH_NOTEBOOKS_SEAL_H
#define HEARTH_NOTEBOOKS_SEAL_H

#include "notebooks/journal/writer.h"
#include "notebooks/notebook.h"

#include <sodium.h>

#define SEAL_SIZE     16
#define SEAL_HEX_SIZE (2 * SEAL_SIZE + 1)

typedef struct {
    uint8_t key[32];
    crypto_generichash_state cells; /* over their seals, in order */
} seal_t;

/* `key`: the journal's, or NULL for the fixed public one. */
void seal_init(seal_t *self, const uint8_t *key);
/* One cell's: over its source, outputs, count, times and our own metadata
 * without the "mac". What others add elsewhere is theirs. */
void seal_cell(const seal_t *self, const notebook_cell_t *cell,
               char ret_hex[SEAL_HEX_SIZE]);
/* Cells' seals, in order, as they are written. */
void seal_add(seal_t *self, const char *hex);
/* Of all cells, and of where the journal stood. */
void seal_finish(seal_t *self, const char *session, const journal_head_t *head,
                 char ret_hex[SEAL_HEX_SIZE]);

#endif
