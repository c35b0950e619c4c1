/* Reads the tools and results of a server of the Model Context Protocol, and
 * writes them as the gateway takes them. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_RESULT_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_RESULT_H

#include "base/buffer.h"
#include "protocol/jspan.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the result that an answer to tools/call has, as JSON: what is
 * structured in it, else its text, else its blocks. False: the call failed, and
 * a sentence says why. */
bool mcp_result_read(jspan_t answer, buffer_t *ret_text);

/* Returns true if code may call the tool. */
typedef bool mcp_result_wanted_fn(void *arg, const char *name);

typedef struct {
    size_t count;    /* tools that were written */
    size_t left_out; /* tools whose name no session can have */
} mcp_result_tools_t;

/* Appends an array of the tools of some pages: each is a line of JSON. */
mcp_result_tools_t mcp_result_tools(const buffer_t *pages,
                                    mcp_result_wanted_fn *is_wanted, void *arg,
                                    buffer_t *out);

#endif
