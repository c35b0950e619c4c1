/* Results for programs that call tools: `structuredContent`, by the tools'
 * `outputSchema`. There is no base64 in it: an image is named by its URI. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_STRUCTURED_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_STRUCTURED_H

#include "gateway/http/executions/execution_view.h"
#include "gateway/http/mcp/calls/call.h"

#define STRUCTURED_TEXT_MAX (1u << 20) /* bytes of a text; more is cut out */

/* Returns the result of a run, for the caller. */
json_t *structured_run(const char *session, const execution_view_t *view);
/* Returns {"status","text"} of a tool's blocks, for the caller. */
json_t *structured_text(bool is_error, const json_t *blocks);
/* Returns the members of a process beside its text, for the caller: its number,
 * its streams, and the status with which it exited. */
json_t *structured_process(const json_t *process, buffer_t *out, buffer_t *err);
/* Returns a tool's outputSchema, for the caller; NULL if the offer
 * has none. */
json_t *structured_schema(const struct mcp_offer *offer, const char *tool);

#endif
