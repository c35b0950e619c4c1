/* Answers the host tools of a session, or of all sessions of a profile. A
 * server of the Model Context Protocol answers them; requests come over the
 * management socket. */
#ifndef HEARTH_GATEWAY_CLI_MCP_TOOL_BRIDGE_H
#define HEARTH_GATEWAY_CLI_MCP_TOOL_BRIDGE_H

#include "gateway/cli/core/command.h"
#include "gateway/cli/mcp/tool_line.h"

typedef struct {
    tool_place_t place;
    const char *const *argv;      /* the server's command line */
    const arguments_t *arguments; /* every --tool is one that may be called;
                                     none: all */
    bool may_start;               /* a gateway, if none runs */
} tool_bridge_t;

/* Serves until a signal, the end of the session, or an error that stays. */
gateway_exit_t tool_bridge_run(const tool_bridge_t *bridge);

#endif
