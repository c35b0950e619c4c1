/* A traceback of IPython's as a model needs it: every frame of the session's
 * own code with its line, a run of library frames as its last one with the
 * number of the others, chained exceptions with what joins them, and the
 * error's text. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_H
#define HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_H

#include "base/buffer.h"

#include <jansson.h>

#define TRACEBACK_VALUE_MAX 2000 /* bytes of an error's text */

/* Appends the folded traceback of an nbformat 4 error or of a reply, each line
 * with a newline before it, in about `max` bytes. The error's own text is
 * never what is left out. `ref` is how the whole is read. */
void traceback_fold(const json_t *error, const char *ref, size_t max,
                    buffer_t *out);

#endif
