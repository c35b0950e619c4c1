/* Prompts, their completion, and resources. */
#include "tests/system/peers/everything.h"

#include "gateway/http/mcp/results/tool_result.h"

#include <string.h>

/* --- Prompts --- */

void everything_list_prompts(mcp_call_t *call)
{
    everything_answer_cached(
        call,
        everything_parse(
            "{\"prompts\":[{\"name\":\"test_simple_prompt\","
            "\"description\":\"A simple prompt\"},"
            "{\"name\":\"test_prompt_with_arguments\",\"description\":"
            "\"With arguments\",\"arguments\":[{\"name\":\"arg1\","
            "\"required\":true},{\"name\":\"arg2\",\"required\":true}]},"
            "{\"name\":\"test_prompt_with_embedded_resource\","
            "\"description\":\"With a resource\",\"arguments\":[{\"name\":"
            "\"resourceUri\",\"required\":true}]},"
            "{\"name\":\"test_prompt_with_image\",\"description\":\"With an "
            "image\"},{\"name\":\"test_input_required_result_prompt\","
            "\"description\":\"That asks\"}]}"));
}

static json_t *say(json_t *content)
{
    return json_pack("{s:s,s:o}", "role", "user", "content", content);
}

static json_t *say_text(const char *text)
{
    return say(json_pack("{s:s,s:s}", "type", "text", "text", text));
}

static void answer_prompt(mcp_call_t *call, json_t *first, json_t *second)
{
    json_t *messages = json_pack("[o]", first);

    if (second)
        json_array_append_new(messages, second);
    call_result(call, json_pack("{s:o}", "messages", messages));
}

static const char *prompt_argument(const mcp_call_t *call, const char *name)
{
    const char *text = json_string_value(json_object_get(
        json_object_get(call->message.params, "arguments"), name));

    return text ? text : "";
}

void everything_get_prompt(mcp_call_t *call)
{
    const char *name = rpc_message_text(&call->message, "name");

    if (!name)
        name = "";
    if (strcmp(name, "test_simple_prompt") == 0) {
        answer_prompt(call, say_text("This is a simple prompt for testing."),
                      NULL);
    } else if (strcmp(name, "test_prompt_with_arguments") == 0) {
        cleanup_free char *text = mem_format(
            "Prompt with arguments: arg1='%s', arg2='%s'",
            prompt_argument(call, "arg1"), prompt_argument(call, "arg2"));
        answer_prompt(call, say_text(text), NULL);
    } else if (strcmp(name, "test_prompt_with_embedded_resource") == 0) {
        answer_prompt(call,
                      say(json_pack("{s:s,s:{s:s,s:s,s:s}}", "type", "resource",
                                    "resource", "uri",
                                    prompt_argument(call, "resourceUri"),
                                    "mimeType", "text/plain", "text",
                                    "Embedded resource content for testing.")),
                      say_text("Please process the embedded resource above."));
    } else if (strcmp(name, "test_prompt_with_image") == 0) {
        answer_prompt(call,
                      say(tool_result_image("image/png", EVERYTHING_PNG,
                                            strlen(EVERYTHING_PNG))),
                      say_text("Please analyze the image above."));
    } else if (strcmp(name, "test_input_required_result_prompt") == 0) {
        everything_ask_prompt(call);
    } else {
        call_error(call, 400, RPC_INVALID_PARAMS, NULL, "no such prompt");
    }
}

void everything_complete(mcp_call_t *call)
{
    call_result(
        call, everything_parse(
                  "{\"completion\":{\"values\":[\"paris\",\"park\",\"party\"],"
                  "\"total\":150,\"hasMore\":false}}"));
}

/* --- Resources --- */

void everything_list_resources(mcp_call_t *call)
{
    everything_answer_cached(
        call,
        everything_parse(
            "{\"resources\":[{\"uri\":\"test://static-text\",\"name\":"
            "\"text\",\"description\":\"Text\",\"mimeType\":\"text/plain\"},"
            "{\"uri\":\"test://static-binary\",\"name\":\"binary\","
            "\"description\":\"An image\",\"mimeType\":\"image/png\"},"
            "{\"uri\":\"test://watched-resource\",\"name\":\"watched\","
            "\"description\":\"Changes\",\"mimeType\":\"text/plain\"}]}"));
}

void everything_list_templates(mcp_call_t *call)
{
    everything_answer_cached(
        call,
        everything_parse("{\"resourceTemplates\":[{\"uriTemplate\":"
                         "\"test://template/{id}/data\",\"name\":\"template\","
                         "\"description\":\"A template\",\"mimeType\":"
                         "\"application/json\"}]}"));
}

static void answer_resource(mcp_call_t *call, const char *uri, const char *type,
                            const char *member, const char *value)
{
    everything_answer_cached(call,
                             json_pack("{s:[{s:s,s:s,s:s}]}", "contents", "uri",
                                       uri, "mimeType", type, member, value));
}

void everything_read_resource(mcp_call_t *call)
{
    const char *uri = rpc_message_text(&call->message, "uri");
    char id[32] = "", data[8] = "";

    if (!uri)
        uri = "";
    if (strcmp(uri, "test://static-text") == 0) {
        answer_resource(call, uri, "text/plain", "text",
                        "This is the content of the static text resource.");
    } else if (strcmp(uri, "test://static-binary") == 0) {
        answer_resource(call, uri, "image/png", "blob", EVERYTHING_PNG);
    } else if (strcmp(uri, "test://watched-resource") == 0) {
        answer_resource(call, uri, "text/plain", "text", "watched");
    } else if (sscanf(uri, "test://template/%31[^/]/%7s", id, data) == 2
               && strcmp(data, "data") == 0) {
        cleanup_free char *text =
            mem_format("{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data "
                       "for ID: %s\"}",
                       id, id);
        answer_resource(call, uri, "application/json", "text", text);
    } else {
        call_error(call, 400, RPC_INVALID_PARAMS,
                   json_pack("{s:s}", "uri", uri), "Resource not found");
    }
}
