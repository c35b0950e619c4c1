/* The host tools of one session: what a list may name, and what it permits. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "gateway/config/tool_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char name[] = "small";
static char add[] = "add", web[] = "web.*";
static char *allowed[] = {add, web, NULL};
static const profile_t open_profile = {.name = name, .gives_tools = 1};
static const profile_t narrow = {
    .name = name, .gives_tools = 1, .tools = allowed};
static const profile_t off = {.name = name};

static int ask(const profile_t *profile, const char *text, char **ret_text,
               fault_t *fault)
{
    json_auto_t *asked = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(asked);
    return tool_list_ask(profile, asked, ret_text, fault);
}

static void expect_refused(const profile_t *profile, const char *asked,
                           const char *said)
{
    char *text;
    fault_t fault;

    assert_int_equal(ask(profile, asked, &text, &fault), -EINVAL);
    assert_null(text);
    if (!strstr(fault.text, said))
        fail_msg("%s: %s", asked, fault.text);
}

static void a_list_permits_what_it_names(void **state)
{
    cleanup_free char *text = NULL;
    json_auto_t *array = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&open_profile, "[\"a-b\", \"web.*\"]", &text, &fault),
                     0);
    assert_string_equal(text, "a-b, web.*");
    assert_true(tool_list_permits(text, "a-b"));
    assert_true(tool_list_permits(text, "web.get"));
    assert_true(tool_list_permits(text, "web."));
    assert_false(tool_list_permits(text, "a-bc"));
    assert_false(tool_list_permits(text, "a"));
    assert_false(tool_list_permits(text, "web"));
    assert_false(tool_list_permits(text, ""));
    array = tool_list_array(text);
    assert_int_equal(json_array_size(array), 2);
    assert_string_equal(json_string_value(json_array_get(array, 1)), "web.*");
}

static void without_a_list_all_are_permitted(void **state)
{
    char *text;
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&narrow, "null", &text, &fault), 0);
    assert_null(text);
    assert_int_equal(tool_list_ask(&off, NULL, &text, &fault), 0);
    assert_null(text);
    assert_true(tool_list_permits(NULL, "any"));
    assert_null(tool_list_array(NULL));
}

static void an_empty_list_permits_none(void **state)
{
    cleanup_free char *text = NULL;
    json_auto_t *array = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&off, "[]", &text, &fault), 0);
    assert_string_equal(text, "");
    assert_false(tool_list_permits(text, "any"));
    array = tool_list_array(text);
    assert_int_equal(json_array_size(array), 0);
}

static void a_list_is_within_the_profile(void **state)
{
    static const char within[] =
        "[\"add\", \"web.get\", \"web.a*\", \"web.*\"]";
    cleanup_free char *text = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&narrow, within, &text, &fault), 0);
    expect_refused(&narrow, "[\"add\", \"rm\"]", "does not permit `rm`");
    expect_refused(&narrow, "[\"we*\"]", "does not permit `we*`");
    expect_refused(&narrow, "[\"add*\"]", "profile/small/tools/allow");
    expect_refused(&narrow, "[\"*\"]", "does not permit `*`");
    expect_refused(&off, "[\"add\"]", "profile/small/tools/enabled");
}

static void refuses_what_is_no_list(void **state)
{
    cleanup_free char *long_name = mem_new(131);
    cleanup_free char *asked = NULL;
    json_auto_t *many = json_array();
    char *text;
    fault_t fault;

    (void) state;
    memset(long_name, 'a', 129);
    asked = mem_format("[\"%s\"]", long_name);
    expect_refused(&open_profile, "\"add\"", "must be an array");
    expect_refused(&open_profile, "{}", "must be an array");
    expect_refused(&open_profile, "[1]", "one of them is not the name");
    expect_refused(&open_profile, "[\"\"]", "is not the name");
    expect_refused(&open_profile, "[\"a b\"]", "a b is not the name");
    expect_refused(&open_profile, "[\"a,b\"]", "a,b is not the name");
    expect_refused(&open_profile, "[\"*a\"]", "is not the name");
    expect_refused(&open_profile, asked, "is not the name");
    for (int i = 0; i <= TOOL_LIST_MAX; i++)
        json_array_append_new(many, json_string("a"));
    assert_int_equal(tool_list_ask(&open_profile, many, &text, &fault),
                     -EINVAL);
    json_array_clear(many);
    json_array_append_new(many, json_stringn("a\0b", 3));
    assert_int_equal(tool_list_ask(&open_profile, many, &text, &fault),
                     -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_permits_what_it_names),
        cmocka_unit_test(without_a_list_all_are_permitted),
        cmocka_unit_test(an_empty_list_permits_none),
        cmocka_unit_test(a_list_is_within_the_profile),
        cmocka_unit_test(refuses_what_is_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
