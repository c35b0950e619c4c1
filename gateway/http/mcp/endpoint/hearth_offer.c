/* The server's MCP capabilities: five tools over the sessions of the gateway,
 * and the sessions and their outputs as resources. */
#include "gateway/http/mcp/calls/offer.h"
#include "gateway/http/mcp/notifications/listen.h"
#include "gateway/http/mcp/resources/resources.h"
#include "gateway/http/mcp/tasks/tasks.h"
#include "gateway/http/mcp/tools/tool_execute.h"
#include "gateway/http/mcp/tools/tool_files.h"
#include "gateway/http/mcp/tools/tool_read_output.h"
#include "gateway/http/mcp/tools/tool_session_run.h"
#include "gateway/http/mcp/tools/tools_text.h"

static const mcp_tool_t tools[] = {
    {"execute", SCOPE_EXECUTE, tool_execute_run},
    {"wait", SCOPE_OBSERVE | SCOPE_EXECUTE, tool_wait_run},
    {"read_output", SCOPE_OBSERVE, tool_read_output_run},
    {"files", SCOPE_FILES, tool_files_run},
    {"session", SCOPE_OBSERVE | SCOPE_EXECUTE, tool_session_run},
    {0},
};

static const mcp_method_t methods[] = {
    {"resources/list", true, true, SCOPE_OBSERVE, resources_list},
    {"resources/templates/list", true, true, SCOPE_OBSERVE,
     resources_list_templates},
    {"resources/read", true, true, SCOPE_OBSERVE | SCOPE_FILES, resources_read},
    {"resources/subscribe", false, true, SCOPE_OBSERVE, listen_subscribe},
    {"resources/unsubscribe", false, true, SCOPE_OBSERVE, listen_unsubscribe},
    {"subscriptions/listen", true, false, SCOPE_OBSERVE, listen_open},
    {"tasks/get", true, false, SCOPE_OBSERVE | SCOPE_EXECUTE, tasks_get},
    {"tasks/update", true, false, SCOPE_EXECUTE, tasks_update},
    {"tasks/cancel", true, false, SCOPE_EXECUTE, tasks_cancel},
    {0},
};

static json_t *capabilities(bool is_legacy)
{
    json_t *made =
        json_pack("{s:{s:b},s:{s:b,s:b}}", "tools", "listChanged", false,
                  "resources", "subscribe", true, "listChanged", true);

    if (!is_legacy)
        json_object_set_new(made, "extensions",
                            json_pack("{s:{}}", TASKS_EXTENSION));
    return made;
}

const mcp_offer_t mcp_offer = {
    .instructions =
        "Python sessions that keep their variables and files between calls, "
        "each in a sandbox without network. The first line of each result says "
        "what became of the session's state. `%pip install NAME` in a cell "
        "adds a package, where the operator permits it.",
    .capabilities = capabilities,
    .definitions = mcp_tools,
    .definitions_size = &mcp_tools_size,
    .output_schemas = mcp_output_schemas,
    .output_schemas_size = &mcp_output_schemas_size,
    .tools = tools,
    .methods = methods,
};
