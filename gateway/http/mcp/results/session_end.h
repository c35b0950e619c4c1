/* The end of a session, for a model. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_SESSION_END_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_SESSION_END_H

#include "base/buffer.h"

#include <jansson.h>

/* Appends when and why it ended, and what is lost: "ended 2026-…Z: idle for
 * 600 s; variables df model gone; files kept". `session` is the registry's
 * description. */
void session_end_write(const json_t *session, buffer_t *out);

#endif
