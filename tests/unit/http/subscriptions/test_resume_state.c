/* Where a client stopped is kept, once, also as an earlier version wrote it. */
#include "gateway/http/subscriptions/resume_state.h"

#include "tests/lib/test.h"

static http_t http;

static int prepare(void **state)
{
    (void) state;
    http.kept.cursors = json_object();
    return 0;
}

static int clean_up(void **state)
{
    (void) state;
    json_decref(http.kept.cursors);
    return 0;
}

static void a_cursor_is_taken_once(void **state)
{
    const resume_cursor_t kept = {
        .seq = 7, .question = 5, .partial = 9, .bytes = 1u << 20};
    resume_cursor_t taken = {0};

    (void) state;
    resume_state_keep_cursor(&http, "s", "token/tab", &kept);
    assert_false(resume_state_take_cursor(&http, "s", "token/other", &taken));
    assert_false(resume_state_take_cursor(&http, "t", "token/tab", &taken));
    assert_int_equal(taken.seq, 0);
    assert_true(resume_state_take_cursor(&http, "s", "token/tab", &taken));
    assert_memory_equal(&taken, &kept, sizeof kept);
    assert_false(resume_state_take_cursor(&http, "s", "token/tab", &taken));
}

static void a_cursor_of_an_earlier_version_is_read(void **state)
{
    resume_cursor_t taken = {.partial = 1, .bytes = 1};

    (void) state;
    json_object_set_new(http.kept.cursors, "s tab", json_pack("[i,i]", 7, 5));
    json_object_set_new(http.kept.cursors, "s bad", json_pack("[i]", 7));
    assert_true(resume_state_take_cursor(&http, "s", "tab", &taken));
    assert_int_equal(taken.seq, 7);
    assert_int_equal(taken.question, 5);
    assert_int_equal(taken.partial, 0);
    assert_int_equal(taken.bytes, 0);
    assert_false(resume_state_take_cursor(&http, "s", "bad", &taken));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cursor_is_taken_once),
        TEST(a_cursor_of_an_earlier_version_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
