/* Which folders are this user's alone, and which paths another user could lead
 * elsewhere. */
#include "gateway/discovery/private_folder.h"

#include "base/fd.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_mode(const char *name, mode_t mode)
{
    cleanup_free char *path = inside(name);
    struct stat about;

    assert_int_equal(lstat(path, &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | mode);
}

static void assert_refused(const char *path, int code, const char *word)
{
    int opened = -1;
    fault_t fault;

    assert_int_equal(private_folder_check(path, &fault), -code);
    if (!strstr(fault.text, word))
        fail_msg("%s", fault.text);
    assert_int_equal(private_folder_open(path, false, &opened, &fault), -code);
    assert_int_equal(opened, -1);
}

static void refuses_a_folder_that_others_can_write(void **state)
{
    cleanup_free char *path = inside("runtime"), *file = inside("file");

    (void) state;
    assert_refused(path, ENOENT, "runtime");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_refused(path, EPERM, "chmod 700");
    assert_int_equal(chmod(path, 0702), 0);
    assert_refused(path, EPERM, "chmod 700");
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_refused(file, ENOTDIR, "Not a directory");
    assert_refused("/tmp", EPERM, geteuid() ? "belongs to user" : "chmod 700");
}

static void follows_a_link_of_this_user(void **state)
{
    cleanup_free char *path = inside("runtime"), *link = inside("link");
    cleanup_free char *below = inside("link/below");
    cleanup_fd int opened = -1;
    fault_t fault;

    (void) state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(private_folder_check(link, &fault), 0);
    assert_int_equal(private_folder_open(below, true, &opened, &fault), 0);
    assert_mode("runtime/below", 0700);
}

static void refuses_what_another_user_could_change(void **state)
{
    (void) state;
    if (geteuid() != 0)
        skip(); /* only root can give files to another user */
    cleanup_free char *path = inside("runtime"), *link = inside("link");
    cleanup_free char *below = inside("runtime/below"),
                      *deep = inside("link/a");
    cleanup_free char *made = inside("runtime/a");
    int opened = -1;
    fault_t fault;

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_refused(path, EPERM, "user 12345");
    assert_refused(below, EPERM, "user 12345");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(lchown(link, 12345, 12345), 0);
    assert_refused(link, EPERM, "user 12345");
    assert_int_equal(private_folder_open(deep, true, &opened, &fault), -EPERM);
    assert_int_equal(access(made, F_OK), -1);
}

#define in_folder(test)                                                        \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(refuses_a_folder_that_others_can_write),
        in_folder(follows_a_link_of_this_user),
        in_folder(refuses_what_another_user_could_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
