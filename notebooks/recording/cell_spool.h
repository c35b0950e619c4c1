/* Finished cells that wait for an earlier one: the first few MiB in memory,
 * more in a temporary file without a name. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_CELL_SPOOL_H
#define HEARTH_NOTEBOOKS_RECORDING_CELL_SPOOL_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/formats/notebook.h"

typedef struct cell_spool cell_spool_t;

/* Where a cell is; both fields are the spool's. */
typedef struct {
    uint64_t at;
    uint64_t size;
} cell_spool_place_t;

cell_spool_t *cell_spool_new(void);
void cell_spool_destroy(cell_spool_t **self_p);
#define cleanup_cell_spool CLEANUP(cell_spool_destroy)

/* Put a cell into the spool, and take it out again. A cell that is put is empty
 * afterwards, also after a failure; one that is taken is the caller's. */
int cell_spool_put(cell_spool_t *self, notebook_cell_t *cell,
                   cell_spool_place_t *ret_place, fault_t *fault);
int cell_spool_take(cell_spool_t *self, const cell_spool_place_t *place,
                    notebook_cell_t *ret_cell, fault_t *fault);

#endif
