/* Lines of standard output, each a message to the client. A client that
 * has gone is noticed elsewhere, so that no function reports it. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_OUTPUT_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_OUTPUT_H

#include <jansson.h>
#include <stddef.h>

/* Writes bytes that end with a newline, or with several. */
void mcp_output_lines(const void *bytes, size_t size);
/* Writes a message, and ends its line. */
void mcp_output_message(const void *bytes, size_t size);
/* Answers a request by an error. Does nothing if the message is not one. */
void mcp_output_error(const json_t *message, const char *text);

#endif
