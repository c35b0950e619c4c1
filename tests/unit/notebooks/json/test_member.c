/* Members of objects of JSON, whatever a peer has sent. */
#include "notebooks/json/member.h"
#include "tests/lib/test.h"

static json_t *object;

static int make(void **state)
{
    (void) state;
    object = json_loads("{\"text\":\"a\",\"count\":7,\"below\":-7,"
                        "\"real\":2.5,\"null\":null}",
                        0, NULL);
    return object ? 0 : -1;
}

static int drop(void **state)
{
    (void) state;
    json_decref(object);
    return 0;
}

static void reads_a_text(void **state)
{
    (void) state;
    assert_string_equal(member_text(object, "text"), "a");
    assert_string_equal(member_text(object, "count"), "");
    assert_string_equal(member_text(object, "null"), "");
    assert_string_equal(member_text(object, "other"), "");
    assert_string_equal(member_text(NULL, "text"), "");
}

static void reads_a_count(void **state)
{
    (void) state;
    assert_int_equal(member_count(object, "count"), 7);
    assert_int_equal(member_count(object, "below"), 0);
    assert_int_equal(member_count(object, "real"), 0);
    assert_int_equal(member_count(object, "text"), 0);
    assert_int_equal(member_count(NULL, "count"), 0);
}

static void reads_a_number(void **state)
{
    (void) state;
    assert_true(member_number(object, "real", 1) == 2.5);
    assert_true(member_number(object, "below", 1) == -7);
    assert_true(member_number(object, "text", 1) == 1);
    assert_true(member_number(NULL, "real", 1) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_text),
        cmocka_unit_test(reads_a_count),
        cmocka_unit_test(reads_a_number),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
