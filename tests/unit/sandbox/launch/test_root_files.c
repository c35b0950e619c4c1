/* The files of a private root, made in a folder of the test. */
#include "sandbox/launch/root_files.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int root;

static int make_root(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? -1 : 0;
}

static int remove_root(void **state)
{
    close(root);
    return remove_folder(state);
}

static mode_t mode_of(const char *name)
{
    struct stat seen;

    assert_int_equal(fstatat(root, name, &seen, AT_SYMLINK_NOFOLLOW), 0);
    return seen.st_mode;
}

static void expect_text(const char *name, const char *text)
{
    cleanup_free char *path = inside(name);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    assert_int_equal(file_read(path, 4096, &content, &fault), 0);
    buffer_append(&content, "", 1);
    assert_string_equal((const char *) content.data, text);
}

static void expect_link(const char *name, const char *target)
{
    char text[64] = "";

    assert_true(readlinkat(root, name, text, sizeof text - 1) >= 0);
    assert_string_equal(text, target);
}

static void makes_what_programs_look_for(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(root_files_make(root, "0-3\n", &fault), 0);
    assert_int_equal(mode_of("workspace"), S_IFDIR | 0755);
    assert_int_equal(mode_of("dev/shm"), S_IFDIR | 0755);
    assert_int_equal(mode_of("etc/passwd"), S_IFREG | 0644);
    expect_text("etc/resolv.conf", "");
    expect_text("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
    expect_text("sys/devices/system/cpu/online", "0-3\n");
    expect_link("dev/stdin", "/proc/self/fd/0");
    expect_link("var/tmp", "/tmp");
}

static void makes_the_folders_above_a_place(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(root_files_add_place(root, "/opt/a/b", true, &fault), 0);
    assert_int_equal(mode_of("opt/a/b"), S_IFDIR | 0755);
    assert_int_equal(root_files_add_place(root, "/opt/c/file", false, &fault),
                     0);
    expect_text("opt/c/file", "");
    assert_int_equal(root_files_add_link(root, "/lib/d/link", "../x", &fault),
                     0);
    expect_link("lib/d/link", "../x");
}

static void keeps_a_place_that_exists(void **state)
{
    cleanup_free char *path = inside("file");
    fault_t fault;

    (void) state;
    assert_int_equal(file_replace(path, 0600, "text", 4, &fault), 0);
    assert_int_equal(root_files_add_place(root, "/file", false, &fault), 0);
    expect_text("file", "text");
    assert_int_equal(root_files_add_place(root, "/a", true, &fault), 0);
    assert_int_equal(root_files_add_place(root, "/a", true, &fault), 0);
}

static void follows_no_link_to_a_place(void **state)
{
    cleanup_free char *outside = inside("outside");
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(root_files_add_link(root, "/link", outside, &fault), 0);
    assert_int_equal(root_files_add_place(root, "/link", false, &fault),
                     -ELOOP);
    assert_string_equal(fault.text, "/link: Too many levels of symbolic links");
    assert_int_equal(faccessat(root, "outside", F_OK, 0), -1);
}

static void names_the_place_that_cannot_be_made(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(root_files_add_place(root, "/file", false, &fault), 0);
    assert_int_equal(root_files_add_place(root, "/file/below", true, &fault),
                     -ENOTDIR);
    assert_string_equal(fault.text, "/file/below: Not a directory");
    assert_int_equal(root_files_add_link(root, "/file", "x", &fault), -EEXIST);
}

#define IN_ROOT(test)                                                          \
    cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_ROOT(makes_what_programs_look_for),
        IN_ROOT(makes_the_folders_above_a_place),
        IN_ROOT(keeps_a_place_that_exists),
        IN_ROOT(follows_no_link_to_a_place),
        IN_ROOT(names_the_place_that_cannot_be_made),
    };

    return cmocka_run_group_tests_name("root_files", tests, NULL, NULL);
}
