/* Things from outside that the running cell had got when it was recorded, and
 * does not get now. They go with its reply, so that a replay knows of them even
 * if the code has caught the error. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_MISSING_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_MISSING_H

#include "base/buffer.h"

#define TOOL_MISSING_MAX (16u << 10) /* bytes; what is past it is left out */

/* Notes why a call failed that had not failed when it was recorded; `recorded`
 * and `result` are checked JSON. `missing` is a list, "" at first. */
void tool_missing_note(buffer_t *missing, bytes_t recorded, bytes_t result);
/* Appends the list, if it is not empty, to the members that the reply's
 * metadata get. */
void tool_missing_write(const buffer_t *missing, buffer_t *members);

#endif
