/* One output of a cell as static HTML: pictures, cleaned HTML, JSON, errors,
 * text; the same choice as gateway/http/window/page/outputs.js. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_PAGE_OUTPUT_H
#define HEARTH_NOTEBOOKS_FORMATS_PAGE_OUTPUT_H

#include "base/buffer.h"

#include <jansson.h>

/* Appends an output of nbformat 4 as HTML. */
void page_output(const json_t *output, buffer_t *out);

#endif
