/* The texts about hearth's tools that clients get to read. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOLS_TEXT_H
#define HEARTH_GATEWAY_HTTP_MCP_TOOLS_TOOLS_TEXT_H

#include <stddef.h>

/* The definitions that clients get: names, descriptions, schemas. */
extern const char mcp_tools[];
extern const size_t mcp_tools_size;

/* The schemas of results for programs: "run" and "text". */
extern const char mcp_output_schemas[];
extern const size_t mcp_output_schemas_size;

#endif
