/* Writes trees of jansson's as Python's json does with indent=1, sorted keys
 * and without ASCII escapes, which is nbformat's own form. */
#ifndef HEARTH_NOTEBOOKS_JSON_WRITE_H
#define HEARTH_NOTEBOOKS_JSON_WRITE_H

#include "base/buffer.h"

#include <jansson.h>

/* Appends the value; `depth` blanks stand before its lines but the first. */
void json_write(buffer_t *out, const json_t *value, unsigned depth);

#endif
