/* The folder of a worker of downloads as it is found. */
#include "gateway/config/worker_place.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER ((uid_t) 54321)
#define KEY      "some/key"

static void HAS(const fault_t *fault, const char *words)
{
    if (!strstr(fault->text, words))
        fail_msg("%s: %s", words, fault->text);
}

static void make(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void accepts_a_folder_of_the_user_alone(void **state)
{
    cleanup_free char *path = inside("p");
    fault_t fault;

    (void) state;
    assert_int_equal(worker_place_check(KEY, path, geteuid(), &fault), -ENOENT);
    HAS(&fault, KEY ": /");
    HAS(&fault, path);
    make(path, 0311);
    assert_int_equal(worker_place_check(KEY, path, geteuid(), &fault), 0);
    assert_int_equal(worker_place_check(KEY, path, geteuid() + 1, &fault),
                     -EPERM);
    HAS(&fault, KEY ": /");
    HAS(&fault, "belongs to user");
    HAS(&fault, "set " KEY " to another folder");
}

static void refuses_what_others_can_write(void **state)
{
    static const mode_t modes[] = {0720, 0702, 01777};
    cleanup_free char *path = inside("p");
    fault_t fault;

    (void) state;
    make(path, 0711);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(worker_place_check(KEY, path, geteuid(), &fault),
                         -EPERM);
        HAS(&fault, KEY ": other users");
        HAS(&fault, "chmod go-w");
    }
}

static void refuses_what_is_no_folder(void **state)
{
    cleanup_free char *path = inside("p");
    fault_t fault;

    (void) state;
    assert_int_equal(symlink(folder, path), 0);
    assert_int_equal(worker_place_check(KEY, path, geteuid(), &fault),
                     -ENOTDIR);
    HAS(&fault, KEY ": /");
    HAS(&fault, "is not a folder; remove it, or set " KEY);
}

static void names_the_folder_that_bars_the_way(void **state)
{
    cleanup_free char *outer = inside("a");
    cleanup_free char *path = inside("a/b");
    fault_t fault;

    (void) state;
    assert_int_equal(chmod(folder, 0711), 0);
    make(outer, 0700);
    make(path, 0711);
    assert_int_equal(worker_place_reach(KEY, path, geteuid(), &fault), 0);
    assert_int_equal(worker_place_reach(KEY, path, STRANGER, &fault), -EACCES);
    HAS(&fault, KEY ": user 54321, who runs downloads, cannot enter");
    HAS(&fault, "/a; run `chmod o+x");
    assert_int_equal(chmod(outer, 0701), 0);
    assert_int_equal(worker_place_reach(KEY, path, STRANGER, &fault), 0);
    assert_int_equal(chmod(path, 0710), 0);
    assert_int_equal(worker_place_reach(KEY, path, STRANGER, &fault), -EACCES);
    HAS(&fault, "/a/b; run");
    HAS(&fault, "or set " KEY " to");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(accepts_a_folder_of_the_user_alone),
        TEST(refuses_what_others_can_write),
        TEST(refuses_what_is_no_folder),
        TEST(names_the_folder_that_bars_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
