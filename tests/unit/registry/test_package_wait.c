/* Requests that wait for the packages of their profile, and how they go on.
 * Sessions and zygotes are records. */
#include "gateway/registry/sessions/package_wait.h"

#include "gateway/registry/core/stats.h"
#include "gateway/registry/sessions/create.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#define DID(text)     assert_string_equal(deeds_take(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

static void ask(void)
{
    rig_create("{}");
}

static size_t waiting(const registry_parts_t *parts)
{
    return package_wait_size(parts->package_wait);
}

/* The profile's packages are there, or cannot be had. */
static void go_on(const registry_parts_t *parts)
{
    rig_outside.preparing = NULL;
    package_wait_go_on(parts->package_wait, &fake_profile);
}

static void a_request_waits_for_the_packages_of_its_profile(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask();
    ask();
    DID("");
    ANSWERS("");
    assert_int_equal(waiting(parts), 2);
    create_next(parts->create);
    DID("");
    go_on(parts);
    DID("start s1 for uid=7; launch s1; start s2 for uid=7; launch s2");
    assert_int_equal(waiting(parts), 0);
}

/* Also when they are more than may be alive, or than may wait. */
static void those_that_wait_for_packages_take_no_place(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.sessions_max = 3;
    fake_options.starts_queue = 3;
    fake_options.starts_max = 1;
    rig_outside.preparing = &fake_profile;
    for (int i = 0; i < 4; i++)
        ask();
    ANSWERS("GatewayBusy");
    assert_int_equal(waiting(parts), 3);
    rig_outside.preparing = NULL;
    ask();
    ask();
    DID("start s1 for uid=7; launch s1");
    ANSWERS("");
    /* One place is left. */
    go_on(parts);
    ANSWERS("TooManySessions TooManySessions");
    assert_int_equal(rig_count_limit(STATS_SESSIONS), 2);
    assert_int_equal(create_waiting(parts->create), 2);
    ask();
    ANSWERS("TooManySessions");
}

static void others_pass_those_that_wait_for_packages(void **state)
{
    const registry_parts_t *parts = *state;
    profile_t another = {0};

    rig_outside.preparing = &fake_profile;
    ask();
    rig_outside.preparing = &another;
    ask();
    DID("start s1 for uid=7; launch s1");
    package_wait_go_on(parts->package_wait, &another);
    DID("");
    go_on(parts);
    DID("start s2 for uid=7; launch s2");
}

static void packages_that_cannot_be_had_are_an_error(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask();
    rig_outside.lacks_packages = "packages/preinstall: no";
    go_on(parts);
    ANSWERS("SessionNotStarted");
    ask();
    ANSWERS("SessionNotStarted");
    DID("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_waits_for_the_packages_of_its_profile),
        TEST(those_that_wait_for_packages_take_no_place),
        TEST(others_pass_those_that_wait_for_packages),
        TEST(packages_that_cannot_be_had_are_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
