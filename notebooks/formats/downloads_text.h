/* Sentences about all that came from outside. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_DOWNLOADS_TEXT_H
#define HEARTH_NOTEBOOKS_FORMATS_DOWNLOADS_TEXT_H

#include <jansson.h>

/* Returns a sentence for each package, file and repository of a notebook's
 * metadata "hearth"; the caller owns the array. */
json_t *downloads_text(const json_t *own);

#endif
