/* The ids of live sessions, as the registry reports them. */
#include "gateway/http/subscriptions/session_set.h"

#include "tests/lib/test.h"

#include <string.h>

static http_t http;

static int prepare(void **state)
{
    (void) state;
    http = (http_t){.session_set = session_set_new()};
    return 0;
}

static int clean_up(void **state)
{
    (void) state;
    zhashx_destroy(&http.session_set);
    return 0;
}

static void tell(const char *json)
{
    const frontend_event_t event = {.what = FRONTEND_SESSIONS,
                                    .json = {json, strlen(json)}};

    session_set_on_event(&http, &event);
}

static void is_not_read_before_the_registry_has_spoken(void **state)
{
    (void) state;
    assert_false(session_set_is_read(&http));
    assert_false(session_set_has(&http, "a"));
    tell("{\"there\":[],\"gone\":[]}");
    assert_true(session_set_is_read(&http));
}

static void applies_sessions_there_and_gone(void **state)
{
    (void) state;
    tell("{\"there\":[\"a\",\"b\"]}");
    tell("{\"there\":[\"c\",\"a\"],\"gone\":[\"b\",\"d\"]}");
    assert_true(session_set_has(&http, "a"));
    assert_false(session_set_has(&http, "b"));
    assert_true(session_set_has(&http, "c"));
    assert_false(session_set_has(&http, "d"));
    assert_false(session_set_has(&http, ""));
}

static void notes_a_session_once(void **state)
{
    (void) state;
    session_set_note(&http, "a", true);
    session_set_note(&http, "a", true);
    assert_true(session_set_has(&http, "a"));
    session_set_note(&http, "a", false);
    session_set_note(&http, "a", false);
    assert_false(session_set_has(&http, "a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_not_read_before_the_registry_has_spoken),
        TEST(applies_sessions_there_and_gone),
        TEST(notes_a_session_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
