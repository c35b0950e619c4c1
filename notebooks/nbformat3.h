/* Notebooks of IPython's time (nbformat 3, before 2014), as nbformat 4. */
#ifndef HEARTH_NOTEBOOKS_NBFORMAT3_H
#define HEARTH_NOTEBOOKS_NBFORMAT3_H

#include <jansson.h>

/* The cells of all worksheets in one array, as nbformat 4 has them; what is
 * not as it should be stays as it is, for the reader to refuse. The caller's;
 * NULL when there are no worksheets. */
json_t *nbformat3_cells(json_t *notebook);

#endif
