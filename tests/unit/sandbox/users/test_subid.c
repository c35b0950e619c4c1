/* Which range of numbers subuid(5) and subgid(5) lend to a user. */
#include "sandbox/users/subid.h"

#include "tests/lib/test.h"

#include <unistd.h>

static void check(const char *users, const char *groups, uint64_t first,
                  uint64_t count)
{
    subid_t found = subid_common(users, groups, "ann", 1234);

    assert_int_equal(found.count, count);
    if (count != 0)
        assert_int_equal(found.first, first);
}

static void finds_by_name_and_by_number(void **state)
{
    (void) state;
    check("ann:100000:65536\n", "ann:100000:65536\n", 100000, 65536);
    check("1234:100000:65536", "ann:100000:65536", 100000, 65536);
    check("bob:1:5\n\nann:100000:10\n", "# a\nann:100000:10\n", 100000, 10);
    check("anna:100000:65536\n", "ann:100000:65536\n", 0, 0);
    check("an:100000:65536\n", "ann:100000:65536\n", 0, 0);
    check("12345:100000:65536\n", "ann:100000:65536\n", 0, 0);
    check("", "", 0, 0);
}

static void uses_ids_lent_for_users_and_groups(void **state)
{
    (void) state;
    check("ann:100000:65536\n", "ann:150000:65536\n", 150000, 15536);
    check("ann:150000:100\n", "ann:100000:65536\n", 150000, 100);
    check("ann:100000:50000\n", "ann:150000:65536\n", 0, 0);
    /* The longest of several. */
    check("ann:100000:10\nann:200000:30\nann:300000:20\n",
          "ann:300000:20\nann:100000:10\nann:200005:30\n", 200005, 25);
}

static void skips_invalid_lines(void **state)
{
    static const char *const lines[] = {
        "ann:0:65536\n",   /* root's */
        "ann:999:65536\n", /* the system's */
        "ann:100000:0\n",     "ann:100000\n",           "ann\n", "ann::65536\n",
        "ann:4294967295:1\n", "ann:100000:4294967295\n" /* past the last number
                                                         */
    };

    (void) state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(lines[i], lines[i], 0, 0);
    /* As many as gateway/uid_count may be. */
    check("ann:100000:99999999\n", "ann:100000:99999999\n", 100000,
          UINT64_C(1) << 24);
}

static void knows_what_a_map_covers(void **state)
{
    static const char pod[] = "         0     400000      65536\n"
                              "    100000     900000         10\n";
    subid_t longest = {0, 0};

    (void) state;
    assert_true(subid_covers(pod, (subid_t){2000, 60000}));
    assert_true(subid_covers(pod, (subid_t){0, 65536}));
    assert_true(subid_covers(pod, (subid_t){100009, 1}));
    assert_false(subid_covers(pod, (subid_t){2000, 65536}));
    assert_false(subid_covers(pod, (subid_t){1879048192, 65536}));
    assert_false(subid_covers(pod, (subid_t){65535, 2}));
    assert_false(subid_covers(pod, (subid_t){99999, 2}));
    assert_false(subid_covers("", (subid_t){2000, 1}));
    assert_true(subid_is_mapped((subid_t){geteuid(), 1}, &longest));
    assert_false(subid_is_mapped((subid_t){UINT64_C(1) << 33, 1}, &longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_name_and_by_number),
        cmocka_unit_test(uses_ids_lent_for_users_and_groups),
        cmocka_unit_test(skips_invalid_lines),
        cmocka_unit_test(knows_what_a_map_covers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
