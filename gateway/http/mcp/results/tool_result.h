/* Results of tools: text and images for a model. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_TOOL_RESULT_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_TOOL_RESULT_H

#include "gateway/http/mcp/calls/call.h"

/* Answers with one block of text. Bytes that are no UTF-8 are replaced. */
void tool_result_text(mcp_call_t *call, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tool_result_bytes(mcp_call_t *call, bool is_error, const void *text,
                       size_t size);
/* Returns true if the registry or the thread for files has done what was
 * asked; else the call is answered with its sentence. */
bool tool_result_is_ok(mcp_call_t *call, const json_t *reply);

/* Returns a block of content for the caller: text, or an image that is written
 * in base64. */
json_t *tool_result_block(const void *text, size_t size);
json_t *tool_result_image(const char *mime, const char *base64, size_t size);
/* Answers with these blocks, which are taken. */
void tool_result_blocks(mcp_call_t *call, bool is_error, json_t *blocks);
/* Answers with a text about a process. `structured` is taken: members that the
 * structured content has beside the text. */
void tool_result_process(mcp_call_t *call, bool is_error, const buffer_t *text,
                         json_t *structured);

#endif
