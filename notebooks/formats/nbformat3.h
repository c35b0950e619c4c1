/* Notebooks of IPython's time (nbformat 3, before 2014), as nbformat 4. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_NBFORMAT3_H
#define HEARTH_NOTEBOOKS_FORMATS_NBFORMAT3_H

#include <jansson.h>

/* Returns the cells of all worksheets in one array, as nbformat 4 has them,
 * owned by the caller. A malformed cell stays as it is, for the reader to
 * refuse. NULL if there are no worksheets. */
json_t *nbformat3_cells(json_t *notebook);

#endif
