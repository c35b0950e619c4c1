/* Keyed hashes in an exported notebook: which cell was changed, and whether
 * any was added, removed or moved, without the journal. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_MAC_H
#define HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_MAC_H

#include "notebooks/formats/notebook.h"
#include "notebooks/journal/record.h"

#include <sodium.h>

#define NOTEBOOK_MAC_SIZE     16
#define NOTEBOOK_MAC_HEX_SIZE (2 * NOTEBOOK_MAC_SIZE + 1)

typedef struct {
    uint8_t key[32];
    crypto_generichash_state cells; /* over their seals, in order */
} notebook_mac_t;

/* Begins with the key: the journal's, or NULL for the fixed public one. */
void notebook_mac_init(notebook_mac_t *self, const uint8_t *key);
/* Writes the MAC of a cell. It covers the source, the outputs, the count, the
 * times and the metadata "hearth" without its "mac". Other metadata and
 * attachments may be changed by anyone. */
void notebook_mac_cell(const notebook_mac_t *self, const notebook_cell_t *cell,
                       char ret_hex[NOTEBOOK_MAC_HEX_SIZE]);
/* Adds the MAC of a cell to that of the notebook; called for the cells in
 * order. */
void notebook_mac_add(notebook_mac_t *self, const char *hex);
/* Returns the MAC of all cells and of the journal's head. */
void notebook_mac_finish(notebook_mac_t *self, const char *session,
                         const journal_head_t *head,
                         char ret_hex[NOTEBOOK_MAC_HEX_SIZE]);

#endif
