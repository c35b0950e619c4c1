/* The first line of a view: what became of the cell and of the state. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_HEADER_H
#define HEARTH_NOTEBOOKS_MODELVIEW_HEADER_H

#include "notebooks/modelview/modelview.h"

/* Appends the line without a newline. */
void header_write(const modelview_cell_t *cell, buffer_t *out);

#endif
