/* The lines by which the configuration of an agent starts `hearth mcp`. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_AGENTS_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_AGENTS_H

#include <jansson.h>
#include <stdbool.h>

/* The command that the agent starts. */
typedef struct {
    const json_t *words; /* borrowed; the program and its arguments */
    const char *url; /* borrowed; for HEARTH_URL; NULL: the user's gateway */
    bool has_token;  /* HEARTH_TOKEN goes with it, by name alone */
} mcp_start_t;

/* Prints it, and on standard error where it belongs. Returns false if the agent
 * is not known. */
bool mcp_agents_print(const char *agent, const mcp_start_t *start);

#endif
