/* How the client that gets a view reads what the view has left out: by a tool,
 * a command, a path or a method. A view names the way of its own client. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_READ_HINT_H
#define HEARTH_NOTEBOOKS_MODELVIEW_READ_HINT_H

#include "base/buffer.h"

typedef enum {
    READ_HINT_TOOL,    /* MCP's: read_output ref=out:6.1 from_line=213 */
    READ_HINT_COMMAND, /* hearth output 7f3c0d1e out:6.1 --from-line=213 */
    READ_HINT_PATH,    /* GET /hearth/sessions/7f3c0d1e/outputs/out:6.1 */
    READ_HINT_METHOD,  /* Python's: session.read_output("out:6.1") */
} read_hint_way_t;

typedef struct {
    read_hint_way_t way;
    const char *session; /* borrowed; its id, which is shortened, or name */
    const char *base;    /* borrowed; of the gateway's paths; NULL: "" */
} read_hint_t;

/* Appends how the output `ref` is read, from that line on; 1 is the first. */
void read_hint_write(const read_hint_t *self, const char *ref,
                     unsigned long long from_line, buffer_t *out);
/* Appends the part that names the line: "from_line=213". */
void read_hint_from_line(read_hint_way_t way, unsigned long long from_line,
                         buffer_t *out);

#endif
