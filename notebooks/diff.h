/* Two runs of the same task, cell by cell. */
#ifndef HEARTH_NOTEBOOKS_DIFF_H
#define HEARTH_NOTEBOOKS_DIFF_H

#include "notebooks/compare.h"
#include "notebooks/notebook.h"

/* What differs, as JSON (docs/NOTEBOOKS.md); the caller's. "same" is whether
 * sources and outputs are; times are told and do not count. */
json_t *notebook_diff(const compare_t *compare, const notebook_t *left,
                      const notebook_t *right);

#endif
