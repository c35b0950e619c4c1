/* The variables of a session as the differences after its cells add up
 * (docs/reference/notebooks.md): name -> description. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_VARIABLE_NAMES_H
#define HEARTH_NOTEBOOKS_RECORDING_VARIABLE_NAMES_H

#include <jansson.h>

/* Applies the difference of one cell to `names`. Members of a wrong type are
 * left out. */
void variable_names_apply(json_t *names, const json_t *difference);

/* Compares the variables in `expected` with those in `present`. Returns
 * {"back": [name ...], "different": [{"name", "was", "is"} ...], "missing":
 * [name ...]}, sorted by name, which the caller owns. The three have at most
 * `max` names each; "more" counts the others. */
json_t *variable_names_compare(json_t *expected, const json_t *present,
                               size_t max);

#endif
