/* Reads one cell of a notebook from untrusted JSON. A member that nbformat's
 * schema requires is required here, and a fault names the cell. Unknown members
 * are kept in metadata and dropped elsewhere. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_CELL_READER_H
#define HEARTH_NOTEBOOKS_FORMATS_CELL_READER_H

#include "base/fault.h"
#include "notebooks/formats/notebook.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>

/* Where the reader is, for faults. */
typedef struct {
    const char *name; /* borrowed; of the file */
    size_t cell;      /* 1, 2, 3 ...; 0: none */
    bool is_newer;    /* of a minor version that may have other cells */
    fault_t *fault;   /* borrowed */
} cell_place_t;

/* Sets the place's fault; returns -EINVAL. */
int cell_reader_refuse(const cell_place_t *place, const char *what);
/* Reads a cell into one that is empty. `ids` has the cells' ids so far; a file
 * without ids gets some. */
int cell_reader_read(const cell_place_t *place, const json_t *from, json_t *ids,
                     notebook_cell_t *cell);
/* Reads a cell's outputs and its count; nothing of one that has no code. */
int cell_reader_read_outputs(const cell_place_t *place, const json_t *from,
                             notebook_cell_t *cell);

#endif
