/* Calls for the same file or repository, and the key that they share until one
 * of them has its result. The registry and the files' thread are records. */
#include "gateway/http/mcp/tools/tool_fetch.h"

#include "gateway/http/core/http.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/registry_client.h"

#include "tests/lib/test.h"

#include <string.h>

/* A client with its call, and what the call has asked. */
typedef struct {
    exchange_t *exchange;
    mcp_call_t call;
    int asked;     /* how often it has asked for the fetch */
    char key[128]; /* of the last time */
    registry_client_reply_fn *on_fetched, *on_looked;
} fetch_caller_t;

static options_t options;
static http_t http = {.options = &options};
static json_t *arguments;
static fetch_caller_t a, b, c;

static fetch_caller_t *client_of(const exchange_t *exchange)
{
    fetch_caller_t *const all[] = {&a, &b, &c};

    for (size_t i = 0; i < 3; i++)
        if (all[i]->exchange == exchange)
            return all[i];
    fail();
    return NULL;
}

void __wrap_registry_client_ask_once(exchange_t *exchange, const char *name,
                                     const char *type, json_t *content,
                                     registry_client_reply_fn *fn);
void __wrap_files_client_ask(exchange_t *exchange, const char *type,
                             json_t *content, registry_client_reply_fn *fn);
void __wrap_tool_result_text(mcp_call_t *call, bool is_error,
                             const char *format, ...);

void __wrap_registry_client_ask_once(exchange_t *exchange, const char *name,
                                     const char *type, json_t *content,
                                     registry_client_reply_fn *fn)
{
    fetch_caller_t *client = client_of(exchange);
    const char *key = json_string_value(json_object_get(content, "key"));

    assert_string_equal(type, "fetch_request");
    assert_non_null(strstr(name, key));
    snprintf(client->key, sizeof client->key, "%s", key);
    client->asked++;
    client->on_fetched = fn;
    json_decref(content);
}

void __wrap_files_client_ask(exchange_t *exchange, const char *type,
                             json_t *content, registry_client_reply_fn *fn)
{
    assert_string_equal(type, "files_stat_request");
    client_of(exchange)->on_looked = fn;
    json_decref(content);
}

void __wrap_tool_result_text(mcp_call_t *call, bool is_error,
                             const char *format, ...)
{
    (void) format;
    assert_false(is_error);
    call->is_answered = true;
}

static void run(fetch_caller_t *client)
{
    client->exchange = exchange_new(&http, NULL);
    client->call =
        (mcp_call_t){.exchange = client->exchange, .arguments = arguments};
    client->exchange->task = &client->call;
    tool_fetch_run(&client->call, "s1");
}

static void finish(fetch_caller_t *client)
{
    if (!client->exchange)
        return;
    client->call.state_end(&client->call.state);
    client->exchange->task = NULL;
    exchange_destroy(&client->exchange);
}

/* The fetch has ended. `kept_at` is there if an earlier call had begun it. */
static void reply(const fetch_caller_t *client, const char *kept_at_or_null)
{
    json_auto_t *done = json_pack("{s:s,s:s,s:i,s:s*}", "status", "ok", "path",
                                  "p", "size", 4, "kept_at", kept_at_or_null);

    client->on_fetched(client->exchange, done);
}

/* Says that what was fetched is not there any more. */
static void miss(const fetch_caller_t *client)
{
    json_auto_t *nothing = json_pack("{s:s}", "status", "error");

    client->on_looked(client->exchange, nothing);
}

static void see(const fetch_caller_t *client)
{
    json_auto_t *stat =
        json_pack("{s:{s:s,s:i,s:s}}", "entry", "type", "file", "size", 4,
                  "modified", "2026-01-01T00:00:00Z");

    client->on_looked(client->exchange, stat);
}

static int begin(void **state)
{
    (void) state;
    a = b = c = (fetch_caller_t){0};
    arguments = json_pack("{s:s,s:s}", "action", "fetch", "url", "https://x/p");
    return 0;
}

static int end(void **state)
{
    (void) state;
    finish(&a);
    finish(&b);
    finish(&c);
    json_decref(arguments);
    json_decref(http.mcp.fetch_keys);
    http.mcp.fetch_keys = NULL;
    return 0;
}

static void calls_share_a_key_until_one_has_its_result(void **state)
{
    (void) state;
    run(&a);
    run(&b);
    assert_string_equal(a.key, b.key);
    reply(&a, NULL);
    assert_true(a.call.is_answered);
    run(&c);
    assert_string_not_equal(c.key, a.key);
}

static void what_is_still_there_is_not_fetched_again(void **state)
{
    (void) state;
    run(&a);
    reply(&a, "2026-01-02T00:00:00Z");
    assert_false(a.call.is_answered);
    see(&a);
    assert_true(a.call.is_answered);
    assert_int_equal(a.asked, 1);
    run(&b);
    assert_string_not_equal(b.key, a.key);
}

/* Two calls find that the file is gone. The second one must not forget the key
 * under which the first one fetches it anew. */
static void calls_that_share_a_fetch_forget_their_own_key_alone(void **state)
{
    const char *then = "2026-01-02T00:00:00Z";
    char first[sizeof a.key];

    (void) state;
    run(&a);
    run(&b);
    memcpy(first, a.key, sizeof first);
    reply(&a, then);
    reply(&b, then);
    miss(&a);
    miss(&b);
    assert_int_equal(a.asked, 2);
    assert_int_equal(b.asked, 2);
    assert_string_not_equal(a.key, first);
    assert_string_equal(b.key, a.key);
    reply(&a, NULL);
    reply(&b, NULL);
    assert_true(a.call.is_answered && b.call.is_answered);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_share_a_key_until_one_has_its_result),
        TEST(what_is_still_there_is_not_fetched_again),
        TEST(calls_that_share_a_fetch_forget_their_own_key_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
