/* Which variables a recording leaves, and whether a session has them. */
#include "tests/lib/test.h"

#include "base/cleanup.h"
#include "notebooks/recording/variable_names.h"

static void adds_up_changes_of_variables(void **state)
{
    static const char *const differences[] = {
        "{\"appeared\":[{\"name\":\"a\",\"type\":\"int\"},"
        "{\"name\":\"b\",\"type\":\"list\",\"size\":1},"
        "{\"name\":\"c\",\"type\":\"int\"}]}",
        ("{\"changed\":[{\"name\":\"b\",\"type\":\"list\",\"size\":2,\"was\":"
         "{\"type\":\"list\",\"size\":1}}],\"went\":[\"c\",\"never\",1]}"),
        "{\"appeared\":[{\"type\":\"int\"},1,null],\"changed\":{},\"went\":3}",
        "{\"appeared\":[{\"name\":\"d\",\"type\":\"int\"}]}",
    };
    json_auto_t *expected = json_object();
    json_auto_t *present = json_pack("{s:{s:s}, s:{s:s, s:i}}", "a", "type",
                                     "int", "b", "type", "list", "size", 3);
    json_auto_t *found = NULL;
    cleanup_free char *text = NULL;

    (void) state;
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        json_auto_t *difference = json_loads(differences[i], 0, NULL);
        variable_names_apply(expected, difference);
    }
    found = variable_names_compare(expected, present, 10);
    text = json_dumps(found, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"back\":[\"a\"],\"different\":[{\"is\":{\"size\":3,\"type\":"
              "\"list\"},\"name\":\"b\",\"was\":{\"size\":2,\"type\":\"list\"}}"
              "],\"missing\":[\"d\"]}");
    json_decref(found);
    found = variable_names_compare(expected, present, 0);
    assert_int_equal(json_integer_value(json_object_get(found, "more")), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_changes_of_variables),
    };

    return cmocka_run_group_tests_name("variable_names", tests, NULL, NULL);
}
