/* A workspace that its session has filled with traps. */
#include "base/fd.h"
#include "tests/lib/test.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static char folder[64];    /* workspace/ and outside/ are in it */
static int workspace = -1; /* as the gateway holds it */
static int inside = -1;    /* as the session may work in it */

static int make_tree(void **state)
{
    (void) state;
    fault_t fault;
    cleanup_free char *path = NULL, *secret = NULL;

    (void) snprintf(folder, sizeof folder, "/tmp/hearth-test-beneath-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    secret = mem_format("%s/outside", folder);
    if (file_replace(secret, 0600, "secret", 6, &fault) < 0)
        return -1;
    path = mem_format("%s/workspace", folder);
    if (mkdir(path, 0700) < 0 || beneath_root(path, &workspace, &fault) < 0)
        return -1;
    inside = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return inside < 0 ? -1 : 0;
}

static int remove_tree(void **state)
{
    (void) state;
    fault_t fault;

    close(workspace);
    close(inside);
    return path_remove_tree(folder, &fault);
}

static void put_file(const char *name, const char *text)
{
    cleanup_fd int fd =
        openat(inside, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Returns the result of beneath_file for a path: 0 and the text, or the error.
 */
static int read_file(const char *path, char ret_text[64])
{
    cleanup_fd int fd = -1;
    struct stat status;
    fault_t fault = {0};
    int r = beneath_file(workspace, path, &fd, &status, &fault);
    ssize_t size;

    assert_int_equal(fault.code, r < 0 ? -r : 0);
    if (r < 0)
        return r;
    size = read(fd, ret_text, 63);
    assert_true(size >= 0);
    ret_text[size] = '\0';
    return 0;
}

static void reads_a_file_in_a_folder(void **state)
{
    (void) state;
    char text[64];

    assert_int_equal(mkdirat(inside, "data", 0700), 0);
    put_file("data/one", "hello");
    assert_int_equal(read_file("data/one", text), 0);
    assert_string_equal(text, "hello");
    assert_int_equal(read_file("data/two", text), -ENOENT);
    assert_int_equal(read_file("data", text), -EISDIR);
}

static void follows_no_symbolic_link(void **state)
{
    (void) state;
    char text[64];

    assert_int_equal(symlinkat("/etc/passwd", inside, "absolute"), 0);
    assert_int_equal(symlinkat("../outside", inside, "relative"), 0);
    assert_int_equal(symlinkat("data/one", inside, "harmless"), 0);
    assert_int_equal(symlinkat("..", inside, "up"), 0);
    assert_int_equal(symlinkat("/proc/self/root", inside, "magic"), 0);
    assert_int_equal(read_file("absolute", text), -ELOOP);
    assert_int_equal(read_file("relative", text), -ELOOP);
    assert_int_equal(read_file("harmless", text), -ELOOP);
    assert_int_equal(read_file("up/outside", text), -ELOOP);
    assert_int_equal(read_file("magic/etc/passwd", text), -ELOOP);
}

static void opens_regular_files_only(void **state)
{
    (void) state;
    cleanup_fd int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[64];

    assert_int_equal(mkfifoat(inside, "fifo", 0600), 0);
    assert_int_equal(read_file("fifo", text), -EINVAL);
    (void) snprintf(address.sun_path, sizeof address.sun_path,
                    "%s/workspace/socket", folder);
    assert_int_equal(
        bind(listener, (struct sockaddr *) &address, sizeof address), 0);
    assert_int_equal(read_file("socket", text), -EINVAL);
    if (mknodat(inside, "null", S_IFCHR | 0600, 0x103) == 0)
        assert_int_equal(read_file("null", text), -EINVAL);
}

static void refuses_a_file_with_a_second_link(void **state)
{
    (void) state;
    cleanup_free char *outside = mem_format("%s/outside", folder);
    char text[64];

    assert_int_equal(linkat(AT_FDCWD, outside, inside, "hard", 0), 0);
    assert_int_equal(read_file("hard", text), -EMLINK);
    assert_int_equal(unlinkat(inside, "hard", 0), 0);
}

static void does_not_climb_out(void **state)
{
    (void) state;
    fault_t fault;
    int fd = -1;

    /* name_path refuses ".." before; here the kernel does. */
    assert_int_equal(
        beneath_open(workspace, "../outside", O_RDONLY, 0, &fd, &fault),
        -EXDEV);
    assert_int_equal(
        beneath_open(workspace, "/etc/passwd", O_RDONLY, 0, &fd, &fault),
        -EXDEV);
    assert_int_equal(fd, -1);
}

static void makes_removes_and_renames_beneath_alone(void **state)
{
    (void) state;
    struct stat status;
    fault_t fault;

    assert_int_equal(beneath_make_folder(workspace, "a/b/c", true, &fault), 0);
    assert_int_equal(beneath_make_folder(workspace, "a/b/c", true, &fault), 0);
    assert_int_equal(beneath_make_folder(workspace, "a", false, &fault),
                     -EEXIST);
    assert_int_equal(beneath_make_folder(workspace, "up/x", true, &fault),
                     -EEXIST); /* a link is in the way */
    assert_int_equal(beneath_make_folder(workspace, "up/x", false, &fault),
                     -ELOOP);
    put_file("a/b/c/file", "x");
    assert_int_equal(
        beneath_rename(workspace, "a/b/c/file", "a/moved", false, &fault), 0);
    assert_int_equal(
        beneath_rename(workspace, "a/moved", "data/one", false, &fault),
        -EEXIST);
    assert_int_equal(
        beneath_rename(workspace, "a/moved", "up/stolen", true, &fault),
        -ELOOP);
    assert_int_equal(beneath_remove(workspace, "up/outside", false, 0, &fault),
                     -ELOOP);
    assert_int_equal(beneath_remove(workspace, "a", false, 0, &fault),
                     -ENOTEMPTY);
    assert_int_equal(beneath_remove(workspace, "a", true, 5000, &fault), 0);
    assert_int_equal(beneath_stat(workspace, "a", &status, &fault), -ENOENT);
    assert_int_equal(beneath_remove(workspace, "", true, 5000, &fault),
                     -EINVAL);
    /* The link itself goes, not what it points to. */
    assert_int_equal(beneath_remove(workspace, "relative", true, 0, &fault), 0);
    assert_int_equal(
        fstatat(workspace, "../outside", &status, AT_SYMLINK_NOFOLLOW), 0);
}

/* A folder and a link to outside take turns under one name. */
static void *swap(void *stop)
{
    while (!atomic_load((atomic_bool *) stop)) {
        (void) renameat2(inside, "swap", inside, "trap", RENAME_EXCHANGE);
    }
    return NULL;
}

static void is_not_fooled_by_a_swap_on_the_way(void **state)
{
    (void) state;
    atomic_bool stop = false;
    pthread_t thread;
    char text[64];
    int read = 0, refused = 0;

    assert_int_equal(mkdirat(inside, "swap", 0700), 0);
    put_file("swap/outside", "decoy");
    assert_int_equal(symlinkat("..", inside, "trap"), 0);
    assert_int_equal(pthread_create(&thread, NULL, swap, &stop), 0);
    for (int i = 0; i < 20000 || !read || !refused; i++) {
        int r = read_file("swap/outside", text);

        if (r == 0)
            assert_string_equal(text, "decoy");
        else
            assert_true(r == -ELOOP || r == -ENOENT || r == -EAGAIN);
        read += r == 0;
        refused += r < 0;
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void finds_a_file_a_thousand_folders_down(void **state)
{
    (void) state;
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    struct stat status;
    fault_t fault;
    char text[64];

    for (int i = 0; i < 1000; i++)
        buffer_text(&path, "d/");
    path.data[path.size - 1] = '\0';
    assert_int_equal(
        beneath_make_folder(workspace, (char *) path.data, true, &fault), 0);
    path.data[path.size - 1] = '/';
    buffer_text(&path, "file");
    put_file((char *) path.data, "deep");
    assert_int_equal(read_file((char *) path.data, text), 0);
    assert_string_equal(text, "deep");
    assert_int_equal(beneath_remove(workspace, "d", true, 20000, &fault), 0);
    assert_int_equal(beneath_stat(workspace, "d", &status, &fault), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_in_a_folder),
        cmocka_unit_test(follows_no_symbolic_link),
        cmocka_unit_test(opens_regular_files_only),
        cmocka_unit_test(refuses_a_file_with_a_second_link),
        cmocka_unit_test(does_not_climb_out),
        cmocka_unit_test(makes_removes_and_renames_beneath_alone),
        cmocka_unit_test(is_not_fooled_by_a_swap_on_the_way),
        cmocka_unit_test(finds_a_file_a_thousand_folders_down),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
