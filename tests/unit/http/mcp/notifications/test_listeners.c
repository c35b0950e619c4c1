/* How long the subscriptions of older clients are kept. */
#include "gateway/http/mcp/notifications/listeners.h"

#include "tests/lib/test.h"

#include <string.h>

static int destroy_all(void **list)
{
    listeners_destroy((mcp_listener_t **) list);
    return 0;
}

static mcp_listener_t **list_of(void **state)
{
    return (mcp_listener_t **) state;
}

static void another_token_is_another_client(void **state)
{
    mcp_listener_t **list = list_of(state);
    watch_t *one = listeners_use(list, "a", "token 1", 0);

    assert_ptr_equal(listeners_use(list, "a", "token 1", 1), one);
    assert_ptr_equal(listeners_find(*list, "a", "token 1"), one);
    assert_ptr_not_equal(listeners_use(list, "a", "token 2", 1), one);
    assert_ptr_not_equal(listeners_use(list, "b", "token 1", 1), one);
    assert_null(listeners_find(*list, "b", "token 2"));
}

static void a_silent_client_is_forgotten(void **state)
{
    mcp_listener_t **list = list_of(state);

    (void) listeners_use(list, "silent", "", 0);
    (void) listeners_use(list, "asks", "", 0);
    (void) listeners_use(list, "asks", "", 1);
    listeners_expire(list, LISTENERS_KEPT_MS - 1);
    assert_non_null(listeners_find(*list, "silent", ""));
    listeners_expire(list, LISTENERS_KEPT_MS);
    assert_null(listeners_find(*list, "silent", ""));
    assert_non_null(listeners_find(*list, "asks", ""));
    listeners_expire(list, LISTENERS_KEPT_MS + 1);
    assert_null(*list);
}

/* The time counts from the end of its last stream. */
static void a_client_with_a_stream_is_kept(void **state)
{
    mcp_listener_t **list = list_of(state);
    watch_t *watch = listeners_use(list, "a", "", 0);
    mcp_call_t stream = {0};

    watch->call = &stream;
    listeners_expire(list, 10 * LISTENERS_KEPT_MS);
    watch->call = NULL;
    listeners_expire(list, 11 * LISTENERS_KEPT_MS - 1);
    assert_ptr_equal(listeners_find(*list, "a", ""), watch);
    listeners_expire(list, 11 * LISTENERS_KEPT_MS);
    assert_null(*list);
}

static void the_one_that_was_silent_for_longest_makes_room(void **state)
{
    mcp_listener_t **list = list_of(state);
    mcp_call_t stream = {0};
    char name[16];

    listeners_use(list, "streams", "", 0)->call = &stream;
    for (int i = 1; i < LISTENERS_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        (void) listeners_use(list, name, "", i);
    }
    (void) listeners_use(list, "1", "", LISTENERS_MAX);
    (void) listeners_use(list, "new", "", LISTENERS_MAX);
    assert_null(listeners_find(*list, "2", ""));
    assert_non_null(listeners_find(*list, "1", ""));
    assert_non_null(listeners_find(*list, "3", ""));
    assert_non_null(listeners_find(*list, "new", ""));
    assert_non_null(listeners_find(*list, "streams", ""));
}

static void a_client_ends_its_subscriptions(void **state)
{
    mcp_listener_t **list = list_of(state);
    const watch_t *middle;

    (void) listeners_use(list, "a", "", 0);
    middle = listeners_use(list, "b", "", 0);
    (void) listeners_use(list, "c", "", 0);
    listeners_forget(list, middle);
    assert_null(listeners_find(*list, "b", ""));
    assert_non_null(listeners_find(*list, "a", ""));
    assert_non_null(listeners_find(*list, "c", ""));
}

#define TEST(name) cmocka_unit_test_teardown(name, destroy_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_token_is_another_client),
        TEST(a_silent_client_is_forgotten),
        TEST(a_client_with_a_stream_is_kept),
        TEST(the_one_that_was_silent_for_longest_makes_room),
        TEST(a_client_ends_its_subscriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
