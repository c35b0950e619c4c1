/* Tools that a profile permits, and the setting that a refusal names. */
#include "gateway/session/tools/tool_policy.h"

#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static char name[] = "lab";

/* Checks an offer of tools by a profile that permits `allowed`. Returns the
 * sentence of the refusal, lent; NULL if they are permitted. */
static const char *check(bool gives_tools, char **allowed, const char *tools)
{
    static fault_t fault;
    profile_t profile = {
        .name = name, .gives_tools = gives_tools, .tools = allowed};
    cleanup_tool_offer tool_offer_t *offer = NULL;
    int r;

    assert_int_equal(tool_offer_read(text_bytes(tools), &offer, &fault), 0);
    r = tool_policy_check(&profile, offer, &fault);
    if (r == 0)
        return NULL;
    assert_int_equal(r, -EPERM);
    return fault.text;
}

static void a_profile_without_tools_permits_none(void **state)
{
    (void) state;
    assert_string_equal(check(false, NULL, "[{\"name\":\"t\"}]"),
                        "host tools are off in the profile lab "
                        "(profile/lab/tools/enabled)");
    assert_non_null(check(false, NULL, "[]"));
}

static void without_a_list_all_are_permitted(void **state)
{
    static char *nothing[] = {NULL};

    (void) state;
    assert_null(check(true, NULL, "[{\"name\":\"t\"},{\"name\":\"u\"}]"));
    assert_null(check(true, nothing, "[{\"name\":\"t\"}]"));
}

static void a_listed_name_is_that_tool_alone(void **state)
{
    static char first[] = "read", second[] = "write";
    static char *allowed[] = {first, second, NULL};

    (void) state;
    assert_null(
        check(true, allowed, "[{\"name\":\"write\"},{\"name\":\"read\"}]"));
    assert_null(check(true, allowed, "[]"));
    assert_string_equal(check(true, allowed, "[{\"name\":\"reads\"}]"),
                        "the profile lab does not permit the tool `reads` "
                        "(profile/lab/tools/allow)");
    assert_non_null(check(true, allowed, "[{\"name\":\"rea\"}]"));
}

static void a_star_is_every_ending(void **state)
{
    static char beginning[] = "web.*";
    static char *allowed[] = {beginning, NULL};

    (void) state;
    assert_null(
        check(true, allowed, "[{\"name\":\"web.\"},{\"name\":\"web.get\"}]"));
    assert_non_null(check(true, allowed, "[{\"name\":\"web\"}]"));
    assert_non_null(check(true, allowed, "[{\"name\":\"xweb.get\"}]"));
}

static void one_that_is_not_permitted_refuses_the_offer(void **state)
{
    static char only[] = "a";
    static char *allowed[] = {only, NULL};

    (void) state;
    assert_string_equal(
        check(true, allowed, "[{\"name\":\"a\"},{\"name\":\"b\"}]"),
        "the profile lab does not permit the tool `b` "
        "(profile/lab/tools/allow)");
}

static void a_session_may_call_what_both_lists_have(void **state)
{
    static char first[] = "read", second[] = "write", own[] = "read, drop";
    static char *allowed[] = {first, second, NULL};
    profile_t profile = {.name = name, .tools = allowed};
    session_spec_t spec = {.profile = &profile};

    (void) state;
    assert_true(tool_policy_permits(&spec, "read"));
    assert_true(tool_policy_permits(&spec, "write"));
    assert_false(tool_policy_permits(&spec, "drop"));
    spec.asked.tools = own;
    assert_true(tool_policy_permits(&spec, "read"));
    assert_false(tool_policy_permits(&spec, "write"));
    assert_false(tool_policy_permits(&spec, "drop"));
}

/* Asserts the sentence for a session with a list of its own, or the
 * profile's. */
static void assert_refusal(char *own, char **allowed, const char *expected)
{
    profile_t profile = {.name = name, .tools = allowed};
    session_spec_t spec = {.profile = &profile, .asked.tools = own};
    cleanup_free char *sentence = tool_policy_refusal(&spec);

    assert_string_equal(sentence, expected);
}

static void a_refusal_names_what_may_be_called(void **state)
{
    static char first[] = "read", second[] = "write", own[] = "a, b.*";
    static char none[] = "";
    static char *allowed[] = {first, second, NULL}, *nothing[] = {NULL};
    const char *without = "this session may call no host tool: it was created "
                          "without any";

    (void) state;
    assert_refusal(own, allowed,
                   "this session may not call it; it may call: a, b.*");
    assert_refusal(NULL, allowed,
                   "this session may not call it; it may call: read, write");
    assert_refusal(none, allowed, without);
    assert_refusal(NULL, nothing, without);
    assert_refusal(NULL, NULL, without);
}

/* Asserts what a refusal has of a list whose first name is so long. */
static void assert_shown(int length, const char *rest, const char *expected)
{
    cleanup_free char *own = mem_format("%0*d%s", length, 0, rest);
    cleanup_free char *sentence =
        mem_format("this session may not call it; it may call: %0*d%s", length,
                   0, expected);

    assert_refusal(own, NULL, sentence);
}

/* 1024 bytes of names are shown. */
static void a_long_list_ends_at_a_name(void **state)
{
    (void) state;
    assert_shown(1021, ", b", ", b");
    assert_shown(1021, ", bc", ", and more");
    assert_shown(1016, ", b, c, d", ", b, c, and more");
    assert_shown(1024, ", b", ", and more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_tools_permits_none),
        cmocka_unit_test(without_a_list_all_are_permitted),
        cmocka_unit_test(a_listed_name_is_that_tool_alone),
        cmocka_unit_test(a_star_is_every_ending),
        cmocka_unit_test(one_that_is_not_permitted_refuses_the_offer),
        cmocka_unit_test(a_session_may_call_what_both_lists_have),
        cmocka_unit_test(a_refusal_names_what_may_be_called),
        cmocka_unit_test(a_long_list_ends_at_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
