/* The gateway with another offer: the tools, prompts and resources that the
 * conformance suite of the Model Context Protocol asks a server for. The
 * dispatcher, the revisions and the transport are the product's. */
#include "tests/system/peers/everything.h"

#include "gateway/http/mcp/results/tool_result.h"

#include <stdlib.h>

#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

json_t *everything_parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    if (!value)
        abort();
    return value;
}

static void answer(mcp_call_t *call, const char *text)
{
    call_result(call, everything_parse(text));
}

/* A result that clients of 2026-07-28 may keep. */
void everything_answer_cached(mcp_call_t *call, json_t *result)
{
    if (call->era == ERA_MODERN) {
        json_object_set_new(result, "ttlMs", json_integer(0));
        json_object_set_new(result, "cacheScope", json_string("private"));
    }
    call_result(call, result);
}

/* --- Simple tools --- */

static void simple_text(mcp_call_t *call)
{
    tool_result_text(call, false,
                     "This is a simple text response for testing.");
}

static void image(mcp_call_t *call)
{
    answer(call, "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\","
                 "\"data\":\"" EVERYTHING_PNG "\"}]}");
}

static void audio(mcp_call_t *call)
{
    answer(call, "{\"content\":[{\"type\":\"audio\",\"mimeType\":\"audio/wav\","
                 "\"data\":\"" WAV "\"}]}");
}

static void embedded(mcp_call_t *call)
{
    answer(call,
           "{\"content\":[{\"type\":\"resource\",\"resource\":{"
           "\"uri\":\"test://embedded-resource\",\"mimeType\":\"text/plain\","
           "\"text\":\"This is an embedded resource content.\"}}]}");
}

static void mixed(mcp_call_t *call)
{
    answer(call,
           "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types "
           "test:\"},{\"type\":\"image\",\"mimeType\":\"image/png\","
           "\"data\":\"" EVERYTHING_PNG
           "\"},{\"type\":\"resource\",\"resource\":{"
           "\"uri\":\"test://mixed-content-resource\","
           "\"mimeType\":\"application/json\","
           "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}");
}

static void failing(mcp_call_t *call)
{
    tool_result_text(call, true,
                     "This tool intentionally returns an error for testing");
}

static void with_progress(mcp_call_t *call)
{
    for (int i = 0; i <= 100; i += 50)
        call_progress(call, i, 100, NULL);
    tool_result_text(call, false, "Progress was sent.");
}

static void with_logging(mcp_call_t *call)
{
    static const char *const lines[] = {"Tool execution started",
                                        "Tool processing data",
                                        "Tool execution completed"};
    bool is_wanted =
        call->era == ERA_LEGACY
        || rpc_message_meta(&call->message, "io.modelcontextprotocol/logLevel");

    for (size_t i = 0; is_wanted && i < 3; i++)
        call_notify(call, "notifications/message",
                    json_pack("{s:s,s:s}", "level", "info", "data", lines[i]));
    tool_result_text(call, false, "Messages were sent.");
}

static void needs_sampling(mcp_call_t *call)
{
    if (call_capability(call, "sampling"))
        tool_result_text(call, false, "The client samples.");
    else
        call_error(
            call, 400, RPC_MISSING_CAPABILITY,
            everything_parse("{\"requiredCapabilities\":{\"sampling\":{}}}"),
            "the client must declare sampling");
}

static void do_nothing(mcp_call_t *call)
{
    call_result(call, json_object());
}

/* --- The offer --- */

#define NOTHING "{\"type\":\"object\",\"properties\":{}}"
#define ONE_TEXT(name)                                                         \
    "{\"type\":\"object\",\"properties\":{\"" name                             \
    "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define SCHEMA_2020                                                            \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","           \
    "\"type\":\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\","  \
    "\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},"    \
    "\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"    \
    "\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"                  \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"  \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"        \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":"         \
    "[\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":"    \
    "\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{\"required\":"    \
    "[\"phone\"]},\"else\":{\"required\":[\"email\"]},"                        \
    "\"additionalProperties\":false}"

/*   name, run, schema */
#define TOOLS(X)                                                               \
    X("test_simple_text", simple_text, NOTHING)                                \
    X("test_image_content", image, NOTHING)                                    \
    X("test_audio_content", audio, NOTHING)                                    \
    X("test_embedded_resource", embedded, NOTHING)                             \
    X("test_multiple_content_types", mixed, NOTHING)                           \
    X("test_error_handling", failing, NOTHING)                                 \
    X("test_tool_with_progress", with_progress, NOTHING)                       \
    X("test_tool_with_logging", with_logging, NOTHING)                         \
    X("test_logging_tool", with_logging, NOTHING)                              \
    X("test_missing_capability", needs_sampling, NOTHING)                      \
    X("test_streaming_elicitation", everything_input_elicitation, NOTHING)     \
    X("test_sampling", everything_sampling, ONE_TEXT("prompt"))                \
    X("test_elicitation", everything_elicitation, ONE_TEXT("message"))         \
    X("test_elicitation_sep1034_defaults", everything_elicitation_defaults,    \
      NOTHING)                                                                 \
    X("test_elicitation_sep1330_enums", everything_elicitation_enums, NOTHING) \
    X("test_input_required_result_elicitation", everything_input_elicitation,  \
      NOTHING)                                                                 \
    X("test_input_required_result_sampling", everything_input_sampling,        \
      NOTHING)                                                                 \
    X("test_input_required_result_list_roots", everything_input_roots,         \
      NOTHING)                                                                 \
    X("test_input_required_result_request_state", everything_input_state,      \
      NOTHING)                                                                 \
    X("test_input_required_result_tampered_state", everything_input_state,     \
      NOTHING)                                                                 \
    X("test_input_required_result_multiple_inputs", everything_input_many,     \
      NOTHING)                                                                 \
    X("test_input_required_result_multi_round", everything_input_rounds,       \
      NOTHING)                                                                 \
    X("test_input_required_result_capabilities",                               \
      everything_input_capabilities, NOTHING)                                  \
    X("json_schema_2020_12_tool", simple_text, SCHEMA_2020)

static const mcp_tool_t tools[] = {
#define X(name, run, schema) {name, SCOPE_ALL, run},
    TOOLS(X)
#undef X
        {0},
};

static const char definitions[] = "["
#define X(name, run, schema)                                                   \
    "{\"name\":\"" name "\",\"description\":\"A tool of the tests\","          \
    "\"inputSchema\":" schema "},"
    TOOLS(X)
#undef X
        "{\"name\":\"none\"}]";
static const size_t definitions_size = sizeof definitions - 1;

static const mcp_method_t methods[] = {
    {"prompts/list", true, true, SCOPE_ALL, everything_list_prompts},
    {"prompts/get", true, true, SCOPE_ALL, everything_get_prompt},
    {"resources/list", true, true, SCOPE_ALL, everything_list_resources},
    {"resources/templates/list", true, true, SCOPE_ALL,
     everything_list_templates},
    {"resources/read", true, true, SCOPE_ALL, everything_read_resource},
    {"resources/subscribe", false, true, SCOPE_ALL, do_nothing},
    {"resources/unsubscribe", false, true, SCOPE_ALL, do_nothing},
    {"completion/complete", true, true, SCOPE_ALL, everything_complete},
    {"logging/setLevel", false, true, SCOPE_ALL, do_nothing},
    {0},
};

static json_t *capabilities(bool is_legacy)
{
    return json_pack("{s:{},s:{},s:{s:o*},s:{},s:o*}", "tools", "prompts",
                     "resources", "subscribe", is_legacy ? json_true() : NULL,
                     "completions", "logging",
                     is_legacy ? json_object() : NULL);
}

const mcp_offer_t mcp_offer = {
    .instructions = "A server of the tests.",
    .capabilities = capabilities,
    .definitions = definitions,
    .definitions_size = &definitions_size,
    .tools = tools,
    .methods = methods,
};
