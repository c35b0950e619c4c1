/* See dispatcher.h. */
#include "gateway/http/mcp/endpoint/dispatcher.h"

#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/protocol/arguments.h"
#include "gateway/http/mcp/results/structured.h"
#include "gateway/http/mcp/results/tool_result.h"

#include <sodium.h>

#include <string.h>

#define TOOLS_TTL_MS                                                           \
    3600000 /* only another version of the program changes the tools */

/* --- Descriptions --- */

/* Adds how long a client may keep a list or a description. */
static void add_lifetime(const mcp_call_t *call, json_t *result)
{
    call_add_lifetime(call, result, TOOLS_TTL_MS,
                      tokens_is_open(call->exchange->http->tokens));
}

static void discover(mcp_call_t *call)
{
    json_t *result =
        json_pack("{s:o,s:o,s:s}", "supportedVersions", revision_list(),
                  "capabilities", call->offer->capabilities(false),
                  "instructions", call->offer->instructions);

    add_lifetime(call, result);
    call_result(call, result);
}

/* Returns true if the member is missing, or a text. */
static bool may_be_text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return !value || json_is_string(value);
}

/* Returns what is wrong with the params of initialize; NULL: nothing. The
 * capabilities and the client's name may be missing: nothing depends on them.
 */
static const char *find_initialize_flaw(const json_t *params)
{
    const json_t *client = json_object_get(params, "clientInfo");
    const json_t *capabilities = json_object_get(params, "capabilities");

    if (!json_is_string(json_object_get(params, "protocolVersion")))
        return "params.protocolVersion must be a text: the newest revision "
               "that the client speaks, such as \"" REVISION_LEGACY "\"";
    if (capabilities && !json_is_object(capabilities))
        return "params.capabilities must be an object";
    if (client
        && (!json_is_object(client) || !may_be_text(client, "name")
            || !may_be_text(client, "version")))
        return "params.clientInfo must be an object with the texts name and "
               "version";
    return NULL;
}

static void initialize(mcp_call_t *call)
{
    const char *asked = rpc_message_text(&call->message, "protocolVersion");
    const char *flaw = find_initialize_flaw(call->message.params);
    uint8_t random[16];
    char id[2 * sizeof random + 1];

    if (flaw) {
        call_error(call, 400, RPC_INVALID_PARAMS, NULL, "%s", flaw);
        return;
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(id, sizeof id, random, sizeof random);
    exchange_header(call->exchange, "Mcp-Session-Id", "%s%s", id,
                    question_is_possible(
                        json_object_get(call->message.params, "capabilities"))
                        ? QUESTION_MARK
                        : "");
    call_result(call, json_pack("{s:s,s:o,s:{s:s,s:s},s:s}", "protocolVersion",
                                revision_negotiate(asked), "capabilities",
                                call->offer->capabilities(true), "serverInfo",
                                "name", "hearth", "version", HEARTH_VERSION,
                                "instructions", call->offer->instructions));
}

static void ping(mcp_call_t *call)
{
    call_result(call, json_object());
}

/* --- Tools --- */

static json_t *definitions(const mcp_call_t *call)
{
    return json_loadb(call->offer->definitions, *call->offer->definitions_size,
                      0, NULL);
}

static const mcp_tool_t *find_tool(const mcp_call_t *call, const char *name)
{
    for (const mcp_tool_t *at = call->offer->tools; at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

/* Removes the argument `session`: an endpoint of one session does not need it.
 */
static void bind_schema(const mcp_call_t *call, json_t *definition)
{
    json_t *schema = json_object_get(definition, "inputSchema");
    json_t *required = json_object_get(schema, "required");
    const json_t *name;
    size_t i;

    if (!call->bound)
        return;
    json_object_del(json_object_get(schema, "properties"), "session");
    json_array_foreach(required, i, name)
    {
        if (strcmp(json_string_value(name), "session") != 0)
            continue;
        json_array_remove(required, i);
        return;
    }
}

static void list_tools(mcp_call_t *call)
{
    json_auto_t *all = definitions(call);
    json_t *shown, *definition, *schema, *result;
    size_t i;

    if (!call_begins_list(call))
        return;
    shown = json_array();
    json_array_foreach(all, i, definition)
    {
        const mcp_tool_t *tool = find_tool(
            call, json_string_value(json_object_get(definition, "name")));
        if (!tool || !(call->exchange->scopes & tool->scope))
            continue;
        bind_schema(call, definition);
        schema = call->is_structured
                     ? structured_schema(call->offer, tool->name)
                     : NULL;
        if (schema)
            json_object_set_new(definition, "outputSchema", schema);
        json_array_append(shown, definition);
    }
    result = json_pack("{s:o}", "tools", shown);
    add_lifetime(call, result);
    call_result(call, result);
}

/* Checks the arguments. Returns false if they are wrong; the call was then
 * answered with a sentence for the model, which can correct them. */
static bool check_arguments(mcp_call_t *call, const char *name)
{
    json_auto_t *all = definitions(call);
    char text[ARGUMENTS_TEXT_SIZE];
    json_t *definition;
    size_t i;

    json_array_foreach(all, i, definition)
    {
        if (strcmp(json_string_value(json_object_get(definition, "name")), name)
            != 0)
            continue;
        bind_schema(call, definition);
        if (arguments_check(json_object_get(definition, "inputSchema"),
                            call->arguments, text))
            return true;
        tool_result_text(call, true, "%s", text);
        return false;
    }
    return true;
}

static void call_tool(mcp_call_t *call)
{
    const char *name = rpc_message_text(&call->message, "name");
    const mcp_tool_t *tool = name ? find_tool(call, name) : NULL;
    json_t *arguments = json_object_get(call->message.params, "arguments");

    if (!tool) {
        call_error(call, 400, RPC_INVALID_PARAMS, NULL,
                   name ? "there is no tool %.100s"
                        : "params.name must be a tool's name%s",
                   name ? name : "");
        return;
    }
    if (!arguments) {
        arguments = json_object();
        json_object_set_new(call->message.params, "arguments", arguments);
    }
    if (!json_is_object(arguments)) {
        call_error(call, 400, RPC_INVALID_PARAMS, NULL,
                   "params.arguments must be an object");
        return;
    }
    call->arguments = arguments;
    if (call_permits(call, tool->scope) && check_arguments(call, name))
        tool->run(call);
}

/* --- Methods --- */

static const mcp_method_t methods[] = {
    {"server/discover", true, false, SCOPE_ALL, discover},
    {"initialize", false, true, SCOPE_ALL, initialize},
    {"ping", false, true, SCOPE_ALL, ping},
    {"tools/list", true, true, SCOPE_ALL, list_tools},
    {"tools/call", true, true, SCOPE_ALL, call_tool},
    {0},
};

static const mcp_method_t *find_method(const mcp_method_t *table,
                                       const mcp_call_t *call)
{
    for (; table->name; table++)
        if (strcmp(table->name, call->message.method) == 0
            && (call->era == ERA_MODERN ? table->is_modern : table->is_legacy))
            return table;
    return NULL;
}

void dispatcher_run(mcp_call_t *call)
{
    const mcp_method_t *method = find_method(methods, call);

    if (!method)
        method = find_method(call->offer->methods, call);
    if (!method)
        call_error(call, 404, RPC_METHOD_NOT_FOUND, NULL,
                   "there is no method %.128s", call->message.method);
    else if (call_permits(call, method->scope))
        method->run(call);
}
