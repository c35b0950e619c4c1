/* Tools that a profile permits, and the setting that a refusal names. */
#include "gateway/session/tools/tool_policy.h"

#include "tests/lib/test.h"

#include <errno.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_tools_permits_none),
        cmocka_unit_test(without_a_list_all_are_permitted),
        cmocka_unit_test(a_listed_name_is_that_tool_alone),
        cmocka_unit_test(a_star_is_every_ending),
        cmocka_unit_test(one_that_is_not_permitted_refuses_the_offer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
