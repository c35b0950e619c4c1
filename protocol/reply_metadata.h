/* Reads and changes a reply's metadata, in which a kernel reports about a cell:
 * its cost, its changes of variables and files, and the limits that it reached.
 * The journal keeps all of it; a client gets the changes only if it asks for
 * them. */
#ifndef HEARTH_PROTOCOL_REPLY_METADATA_H
#define HEARTH_PROTOCOL_REPLY_METADATA_H

#include "base/buffer.h"
#include "protocol/jspan.h"
#include "protocol/message.h"
#include "protocol/session_limits.h"

#include <stdbool.h>

/* Appends checked metadata without `hearth.namespace` and `hearth.files`.
 * Returns false, and appends nothing, if the metadata do not have them. */
bool reply_metadata_shorten(bytes_t metadata, buffer_t *out);

/* A limit that a cell reached, as its kernel reports. */
typedef struct {
    const char *name; /* of a limit that kernels report */
    int64_t used, max;
} reply_metadata_limit_t;

/* Reads `hearth.limits` of a reply's metadata: each known limit once. Returns
 * their number. The kernel may be lying. */
size_t
reply_metadata_limits(jspan_t metadata,
                      reply_metadata_limit_t ret_limits[SESSION_LIMIT_COUNT]);

/* Appends the metadata, an object or absent, with the gateway's own `members`
 * ("\"cpu_ms\":3") in `hearth`, which is made where it is absent. A member of
 * the kernel's under the same key is left out. */
void reply_metadata_add(jspan_t metadata, bytes_t members, buffer_t *out);

#endif
