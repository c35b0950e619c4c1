/* Finished cells that wait for an earlier one: the first few MiB in memory,
 * more in a temporary file without a name. */
#ifndef HEARTH_NOTEBOOKS_SPOOL_H
#define HEARTH_NOTEBOOKS_SPOOL_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/notebook.h"

typedef struct spool spool_t;

/* Where a cell is; both fields are the spool's. */
typedef struct {
    uint64_t at;
    uint64_t size;
} spool_place_t;

spool_t *spool_new(void);
void spool_destroy(spool_t **self_p);
#define cleanup_spool CLEANUP(spool_destroy)

/* The cell is empty afterwards. */
int spool_put(spool_t *self, notebook_cell_t *cell, spool_place_t *ret_place,
              fault_t *fault);
int spool_take(spool_t *self, const spool_place_t *place,
               notebook_cell_t *ret_cell, fault_t *fault);

#endif
