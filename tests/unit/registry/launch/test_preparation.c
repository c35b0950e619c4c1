/* When a profile's preinstalled packages are asked for. */
#include "gateway/registry/launch/preparation.h"

#include "tests/lib/test.h"

static char one[] = "a>=1", two[] = "b";
static char *first[] = {one, NULL}, *second[] = {one, two, NULL},
            *none[] = {NULL};
static profile_t profile;

static int begin(void **state)
{
    profile.packages.preinstall = first;
    *state = preparation_new(&profile);
    return 0;
}

static int end(void **state)
{
    preparation_t *self = *state;

    preparation_destroy(&self);
    return 0;
}

/* As an example of use. */
static void they_are_asked_for_once(void **state)
{
    preparation_t *self = *state;

    assert_true(preparation_start(self));
    assert_true(preparation_is_running(self));
    assert_null(preparation_folder(self));
    preparation_on_folder(self, "/k/1", NULL);
    assert_false(preparation_is_running(self));
    assert_false(preparation_is_outdated(self));
    assert_string_equal(preparation_folder(self), "/k/1");
    assert_false(preparation_start(self));
    preparation_forget(self);
    assert_true(preparation_start(self));
}

static void a_profile_without_packages_needs_none(void **state)
{
    preparation_t *self = *state;

    profile.packages.preinstall = none;
    assert_false(preparation_is_outdated(self));
    assert_false(preparation_start(self));
    assert_false(preparation_is_running(self));
    profile.packages.preinstall = NULL;
    assert_false(preparation_start(self));
}

static void another_list_is_outdated(void **state)
{
    preparation_t *self = *state;

    (void) preparation_start(self);
    preparation_on_folder(self, "/k/1", NULL);
    profile.packages.preinstall = second;
    assert_true(preparation_is_outdated(self));
    preparation_forget(self);
    (void) preparation_start(self);
    assert_false(preparation_is_outdated(self));
    profile.packages.preinstall = none;
    assert_true(preparation_is_outdated(self));
    preparation_forget(self);
    assert_false(preparation_is_running(self));
    assert_false(preparation_start(self));
    assert_false(preparation_is_outdated(self));
}

static void what_cannot_be_had_is_asked_for_again(void **state)
{
    preparation_t *self = *state;

    (void) preparation_start(self);
    preparation_on_fault(self);
    assert_false(preparation_is_running(self));
    assert_true(preparation_is_vain(self));
    assert_true(preparation_is_outdated(self));
    assert_true(preparation_start(self));
    assert_false(preparation_is_vain(self));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_are_asked_for_once),
        TEST(a_profile_without_packages_needs_none),
        TEST(another_list_is_outdated),
        TEST(what_cannot_be_had_is_asked_for_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
