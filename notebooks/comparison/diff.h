/* Two runs of the same task, cell by cell. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_DIFF_H
#define HEARTH_NOTEBOOKS_COMPARISON_DIFF_H

#include "notebooks/comparison/compare.h"
#include "notebooks/formats/notebook.h"

/* Returns what differs, as JSON (docs/reference/notebooks.md), owned by the
 * caller. "same" is true if sources and outputs are equal; times are in it and
 * do not count. */
json_t *notebook_diff(const compare_t *compare, const notebook_t *left,
                      const notebook_t *right);

#endif
