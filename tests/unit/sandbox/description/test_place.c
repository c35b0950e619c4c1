/* Places inside the sandbox, as paths. */
#include "sandbox/description/place.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <string.h>

static void a_plain_path_is_absolute_and_has_no_other_name(void **state)
{
    static const char *const plain[] = {"/a", "/a/b", "/.a", "/a../..b",
                                        "/a/..."};
    static const char *const others[] = {
        "",    "/",    "a",    "a/b",   "./a",   "//a",    "/a//b",
        "/a/", "/./a", "/a/.", "/../a", "/a/..", "/a/../b"};
    char longest[PATH_MAX + 1];

    (void) state;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        assert_true(place_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(place_is_plain(others[i]));
    memset(longest, 'a', sizeof longest);
    longest[0] = '/';
    longest[PATH_MAX] = '\0';
    assert_false(place_is_plain(longest));
    longest[PATH_MAX - 1] = '\0';
    assert_true(place_is_plain(longest));
}

static void a_place_is_in_a_folder_by_whole_names(void **state)
{
    (void) state;
    assert_true(place_is_beneath("/usr", "/usr"));
    assert_true(place_is_beneath("/usr/lib", "/usr"));
    assert_false(place_is_beneath("/usr", "/usr/lib"));
    assert_false(place_is_beneath("/usrlocal", "/usr"));
    assert_true(place_overlaps("/usr", "/usr/lib"));
    assert_true(place_overlaps("/usr/lib", "/usr"));
    assert_false(place_overlaps("/usr/lib", "/usr/libexec"));
}

static void some_places_are_the_sandboxs_own(void **state)
{
    static const char *const own[] = {
        "",     "/dev", "/dev/sda",   "/proc/1",    "/sys",        "/etc",
        "/run", "/tmp", "/var/tmp/a", "/workspace", "/workspace/a"};
    static const char *const others[] = {"/usr",       "/etc/fonts", "/run/a",
                                         "/tmp/a",     "/var",       "/device",
                                         "/workspaces"};

    (void) state;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_true(place_is_own(own[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(place_is_own(others[i]));
}

static void finds_what_is_in_the_way_of_a_mount(void **state)
{
    (void) state;
    assert_string_equal(place_find_own("/etc/fonts"), "/etc");
    assert_string_equal(place_find_own("/workspace/data"), "/workspace");
    assert_string_equal(place_find_own("/var"), "/var/tmp");
    assert_null(place_find_own("/data"));
    assert_null(place_find_own("/etcetera"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_path_is_absolute_and_has_no_other_name),
        cmocka_unit_test(a_place_is_in_a_folder_by_whole_names),
        cmocka_unit_test(some_places_are_the_sandboxs_own),
        cmocka_unit_test(finds_what_is_in_the_way_of_a_mount),
    };

    return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
