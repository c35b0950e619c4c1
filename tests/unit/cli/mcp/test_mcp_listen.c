/* A subscription of a modern client over gateways that end. Time passes when
 * the test says so. */
#include "gateway/cli/mcp/mcp_listen.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#include <string.h>

#define URI "hearth://sessions/a"
#define META                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define SUBSCRIBED                                                             \
    "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"}"
#define ACKNOWLEDGED                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":"                                         \
    "\"notifications/subscriptions/acknowledged\",\"params\":{" SUBSCRIBED     \
    ",\"notifications\":{\"resourcesListChanged\":true,"                       \
    "\"resourceSubscriptions\":[\"" URI "\",7]}}}"

static int64_t now_ms;

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

static json_t *message; /* the request */
static mcp_listen_t listen_;

static int set_up(void **state)
{
    (void) state;
    now_ms = 1000000;
    message = json_loads("{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":"
                         "\"subscriptions/listen\",\"params\":{" META "}}",
                         0, NULL);
    return message ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    json_decref(message);
    mcp_listen_clear(&listen_);
    return 0;
}

/* Has the gateway say that. Returns what the client gets instead; NULL: it gets
 * the same. */
static char *take(const char *text)
{
    buffer_t out = BUFFER_EMPTY;
    json_auto_t *answer = json_loads(text, 0, NULL);
    bool is_replaced = mcp_listen_take(&listen_, message, answer, &out);

    assert_non_null(answer);
    if (is_replaced)
        return (char *) out.data;
    buffer_reset(&out);
    return NULL;
}

static void is_a_request_of_the_newest_revision(void **state)
{
    json_auto_t *older =
        json_loads("{\"method\":\"subscriptions/listen\"}", 0, NULL);
    json_auto_t *other =
        json_loads("{\"method\":\"ping\",\"params\":{" META "}}", 0, NULL);

    (void) state;
    assert_true(mcp_listen_is(message));
    assert_false(mcp_listen_is(older));
    assert_false(mcp_listen_is(other));
    assert_false(mcp_listen_is(NULL));
}

static void replaces_the_second_acknowledgement(void **state)
{
    cleanup_free char *first = take(ACKNOWLEDGED);
    assert_null(first);
    assert_int_equal(mcp_listen_wait_ms(&listen_), -1);
    assert_true(mcp_listen_lose(&listen_));
    cleanup_free char *second = take(ACKNOWLEDGED);

    (void) state;
    assert_string_equal(
        second,
        "{\"jsonrpc\":\"2.0\",\"method\":"
        "\"notifications/resources/list_changed\",\"params\":{" SUBSCRIBED
        "}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":"
        "\"notifications/resources/updated\",\"params\":{" SUBSCRIBED
        ",\"uri\":\"" URI "\"}}\n");
}

static void waits_longer_each_time_that_nothing_comes(void **state)
{
    cleanup_free char *ignored = take(ACKNOWLEDGED);
    int waits[8];

    (void) state;
    now_ms += 10000;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        assert_true(mcp_listen_lose(&listen_));
        waits[i] = mcp_listen_wait_ms(&listen_);
        now_ms += waits[i];
        assert_int_equal(mcp_listen_wait_ms(&listen_), 0);
        mcp_listen_try(&listen_);
        assert_int_equal(mcp_listen_wait_ms(&listen_), -1);
    }
    assert_int_equal(waits[0], 200);
    assert_int_equal(waits[1], 400);
    assert_int_equal(waits[7], 10000);
}

/* A proxy may cut each stream at once. */
static void waits_longer_if_the_stream_ends_at_once(void **state)
{
    (void) state;
    for (int wait = 200; wait <= 800; wait *= 2) {
        cleanup_free char *ignored = take(ACKNOWLEDGED);
        assert_true(mcp_listen_lose(&listen_));
        assert_int_equal(mcp_listen_wait_ms(&listen_), wait);
    }
    cleanup_free char *ignored = take(ACKNOWLEDGED);
    now_ms += 5000;
    assert_true(mcp_listen_lose(&listen_));
    assert_int_equal(mcp_listen_wait_ms(&listen_), 200);
}

static void is_not_lost_before_or_after_it_was_open(void **state)
{
    (void) state;
    assert_false(mcp_listen_lose(&listen_));
    cleanup_free char *ignored = take(ACKNOWLEDGED);
    cleanup_free char *end =
        take("{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"result\":{}}");
    assert_null(end);
    assert_false(mcp_listen_lose(&listen_));
    assert_int_equal(mcp_listen_wait_ms(&listen_), -1);
}

static void passes_on_what_it_does_not_know(void **state)
{
    cleanup_free char *ignored = take(ACKNOWLEDGED);

    (void) state;
    assert_true(mcp_listen_lose(&listen_));
    assert_null(take("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}"));
    assert_null(take("{\"jsonrpc\":\"2.0\",\"method\":7}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_a_request_of_the_newest_revision,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaces_the_second_acknowledgement,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            waits_longer_each_time_that_nothing_comes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_longer_if_the_stream_ends_at_once,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_not_lost_before_or_after_it_was_open,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(passes_on_what_it_does_not_know, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
