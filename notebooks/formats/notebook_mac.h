/* Keyed hashes in an exported notebook: which cell was changed, and whether
 * any was added, removed or moved, without the journal. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_MAC_H
#define HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_MAC_H

#include "notebooks/formats/notebook.h"
#include "notebooks/journal/writer.h"

#include <sodium.h>

#define NOTEBOOK_MAC_SIZE     16
#define NOTEBOOK_MAC_HEX_SIZE (2 * NOTEBOOK_MAC_SIZE + 1)

typedef struct {
    uint8_t key[32];
    crypto_generichash_state cells; /* over their seals, in order */
} notebook_mac_t;

/* `key`: the journal's, or NULL for the fixed public one. */
void notebook_mac_init(notebook_mac_t *self, const uint8_t *key);
/* One cell's: over its source, outputs, count, times and our own metadata
 * without the "mac". What others add elsewhere is theirs. */
void notebook_mac_cell(const notebook_mac_t *self, const notebook_cell_t *cell,
                       char ret_hex[NOTEBOOK_MAC_HEX_SIZE]);
/* Cells' seals, in order, as they are written. */
void notebook_mac_add(notebook_mac_t *self, const char *hex);
/* Returns the MAC of all cells and of the journal's head. */
void notebook_mac_finish(notebook_mac_t *self, const char *session,
                         const journal_head_t *head,
                         char ret_hex[NOTEBOOK_MAC_HEX_SIZE]);

#endif
