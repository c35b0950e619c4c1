/* A session that owes an answer for too long is late, and is shown as it was.
 * The time is the test's. */
#include "gateway/registry/core/responses.h"

#include "tests/lib/test.h"

#include <string.h>

static void is_late_after_its_time(void **state)
{
    response_t response = {0};

    (void) state;
    assert_false(responses_are_late(&response, 0, 5000));
    responses_asked(&response, 1000);
    assert_false(responses_are_late(&response, RESPONSE_MS, 1999));
    assert_true(responses_are_late(&response, RESPONSE_MS, 2000));
}

static void counts_from_the_first_open_question(void **state)
{
    response_t response = {0};

    (void) state;
    responses_asked(&response, 1000);
    responses_asked(&response, 1900);
    assert_true(responses_are_late(&response, RESPONSE_MS, 2000));
    responses_came(&response, NULL);
    assert_false(responses_are_late(&response, RESPONSE_MS, 9000));
    responses_asked(&response, 9000);
    assert_false(responses_are_late(&response, RESPONSE_MS, 9999));
}

static void shows_the_last_answer(void **state)
{
    response_t response = {0};
    json_auto_t *said = json_pack("{s:s,s:s}", "state", "busy", "name", "n");

    (void) state;
    responses_came(&response, said);
    responses_came(&response, NULL);
    json_auto_t *shown = responses_last(&response, "a1", "python3");
    assert_string_equal(json_string_value(json_object_get(shown, "state")),
                        "busy");
    assert_string_equal(json_string_value(json_object_get(shown, "name")), "n");
    assert_string_equal(json_string_value(json_object_get(shown, "id")), "a1");
    assert_true(json_is_false(json_object_get(shown, "responds")));
    assert_null(json_object_get(said, "responds"));
    responses_clear(&response);
}

static void shows_a_session_that_never_answered(void **state)
{
    const response_t response = {0};
    json_auto_t *shown = responses_last(&response, "a1", "python3");

    (void) state;
    assert_string_equal(json_string_value(json_object_get(shown, "state")),
                        "starting");
    assert_string_equal(json_string_value(json_object_get(shown, "name")), "");
    assert_string_equal(json_string_value(json_object_get(shown, "profile")),
                        "python3");
}

static void says_for_how_long(void **state)
{
    response_t response = {0};

    (void) state;
    responses_asked(&response, 1000);
    json_auto_t *error = responses_error(&response, "a1", 13500);
    assert_non_null(strstr(json_string_value(json_object_get(error, "evalue")),
                           "session a1 has not answered for 12 s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_late_after_its_time),
        cmocka_unit_test(counts_from_the_first_open_question),
        cmocka_unit_test(shows_the_last_answer),
        cmocka_unit_test(shows_a_session_that_never_answered),
        cmocka_unit_test(says_for_how_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
