/* What a kernel tells about a cell in the metadata of its reply: its cost, and
 * what it did to variables and files. The journal keeps all of it; a client
 * gets the second part when it asks. */
#ifndef HEARTH_GATEWAY_FIGURES_H
#define HEARTH_GATEWAY_FIGURES_H

#include "base/buffer.h"
#include "protocol/message.h"

#include <stdbool.h>

/* Appends checked metadata without `hearth.namespace` and `hearth.files`.
 * False, and nothing appended, when they are not in it. */
bool figures_shorten(bytes_t metadata, buffer_t *out);

/* The gateway's own `members` ("\"cpu_ms\":3") behind those of `hearth`, which
 * is made where there is none. Written to `out`; false: no object. */
bool figures_add(bytes_t metadata, const char *members, buffer_t *out);

#endif
