/* A traceback of IPython's, folded for a model. Every frame of the session's
 * own code is shown with its line. Of a run of library frames only the last one
 * is shown, with the number of the others. Chained exceptions keep the line
 * that joins them, and the error's text stays. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_H
#define HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_H

#include "base/buffer.h"
#include "notebooks/modelview/read_hint.h"

#include <jansson.h>

#define TRACEBACK_VALUE_MAX 2000 /* bytes of an error's text */

/* Appends the folded traceback of an nbformat 4 error or of a reply, each line
 * with a newline before it, in about `max` bytes. The error's own text is
 * never what is left out. `ref` names the whole, and `hint` how it is read. */
void traceback_fold(const json_t *error, const char *ref,
                    const read_hint_t *hint, size_t max, buffer_t *out);
/* Returns the position of the last error in a list of nbformat 4 outputs, 1 for
 * the first; 0 if there is none. */
size_t traceback_last(const json_t *outputs);

#endif
