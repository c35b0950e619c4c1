/* Requests of HTTP clients to the registry, and what becomes of a request whose
 * client goes. The connection to the registry is a record. */
#include "gateway/http/rpc/registry_client.h"

#include "tests/lib/test.h"

#include <string.h>

static http_t http;
static char deeds[256];
static exchange_t *one, *other;

/* --- The connection --- */

int __wrap_frontend_call(frontend_t *self, const frontend_call_t *request,
                         fault_t *fault);
void __wrap_frontend_withdraw(frontend_t *self, uint64_t tag);

static void note(const char *what, uint64_t tag)
{
    size_t size = strlen(deeds);

    snprintf(deeds + size, sizeof deeds - size, "%s%s %llu", size ? "; " : "",
             what, (unsigned long long) tag);
}

int __wrap_frontend_call(frontend_t *self, const frontend_call_t *request,
                         fault_t *fault)
{
    (void) self;
    (void) fault;
    note(request->type, request->tag);
    return 0;
}

void __wrap_frontend_withdraw(frontend_t *self, uint64_t tag)
{
    (void) self;
    note("withdraw", tag);
}

#define DID(text)                                                              \
    do {                                                                       \
        assert_string_equal(deeds, text);                                      \
        memset(deeds, 0, sizeof deeds);                                        \
    } while (0)

/* --- The clients --- */

static int answers;

static void on_reply(exchange_t *exchange, const json_t *reply)
{
    (void) exchange;
    assert_non_null(reply);
    answers++;
}

static void answer(uint64_t tag)
{
    const frontend_event_t event = {
        .what = FRONTEND_ANSWER, .tag = tag, .json = text_bytes("{}")};

    registry_client_on_answer(&http, &event);
}

static void ask(exchange_t *exchange, const char *type)
{
    registry_client_ask(exchange, type, json_object(), on_reply);
}

static void ask_once(exchange_t *exchange)
{
    registry_client_ask_once(exchange, "n", "session_create_request",
                             json_object(), on_reply);
}

static int begin(void **state)
{
    (void) state;
    http = (http_t){0};
    answers = 0;
    memset(deeds, 0, sizeof deeds);
    one = exchange_new(&http, NULL);
    other = exchange_new(&http, NULL);
    return 0;
}

static int end(void **state)
{
    (void) state;
    exchange_destroy(&one);
    exchange_destroy(&other);
    registry_client_destroy(&http);
    return 0;
}

/* Only requests that may wait for packages: a message for each client that goes
 * would be for nothing. */
static void only_what_may_wait_is_withdrawn(void **state)
{
    (void) state;
    ask(one, "session_create_request");
    ask(one, "session_list_request");
    ask(one, "session_restart_request");
    DID("session_create_request 1; session_list_request 2; "
        "session_restart_request 3");
    exchange_destroy(&one);
    DID("withdraw 3; withdraw 1");
    answer(1);
    answer(2);
    assert_int_equal(answers, 0);
}

static void what_was_answered_is_not_withdrawn(void **state)
{
    (void) state;
    ask(one, "session_create_request");
    answer(1);
    assert_int_equal(answers, 1);
    exchange_destroy(&one);
    DID("session_create_request 1");
}

static void what_another_client_waits_for_is_not_withdrawn(void **state)
{
    (void) state;
    ask_once(one);
    ask_once(other);
    DID("session_create_request 1");
    exchange_destroy(&one);
    DID("");
    exchange_destroy(&other);
    DID("withdraw 1");
}

static void the_one_answer_is_for_both(void **state)
{
    (void) state;
    ask_once(one);
    ask_once(other);
    answer(1);
    assert_int_equal(answers, 2);
    ask_once(one);
    DID("session_create_request 1; session_create_request 2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_may_wait_is_withdrawn),
        TEST(what_was_answered_is_not_withdrawn),
        TEST(what_another_client_waits_for_is_not_withdrawn),
        TEST(the_one_answer_is_for_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
