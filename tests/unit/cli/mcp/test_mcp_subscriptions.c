/* The subscriptions of a client over gateways that end. Time passes when the
 * test says so; a request is a text, and has no connection. */
#include "gateway/cli/mcp/mcp_subscriptions.h"

#include "base/clock.h"
#include "tests/lib/test.h"

#include <string.h>

#define REQUESTS 3

static int64_t now_ms;

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

static mcp_subscriptions_t *list;
static mcp_listen_t listens[REQUESTS];
static char names[REQUESTS][2] = {"a", "b", "c"};
static char deeds[64]; /* what the list had the caller do */
static bool is_away;   /* the gateway */

static void note(const char *what, const char *name)
{
    size_t at = strlen(deeds);

    snprintf(deeds + at, sizeof deeds - at, "%s%s %s", at ? ", " : "", what,
             name);
}

static int open_again(void *arg, void *request)
{
    (void) arg;
    note("open", request);
    return is_away ? -1 : 0;
}

static void close_again(void *arg, void *request)
{
    (void) arg;
    note("close", request);
}

static void drop(void *arg, void *request)
{
    mcp_subscriptions_t **own = arg;

    note("drop", request);
    mcp_subscriptions_remove(*own, request);
}

static const mcp_subscriptions_ops_t ops = {open_again, close_again, drop};

static void did(const char *wanted)
{
    assert_string_equal(deeds, wanted);
    *deeds = '\0';
}

/* Has the gateway acknowledge the request. */
static void accept_request(size_t i)
{
    json_auto_t *message = json_loads(
        "{\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
        0, NULL);
    json_auto_t *answer = json_loads(
        "{\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
        "\"notifications\":{}}}",
        0, NULL);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) mcp_listen_take(&listens[i], message, answer, &out);
}

static int set_up(void **state)
{
    (void) state;
    now_ms = 1000000;
    is_away = false;
    *deeds = '\0';
    list = mcp_subscriptions_new(&ops, &list);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (!mcp_subscriptions_add(list, names[i], &listens[i]))
            return -1;
        accept_request(i);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    mcp_subscriptions_destroy(&list);
    mcp_subscriptions_destroy(&list);
    for (size_t i = 0; i < REQUESTS; i++)
        mcp_listen_clear(&listens[i]);
    return 0;
}

static void lose(size_t i)
{
    assert_true(mcp_listen_lose(&listens[i]));
}

static void open_streams_wait_for_nothing(void **state)
{
    (void) state;
    assert_int_equal(mcp_subscriptions_wait_ms(list), -1);
    mcp_subscriptions_open(list);
    did("");
}

static void a_lost_stream_is_opened_when_it_is_due(void **state)
{
    (void) state;
    lose(1);
    now_ms += 50;
    lose(0);
    assert_int_equal(mcp_subscriptions_wait_ms(list), 150);
    mcp_subscriptions_open(list);
    did("");
    now_ms += 150;
    assert_int_equal(mcp_subscriptions_wait_ms(list), 0);
    mcp_subscriptions_open(list);
    did("open b");
    assert_int_equal(mcp_subscriptions_wait_ms(list), 50);
}

/* A try may take seconds, in which nothing else is done. */
static void one_try_is_enough_while_the_gateway_is_away(void **state)
{
    (void) state;
    for (size_t i = 0; i < REQUESTS; i++)
        lose(i);
    now_ms += 200;
    is_away = true;
    mcp_subscriptions_open(list);
    did("open c, close c, close b, close a");
    assert_int_equal(mcp_subscriptions_wait_ms(list), 400);
    now_ms += 400;
    is_away = false;
    mcp_subscriptions_open(list);
    did("open c, open b, open a");
    assert_int_equal(mcp_subscriptions_wait_ms(list), -1);
}

static void one_that_is_removed_is_not_opened(void **state)
{
    (void) state;
    lose(2);
    mcp_subscriptions_remove(list, names[2]);
    mcp_subscriptions_remove(list, names[2]);
    assert_int_equal(mcp_subscriptions_count(list), 2);
    now_ms += 200;
    assert_int_equal(mcp_subscriptions_wait_ms(list), -1);
    mcp_subscriptions_open(list);
    did("");
}

static void all_end_with_the_input(void **state)
{
    (void) state;
    lose(0);
    mcp_subscriptions_end(list);
    did("drop c, drop b, drop a");
    assert_int_equal(mcp_subscriptions_count(list), 0);
    mcp_subscriptions_end(list);
    did("");
}

static void there_is_a_limit(void **state)
{
    static char more[MCP_SUBSCRIPTIONS_MAX];
    mcp_listen_t listen = {0};
    size_t i = 0;

    (void) state;
    while (mcp_subscriptions_add(list, &more[i], &listen))
        i++;
    assert_int_equal(mcp_subscriptions_count(list), MCP_SUBSCRIPTIONS_MAX);
    mcp_subscriptions_remove(list, &more[0]);
    assert_true(mcp_subscriptions_add(list, &more[0], &listen));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(open_streams_wait_for_nothing),
        TEST(a_lost_stream_is_opened_when_it_is_due),
        TEST(one_try_is_enough_while_the_gateway_is_away),
        TEST(one_that_is_removed_is_not_opened),
        TEST(all_end_with_the_input),
        TEST(there_is_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
