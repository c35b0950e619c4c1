/* A call whose code asks can be repeated for an hour. */
#include "gateway/http/mcp/elicitation/call_state.h"

#include "gateway/http/core/http.h"
#include "gateway/http/mcp/tools/tool_resume.h"
#include "gateway/http/rpc/registry_client.h"

#include "tests/lib/test.h"

#include <string.h>

#define GOOD_FOR_US (3600 * INT64_C(1000000))
#define SESSION     "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"
#define RUN         "00112233-4455-6677-8899-aabbccddeeff"

static options_t options;
static http_t http = {.options = &options};
static exchange_t *exchange;
static mcp_call_t call;
static int64_t wall_us;
static bool is_resumed; /* the session of the call was looked for */

int64_t __wrap_clock_wall_us(void);
void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn);

int64_t __wrap_clock_wall_us(void)
{
    return wall_us;
}

void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn)
{
    (void) self;
    (void) fn;
    assert_string_equal(type, "session_show_request");
    assert_string_equal(json_string_value(json_object_get(content, "id")),
                        SESSION);
    is_resumed = true;
    json_decref(content);
}

/* Begins a request that calls the tool with these parameters, taken. */
static void begin_call(json_t *params)
{
    exchange = exchange_new(&http, NULL);
    exchange->scopes = SCOPE_EXECUTE;
    call = (mcp_call_t){.exchange = exchange,
                        .message = {.root = params, .params = params},
                        .era = ERA_MODERN,
                        .arguments = json_object_get(params, "arguments")};
}

static json_t *params_of(const char *state_or_null)
{
    return json_pack("{s:s,s:{s:s},s:s*}", "name", "execute", "arguments",
                     "code", "input()", "requestState", state_or_null);
}

/* Returns the answer; the request has ended. */
static json_t *end_call(void)
{
    json_t *answer = json_loadb((const char *) exchange->response.body.data,
                                exchange->response.body.size, 0, NULL);

    json_decref(call.message.root);
    exchange_destroy(&exchange);
    return answer;
}

/* Returns the state of a call whose code asks, for the caller. */
static char *ask(void)
{
    execution_t run = {.id = RUN, .question_seq = 5};
    json_auto_t *answer = NULL;
    const char *text = NULL;

    begin_call(params_of(NULL));
    run.question = json_pack("{s:{},s:{s:s}}", "parent_header", "input_request",
                             "prompt", "name: ");
    call_state_ask(&call, SESSION, &run);
    json_decref(run.question);
    answer = end_call();
    (void) json_unpack(answer, "{s:{s:s}}", "result", "requestState", &text);
    assert_non_null(text);
    return mem_text(text);
}

/* Repeats the call with the state; returns the answer, NULL if it goes on. */
static json_t *repeat(const char *state)
{
    is_resumed = false;
    begin_call(params_of(state));
    assert_true(tool_resume_run(&call));
    return end_call();
}

static void is_good_for_an_hour(void **unused)
{
    cleanup_free char *state = NULL;
    json_t *answer;

    (void) unused;
    wall_us = INT64_C(1000000000);
    state = ask();
    wall_us += GOOD_FOR_US;
    answer = repeat(state);
    assert_null(answer);
    assert_true(is_resumed);
}

static void is_refused_after_an_hour(void **unused)
{
    cleanup_free char *state = NULL;
    json_auto_t *answer = NULL;
    const char *sentence = "";
    int code = 0;

    (void) unused;
    wall_us = INT64_C(1000000000);
    state = ask();
    wall_us += GOOD_FOR_US + 1000000;
    answer = repeat(state);
    assert_false(is_resumed);
    assert_int_equal(json_unpack(answer, "{s:{s:i,s:s}}", "error", "code",
                                 &code, "message", &sentence),
                     0);
    assert_int_equal(code, RPC_INVALID_PARAMS);
    assert_string_equal(
        sentence, "requestState was not made for this call, or is too old");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_good_for_an_hour),
        cmocka_unit_test(is_refused_after_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
