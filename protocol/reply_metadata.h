/* What a kernel tells about a cell in the metadata of its reply: its cost, and
 * what it did to variables and files, and which limits it came to. The journal
 * keeps all of it; a client gets what was done when it asks. */
#ifndef HEARTH_PROTOCOL_REPLY_METADATA_H
#define HEARTH_PROTOCOL_REPLY_METADATA_H

#include "base/buffer.h"
#include "protocol/message.h"

#include <stdbool.h>

/* Appends checked metadata without `hearth.namespace` and `hearth.files`.
 * False, and nothing appended, when they are not in it. */
bool figures_shorten(bytes_t metadata, buffer_t *out);

/* A limit that a cell came to, as its kernel says. */
typedef struct {
    const char *name; /* one of five, behind profile/<name>/limits/ */
    int64_t used, max;
} figures_limit_t;

#define FIGURES_LIMITS 5 /* at most */

/* `hearth.limits` of a reply's checked metadata: of those that the gateway
 * knows by name each once, and how many. It is the kernel's word. */
size_t figures_limits(bytes_t metadata,
                      figures_limit_t ret_limits[FIGURES_LIMITS]);

/* The gateway's own `members` ("\"cpu_ms\":3") behind those of `hearth`, which
 * is made where there is none. Written to `out`; false: no object. */
bool figures_add(bytes_t metadata, const char *members, buffer_t *out);

#endif
