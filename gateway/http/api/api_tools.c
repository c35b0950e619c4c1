/* Host tools: the agent's process registers functions for the code of a
 * session, waits for calls and answers them. Arguments, results and schemas
 * pass as the JSON text that they are. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/rpc/tools_request.h"

#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <string.h>

#define JSON_TYPE "application/json"

/* Sends a request, whose content is taken. */
static void ask(exchange_t *exchange, json_t *content,
                registry_client_reply_fn *fn)
{
    registry_client_ask(exchange, TOOLS_REQUEST_TYPE, content, fn);
}

static json_t *content_new(const exchange_t *exchange, const char *operation)
{
    return tools_request_new(exchange->request.parameters[0], operation);
}

/* Returns the value of a query; `otherwise` if the request does not have it. */
static const char *argument(const exchange_t *exchange, const char *name,
                            const char *otherwise)
{
    const char *value = exchange_argument(exchange, name);

    return value ? value : otherwise;
}

/* Reads the body as an object. Returns false if the request was answered with
 * what is wrong. */
static bool read_body(exchange_t *exchange, jspan_t *ret_body)
{
    const buffer_t *body = &exchange->request.body;
    fault_t fault;

    if (jspan_check(body->data, body->size, ret_body, &fault) < 0)
        exchange_fail(exchange, 400, "Invalid JSON in body of request: %s",
                      fault.text);
    else if (!jspan_is(*ret_body, JSPAN_OBJECT))
        exchange_fail(exchange, 400, "the body must be a JSON object");
    else
        return true;
    return false;
}

/* ---- tools ---- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const char *list = model_text(reply, "list");

    if (registry_client_is_ok(exchange, reply))
        exchange_bytes(exchange, 200, JSON_TYPE, list, strlen(list));
}

static void list(exchange_t *exchange)
{
    ask(exchange, content_new(exchange, "list"), on_list);
}

static void put(exchange_t *exchange)
{
    cleanup_free char *provider = NULL;
    jspan_t body, name, tools;

    if (!read_body(exchange, &body))
        return;
    name = jspan_member(body, "provider");
    tools = jspan_member(body, "tools");
    if (!jspan_is(name, JSPAN_ABSENT) && !jspan_is(name, JSPAN_STRING)) {
        exchange_fail(exchange, 400, "provider must be a text");
        return;
    }
    if (!jspan_is(tools, JSPAN_ARRAY)) {
        exchange_fail(exchange, 400,
                      "tools must be an array of {\"name\", \"description\", "
                      "\"inputSchema\"}");
        return;
    }
    provider = jspan_is(name, JSPAN_STRING) ? jspan_plain_new(name)
                                            : mem_text(TOOLS_REQUEST_PROVIDER);
    if (!provider) {
        exchange_fail(exchange, 400, "provider must be a text without NUL");
        return;
    }
    json_t *content = content_new(exchange, "register");
    tools_request_set_text(content, "provider", text_bytes(provider));
    tools_request_set_text(content, "text", (bytes_t){tools.text, tools.size});
    ask(exchange, content, on_list);
}

static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

static void discard(exchange_t *exchange)
{
    json_t *content = content_new(exchange, "remove");

    tools_request_set_text(
        content, "provider",
        text_bytes(argument(exchange, "provider", TOOLS_REQUEST_PROVIDER)));
    ask(exchange, content, on_removed);
}

/* ---- calls ---- */

static void on_calls(exchange_t *exchange, const json_t *reply)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    if (!registry_client_is_ok(exchange, reply))
        return;
    jspan_write_begin(&out);
    jspan_write_raw(&out, "calls", text_bytes(model_text(reply, "calls")));
    jspan_write_end(&out);
    exchange_bytes(exchange, 200, JSON_TYPE, out.data, out.size);
}

/* Reads a number of a query. Returns false if the request was answered with
 * what is wrong. */
static bool read_number(exchange_t *exchange, const char *name, uint64_t max,
                        uint64_t *ret_number)
{
    if (decimal_read(argument(exchange, name, "0"), ret_number)
        && *ret_number <= max)
        return true;
    exchange_fail(exchange, 400, "%s must be a whole number, 0 to %llu", name,
                  (unsigned long long) max);
    return false;
}

static void set_place(const exchange_t *exchange, json_t *content)
{
    tools_request_set_text(
        content, "provider",
        text_bytes(argument(exchange, "provider", TOOLS_REQUEST_PROVIDER)));
    tools_request_set_text(content, "place",
                           text_bytes(argument(exchange, "worker", "rest")));
}

/* Sends "leave" if the client has gone while it waited. */
static void leave(const exchange_t *exchange)
{
    json_t *content;

    if (exchange->response.status)
        return;
    content = content_new(exchange, "leave");
    set_place(exchange, content);
    tools_request_send(exchange->http, NULL, content);
}

static void take(exchange_t *exchange)
{
    uint64_t after, seconds;
    json_t *content;

    if (!read_number(exchange, "after", INT64_MAX, &after)
        || !read_number(exchange, "wait", TOOLS_REQUEST_WAIT_MAX_S, &seconds))
        return;
    content = content_new(exchange, "take");
    set_place(exchange, content);
    json_object_set_new(content, "number", json_integer((json_int_t) after));
    json_object_set_new(content, "wait_ms",
                        json_integer((json_int_t) seconds * 1000));
    exchange_on_destroy(exchange, leave);
    ask(exchange, content, on_calls);
}

static void on_answered(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_json(exchange, 200, json_pack("{s:b}", "accepted", 1));
}

/* Answers a call by {"result": any JSON} or {"error": "a sentence"}. */
static void answer(exchange_t *exchange)
{
    uint64_t number;
    jspan_t body;
    json_t *content;

    if (!read_body(exchange, &body))
        return;
    if (!decimal_read(exchange->request.parameters[1], &number)) {
        exchange_fail(exchange, 404, "no call has this number");
        return;
    }
    content =
        tools_request_answer(exchange->request.parameters[0], number, body);
    if (content)
        ask(exchange, content, on_answered);
    else
        exchange_fail(exchange, 400,
                      "an answer has either `result`, any JSON, or `error`, a "
                      "text of at most 64 KiB");
}

const route_t tool_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/tools", SCOPE_OBSERVE, list},
    {METHOD_PUT, "/hearth/sessions/{}/tools", SCOPE_EXECUTE, put},
    {METHOD_DELETE, "/hearth/sessions/{}/tools", SCOPE_EXECUTE, discard},
    {METHOD_GET, "/hearth/sessions/{}/tools/calls", SCOPE_EXECUTE, take},
    {METHOD_POST, "/hearth/sessions/{}/tools/calls/{}", SCOPE_EXECUTE, answer},
    {0},
};
