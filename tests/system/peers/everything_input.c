/* Tools that want something of their client: a question on the stream of the
 * older revisions, and since 2026-07-28 input that a repeated call brings. */
#include "tests/system/peers/everything.h"

#include "gateway/http/mcp/results/tool_result.h"

#include <sodium.h>

#include <string.h>

/* --- Questions to clients of the older revisions --- */

typedef struct {
    char id[33];        /* of the question */
    const char *prefix; /* borrowed; of the answer's text */
} question_t;

static void end_question(void **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static bool on_response(mcp_call_t *call, const rpc_message_t *response)
{
    const question_t *self = call->state;
    const char *id = json_string_value(response->id);
    const json_t *result = json_object_get(response->root, "result");

    if (!id || strcmp(id, self->id) != 0)
        return false;
    const char *said = json_string_value(
        json_object_get(json_object_get(result, "content"), "text"));
    cleanup_free char *text = json_dumps(result, JSON_COMPACT);
    tool_result_text(call, !result, "%s%s", self->prefix,
                     said   ? said
                     : text ? text
                            : "an error");
    return true;
}

static void ask(mcp_call_t *call, const char *method, json_t *params,
                const char *prefix)
{
    static const call_ops_t ops = {.on_response = on_response};
    question_t *self = mem_new(sizeof *self);
    uint8_t random[16];

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(self->id, sizeof self->id, random, sizeof random);
    self->prefix = prefix;
    call_keep(call, self, end_question, &ops);
    call_ask(call, self->id, method, params);
}

static json_t *sampling_params(const char *prompt, int tokens)
{
    return json_pack("{s:[{s:s,s:{s:s,s:s}}],s:i}", "messages", "role", "user",
                     "content", "type", "text", "text", prompt, "maxTokens",
                     tokens);
}

void everything_sampling(mcp_call_t *call)
{
    ask(call, "sampling/createMessage",
        sampling_params(
            json_string_value(json_object_get(call->arguments, "prompt")), 100),
        "LLM response: ");
}

static json_t *form(const char *message, const char *schema)
{
    return json_pack("{s:s,s:s,s:o}", "mode", "form", "message", message,
                     "requestedSchema", everything_parse(schema));
}

void everything_elicitation(mcp_call_t *call)
{
    ask(call, "elicitation/create",
        form(json_string_value(json_object_get(call->arguments, "message")),
             "{\"type\":\"object\",\"properties\":{"
             "\"username\":{\"type\":\"string\",\"description\":\"User's "
             "response\"},\"email\":{\"type\":\"string\",\"description\":"
             "\"User's email address\"}},\"required\":[\"username\","
             "\"email\"]}"),
        "User response: ");
}

void everything_elicitation_defaults(mcp_call_t *call)
{
    ask(call, "elicitation/create",
        form("Defaults",
             "{\"type\":\"object\",\"properties\":{"
             "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
             "\"age\":{\"type\":\"integer\",\"default\":30},"
             "\"score\":{\"type\":\"number\",\"default\":95.5},"
             "\"status\":{\"type\":\"string\",\"enum\":[\"active\","
             "\"inactive\",\"pending\"],\"default\":\"active\"},"
             "\"verified\":{\"type\":\"boolean\",\"default\":true}}}"),
        "Elicitation completed: ");
}

void everything_elicitation_enums(mcp_call_t *call)
{
    ask(call, "elicitation/create",
        form("Enums",
             "{\"type\":\"object\",\"properties\":{"
             "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\","
             "\"option2\",\"option3\"]},"
             "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
             "{\"const\":\"value1\",\"title\":\"First Option\"},"
             "{\"const\":\"value2\",\"title\":\"Second Option\"},"
             "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
             "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\","
             "\"opt3\"],\"enumNames\":[\"Option One\",\"Option Two\","
             "\"Option Three\"]},"
             "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":"
             "\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
             "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
             "{\"const\":\"value1\",\"title\":\"First Choice\"},"
             "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
             "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}}}"),
        "Elicitation completed: ");
}

/* --- Input that a repeated call brings (2026-07-28) --- */

static const uint8_t state_key[crypto_auth_KEYBYTES] = "a key of the tests";

/* "TEXT.MAC" */
static json_t *state_of(const char *text)
{
    uint8_t mac[crypto_auth_BYTES];
    char hex[2 * sizeof mac + 1];

    crypto_auth(mac, (const uint8_t *) text, strlen(text), state_key);
    sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    return json_sprintf("%s.%s", text, hex);
}

static bool is_state(const mcp_call_t *call, const char *text)
{
    json_auto_t *wanted = state_of(text);

    return json_equal(wanted,
                      json_object_get(call->message.params, "requestState"));
}

/* Returns the client's answer to that question, if it has the right kind. */
static const json_t *response(const mcp_call_t *call, const char *key)
{
    const json_t *given = json_object_get(
        json_object_get(call->message.params, "inputResponses"), key);

    return json_is_object(given) ? given : NULL;
}

static const char *content_text(const json_t *given, const char *name)
{
    const char *text = json_string_value(
        json_object_get(json_object_get(given, "content"), name));

    return text ? text : "";
}

static json_t *text_schema(const char *name)
{
    return json_pack("{s:s,s:{s:{s:s}},s:[s]}", "type", "object", "properties",
                     name, "type", "string", "required", name);
}

static json_t *question(const char *message, json_t *schema)
{
    return json_pack("{s:s,s:{s:s,s:s,s:o}}", "method", "elicitation/create",
                     "params", "mode", "form", "message", message,
                     "requestedSchema", schema);
}

static json_t *sample(const char *prompt)
{
    return json_pack("{s:s,s:o}", "method", "sampling/createMessage", "params",
                     sampling_params(prompt, 100));
}

static json_t *roots(void)
{
    return json_pack("{s:s,s:{}}", "method", "roots/list", "params");
}

/* Asks for input; both are taken, `state` may be NULL. */
static void want(mcp_call_t *call, json_t *requests, json_t *state)
{
    json_t *result = json_pack("{s:s,s:o}", "resultType", "input_required",
                               "inputRequests", requests);

    if (state)
        json_object_set_new(result, "requestState", state);
    call_result(call, result);
}

void everything_input_elicitation(mcp_call_t *call)
{
    const json_t *given = response(call, "user_name");
    const char *name = content_text(given, "name");

    if (*name)
        tool_result_text(call, false, "Hello, %s!", name);
    else
        want(call,
             json_pack("{s:o}", "user_name",
                       question("What is your name?", text_schema("name"))),
             NULL);
}

void everything_input_sampling(mcp_call_t *call)
{
    const json_t *given = response(call, "capital_question");

    if (given)
        tool_result_text(call, false, "%s", content_text(given, "text"));
    else
        want(call,
             json_pack("{s:o}", "capital_question",
                       sample("What is the capital of France?")),
             NULL);
}

void everything_input_roots(mcp_call_t *call)
{
    const json_t *given =
        json_object_get(response(call, "client_roots"), "roots");
    cleanup_free char *text = given ? json_dumps(given, JSON_COMPACT) : NULL;

    if (text)
        tool_result_text(call, false, "roots: %s", text);
    else
        want(call, json_pack("{s:o}", "client_roots", roots()), NULL);
}

static json_t *confirm(void)
{
    return json_pack(
        "{s:o}", "confirm",
        question("Please confirm",
                 everything_parse(
                     "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":"
                     "\"boolean\"}},\"required\":[\"ok\"]}")));
}

static void refuse_state(mcp_call_t *call)
{
    call_error(call, 400, RPC_INVALID_PARAMS, NULL,
               "the requestState is not the server's");
}

void everything_input_state(mcp_call_t *call)
{
    if (!json_object_get(call->message.params, "requestState"))
        want(call, confirm(), state_of("confirm"));
    else if (is_state(call, "confirm"))
        tool_result_text(call, false, "state-ok");
    else
        refuse_state(call);
}

void everything_input_many(mcp_call_t *call)
{
    if (response(call, "user_name") && response(call, "greeting")
        && response(call, "client_roots") && is_state(call, "many"))
        tool_result_text(call, false, "All is there.");
    else
        want(call,
             json_pack("{s:o,s:o,s:o}", "user_name",
                       question("What is your name?", text_schema("name")),
                       "greeting", sample("Generate a greeting"),
                       "client_roots", roots()),
             state_of("many"));
}

void everything_input_rounds(mcp_call_t *call)
{
    if (response(call, "step2") && is_state(call, "two"))
        tool_result_text(call, false, "All rounds are done.");
    else if (response(call, "step1") && is_state(call, "one"))
        want(call,
             json_pack("{s:o}", "step2",
                       question("Step 2: What is your favorite color?",
                                text_schema("color"))),
             state_of("two"));
    else
        want(call,
             json_pack(
                 "{s:o}", "step1",
                 question("Step 1: What is your name?", text_schema("name"))),
             state_of("one"));
}

void everything_input_capabilities(mcp_call_t *call)
{
    json_t *requests = json_object();

    if (call_capability(call, "sampling"))
        json_object_set_new(requests, "sample", sample("Say hello"));
    if (call_capability(call, "elicitation"))
        json_object_set_new(
            requests, "name",
            question("What is your name?", text_schema("name")));
    want(call, requests, NULL);
}

void everything_ask_prompt(mcp_call_t *call)
{
    if (response(call, "user_context"))
        call_result(call, everything_parse(
                              "{\"messages\":[{\"role\":\"user\",\"content\":{"
                              "\"type\":\"text\",\"text\":\"With "
                              "context.\"}}]}"));
    else
        want(call,
             json_pack("{s:o}", "user_context",
                       question("What context should the prompt use?",
                                text_schema("context"))),
             NULL);
}
