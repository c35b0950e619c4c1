/* The list of sessions as pages get it: whole, then what changes. */
#include "gateway/http/window/feed_list.h"

#include "tests/lib/test.h"

#include <string.h>

static http_t http;
static feed_list_t *list;
static int changes;

static void on_change(http_t *self)
{
    assert_ptr_equal(self, &http);
    changes++;
}

static int prepare(void **state)
{
    (void) state;
    changes = 0;
    list = feed_list_new(&http, on_change);
    return 0;
}

static int clean_up(void **state)
{
    (void) state;
    feed_list_destroy(&list);
    return 0;
}

static void reply(const char *sessions)
{
    cleanup_free char *text = mem_format("{\"sessions\":[%s]}", sessions);
    json_auto_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    feed_list_take(list, json);
}

static void shows(uint64_t since, const char *expected)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    feed_list_write(list, since, &out);
    assert_string_equal((const char *) out.data, expected);
}

static bool is_whole(uint64_t since)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    feed_list_write(list, since, &out);
    return strstr((const char *) out.data, "\"snapshot\":true");
}

#define A      "{\"id\":\"a\",\"state\":\"idle\"}"
#define A_BUSY "{\"id\":\"a\",\"state\":\"busy\"}"
#define B      "{\"id\":\"b\",\"state\":\"idle\"}"
#define WHOLE(sessions)                                                        \
    "{\"topic\":\"sessions\",\"snapshot\":true,\"sessions\":[" sessions        \
    "],\"ended\":[]}"
#define CHANGED(sessions, ended)                                               \
    "{\"topic\":\"sessions\",\"snapshot\":false,\"sessions\":[" sessions       \
    "],\"ended\":[" ended "]}"

static void an_empty_list_is_news_once(void **state)
{
    (void) state;
    assert_int_equal(feed_list_version(list), 0);
    reply("");
    reply("");
    assert_int_equal(feed_list_version(list), 1);
    assert_int_equal(changes, 1);
    shows(0, WHOLE(""));
}

static void only_what_changed_is_sent_again(void **state)
{
    (void) state;
    reply(A);
    shows(0, WHOLE(A));
    reply(A "," B);
    shows(1, CHANGED(B, ""));
    reply(A_BUSY "," B);
    shows(2, CHANGED(A_BUSY, ""));
    assert_int_equal(changes, 3);
}

static void an_end_is_sent_to_all_that_knew_the_session(void **state)
{
    (void) state;
    reply(A "," B);
    reply(B);
    shows(1, CHANGED("", "\"a\""));
    shows(2, CHANGED("", ""));
    shows(0, WHOLE(B));
    reply(A "," B);
    shows(2, CHANGED(A, ""));
    shows(1, CHANGED(A, ""));
}

static void who_is_too_old_gets_the_whole_list(void **state)
{
    (void) state;
    reply(A "," B);
    for (int i = 0; i < 1001; i++) {
        cleanup_free char *text =
            mem_format(B ",{\"id\":\"s%d\",\"state\":\"idle\"}", i);
        reply(text);
    }
    assert_true(is_whole(1));
    assert_false(is_whole(feed_list_version(list)));
}

static void an_answer_without_sessions_changes_nothing(void **state)
{
    json_auto_t *refusal = json_pack("{s:s}", "status", "error");

    (void) state;
    reply(A);
    feed_list_take(list, refusal);
    feed_list_take(list, NULL);
    shows(0, WHOLE(A));
    assert_int_equal(changes, 1);
}

static void a_cleared_list_begins_anew(void **state)
{
    (void) state;
    reply(A);
    feed_list_clear(list);
    assert_int_equal(feed_list_version(list), 0);
    reply(B);
    assert_int_equal(changes, 2);
    shows(0, WHOLE(B));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_list_is_news_once),
        TEST(only_what_changed_is_sent_again),
        TEST(an_end_is_sent_to_all_that_knew_the_session),
        TEST(who_is_too_old_gets_the_whole_list),
        TEST(an_answer_without_sessions_changes_nothing),
        TEST(a_cleared_list_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
