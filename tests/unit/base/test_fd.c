#include "base/fd.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void replaces_a_file_and_reads_it_back(void **state)
{
    (void) state;
    cleanup_free char *path = inside("key");
    fault_t fault;
    assert_int_equal(file_write_atomic(path, 0600, "old", 3, &fault), 0);
    assert_int_equal(file_write_atomic(path, 0600, "newer", 5, &fault), 0);

    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    buffer_text(&content, "before ");
    assert_int_equal(file_read(path, 5, &content, &fault), 0);
    assert_string_equal((char *) content.data, "before newer");

    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

static void alternate(const char *path, const char *spare, const char *text)
{
    fault_t fault;
    assert_int_equal(
        file_alternate(path, spare, 0600, text, strlen(text), &fault), 0);
}

static ino_t inode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    return status.st_ino;
}

static void assert_content(const char *path, const char *expected)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;
    assert_int_equal(file_read(path, 100, &content, &fault), 0);
    assert_string_equal((char *) content.data, expected);
}

static void two_files_take_turns(void **state)
{
    (void) state;
    cleanup_free char *path = inside("turns");
    cleanup_free char *spare = inside("turns.before");
    alternate(path, spare, "first, and long");
    assert_int_equal(access(spare, F_OK), -1);
    ino_t first = inode_of(path);
    alternate(path, spare, "second");
    assert_content(path, "second");
    assert_content(spare, "first, and long");
    ino_t second = inode_of(path);
    alternate(path, spare, "third");
    assert_content(path, "third");
    assert_content(spare, "second");
    assert_int_equal(inode_of(path), first);
    alternate(path, spare, "fourth");
    assert_int_equal(inode_of(path), second);
}

static void a_reader_of_the_old_file_is_not_disturbed(void **state)
{
    (void) state;
    cleanup_free char *path = inside("read");
    cleanup_free char *spare = inside("read.before");
    char text[8] = "";
    alternate(path, spare, "one");
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    alternate(path, spare, "two");
    alternate(path, spare, "three");
    assert_content(path, "three");
    assert_content(spare, "two");
    assert_int_equal(read(fd, text, sizeof text - 1), 3);
    assert_string_equal(text, "one");
}

static void refuses_a_file_that_is_too_large(void **state)
{
    (void) state;
    cleanup_free char *path = inside("large");
    fault_t fault;
    assert_int_equal(file_write_atomic(path, 0600, "12345", 5, &fault), 0);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    assert_int_equal(file_read(path, 4, &content, &fault), -EFBIG);
    assert_int_equal(content.size, 0);
}

static void names_the_file_that_is_missing(void **state)
{
    (void) state;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;
    assert_int_equal(file_read("/nowhere/x", 4, &content, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nowhere/x"));
    assert_int_equal(file_write_atomic("/nowhere/x", 0600, "", 0, &fault),
                     -ENOENT);
    assert_non_null(strstr(fault.text, "/nowhere/x"));
}

static void leaves_nothing_beside_a_failed_write(void **state)
{
    (void) state;
    cleanup_free char *path = inside("taken");
    cleanup_free char *occupant = inside("taken/by-a-file");
    fault_t fault;
    assert_int_equal(path_make_folders(path, 0700, &fault), 0);
    assert_int_equal(file_write_atomic(occupant, 0600, "x", 1, &fault), 0);
    assert_true(file_write_atomic(path, 0600, "x", 1, &fault) < 0);
    assert_int_equal(unlink(occupant), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else is there */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void removes_files_of_a_killed_writer(void **state)
{
    (void) state;
    cleanup_free char *path = inside("key");
    cleanup_free char *left = inside("key.a1B2c3");
    cleanup_free char *other = inside("key.backup-of-mine");
    fault_t fault;
    assert_int_equal(file_write_atomic(path, 0600, "x", 1, &fault), 0);
    assert_int_equal(file_write_atomic(left, 0600, "x", 1, &fault), 0);
    assert_int_equal(file_write_atomic(other, 0600, "x", 1, &fault), 0);
    file_sweep_beside(path);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(other), 0);
}

static void makes_all_folders_of_a_path(void **state)
{
    (void) state;
    cleanup_free char *path = inside("a//b/c/");
    fault_t fault;
    assert_int_equal(path_make_folders(path, 0750, &fault), 0);
    assert_int_equal(path_make_folders(path, 0750, &fault), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);

    cleanup_free char *file = inside("file");
    cleanup_free char *below = inside("file/d");
    assert_int_equal(file_write_atomic(file, 0600, "", 0, &fault), 0);
    assert_int_equal(path_make_folders(below, 0750, &fault), -ENOTDIR);
    assert_int_equal(path_make_folders(file, 0750, &fault), -ENOTDIR);
}

static void passes_descriptors(void **state)
{
    (void) state;
    int pair[2];
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    cleanup_fd int left = pair[0];
    cleanup_fd int right = pair[1];
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int sent[] = {null, null};
    fault_t fault;
    assert_int_equal(fd_send(left, "hello", 5, sent, 2, &fault), 0);
    close(null);

    char text[16];
    fd_list_t list = {.count = 0};
    assert_int_equal(fd_receive(right, text, sizeof text, 4, &list, &fault), 5);
    assert_int_equal(list.count, 2);
    assert_true(fcntl(list.fds[0], F_GETFD) & FD_CLOEXEC);
    close(list.fds[0]);
    close(list.fds[1]);

    assert_int_equal(fd_set_nonblocking(right, &fault), 0);
    assert_int_equal(fd_receive(right, text, sizeof text, 4, &list, &fault),
                     -EAGAIN);
    close(take_fd(&left));
    assert_int_equal(fd_receive(right, text, sizeof text, 4, &list, &fault), 0);
}

static int open_count(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            count++;
    return count;
}

static void keeps_no_descriptor_of_too_many(void **state)
{
    (void) state;
    int pair[2];
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    cleanup_fd int left = pair[0];
    cleanup_fd int right = pair[1];
    const int sent[FD_PASS_MAX] = {0, 0, 0, 0, 0, 0, 0, 0};
    fault_t fault;
    char text[4];
    fd_list_t list = {.count = 7};
    int before = open_count();

    assert_int_equal(fd_send(left, "x", 1, sent, 3, &fault), 0);
    assert_int_equal(fd_receive(right, text, sizeof text, 2, &list, &fault),
                     -EPROTO);
    assert_int_equal(fd_send(left, "too long", 8, sent, 2, &fault), 0);
    assert_int_equal(fd_receive(right, text, sizeof text, 2, &list, &fault),
                     -EPROTO);
    assert_int_equal(list.count, 7);
    assert_int_equal(open_count(), before);
}

static void listens_and_connects(void **state)
{
    (void) state;
    cleanup_free char *path = inside("link.sock");
    cleanup_fd int listener = -1;
    cleanup_fd int stale = -1;
    cleanup_fd int connected = -1;
    fault_t fault;
    assert_int_equal(fd_connect_unix(path, &connected, &fault), -ENOENT);
    assert_int_equal(fd_listen_unix(path, &stale, &fault), 0);
    assert_int_equal(fd_listen_unix(path, &listener, &fault), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);

    assert_int_equal(fd_connect_unix(path, &connected, &fault), 0);
    cleanup_fd int accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(accepted >= 0);
    assert_int_equal(fd_write_all(connected, "ping", 4, &fault), 0);
    char text[4];
    assert_int_equal(read(accepted, text, sizeof text), 4);
    close(take_fd(&accepted));
    assert_int_equal(fd_write_all(connected, "x", 1, &fault), -EPIPE);
}

static void says_that_a_socket_path_is_too_long(void **state)
{
    (void) state;
    char path[140];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    int fd = -1;
    fault_t fault;
    assert_int_equal(fd_listen_unix(path, &fd, &fault), -ENAMETOOLONG);
    assert_non_null(strstr(fault.text, "107"));
    assert_int_equal(fd, -1);
}

static void does_not_listen_in_place_of_a_file(void **state)
{
    (void) state;
    cleanup_free char *path = inside("precious");
    int fd = -1;
    fault_t fault;
    assert_int_equal(file_write_atomic(path, 0600, "x", 1, &fault), 0);
    assert_int_equal(fd_listen_unix(path, &fd, &fault), -EEXIST);
    assert_int_equal(access(path, F_OK), 0);
}

static void removes_folders_made_unreadable(void **state)
{
    (void) state;
    fault_t fault;
    cleanup_free char *kept = inside("kept");
    cleanup_free char *top = inside("top");
    cleanup_free char *link = inside("top/link");
    cleanup_free char *closed = inside("top/closed/inner/inner");
    cleanup_free char *lid = inside("top/closed");
    cleanup_free char *inner_lid = inside("top/closed/inner");
    assert_int_equal(file_write_atomic(kept, 0600, "x", 1, &fault), 0);
    assert_int_equal(path_make_folders(closed, 0700, &fault), 0);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(chmod(inner_lid, 0), 0);
    assert_int_equal(chmod(lid, 0), 0);

    assert_int_equal(path_remove_tree(top, &fault), 0);
    assert_int_equal(access(top, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(path_remove_tree(top, &fault), 0);

    /* A link in the folder's own place. */
    assert_int_equal(symlink(folder, top), 0);
    assert_int_equal(path_remove_tree(top, &fault), 0);
    assert_int_equal(access(kept, F_OK), 0);
}

static void removes_a_tree_deeper_than_a_path(void **state)
{
    (void) state;
    fault_t fault;
    cleanup_free char *top = inside("deep");
    assert_int_equal(mkdir(top, 0700), 0);
    cleanup_fd int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int depth = 0; depth < 5000; depth++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        assert_int_equal(mkdirat(fd, ".removed-1", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    assert_int_equal(path_remove_tree(top, &fault), 0);
    assert_int_equal(access(top, F_OK), -1);
}

static void names_the_last_part_of_a_path(void **state)
{
    (void) state;
    assert_string_equal(path_name("/a/b"), "b");
    assert_string_equal(path_name("a"), "a");
    assert_string_equal(path_name("a/"), "");
    assert_string_equal(path_name(""), "");
}

static void a_scope_closes_its_folder_and_file(void **state)
{
    size_t before = open_files();

    (void) state;
    {
        cleanup_dir DIR *root = opendir("/");
        cleanup_dir DIR *none = NULL;
        cleanup_file FILE *file = fopen("/dev/null", "re");
        cleanup_file FILE *no_file = NULL;
        assert_non_null(root);
        assert_non_null(file);
        assert_null(none);
        assert_null(no_file);
        assert_int_equal(open_files(), before + 2);
    }
    assert_int_equal(open_files(), before);
}

int main(void)
{
    /* A test writes to a closed socket. */
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_a_file_and_reads_it_back),
        cmocka_unit_test(two_files_take_turns),
        cmocka_unit_test(a_reader_of_the_old_file_is_not_disturbed),
        cmocka_unit_test(refuses_a_file_that_is_too_large),
        cmocka_unit_test(names_the_file_that_is_missing),
        cmocka_unit_test(makes_all_folders_of_a_path),
        cmocka_unit_test(names_the_last_part_of_a_path),
        cmocka_unit_test(passes_descriptors),
        cmocka_unit_test(keeps_no_descriptor_of_too_many),
        cmocka_unit_test(a_scope_closes_its_folder_and_file),
        cmocka_unit_test(listens_and_connects),
        cmocka_unit_test(says_that_a_socket_path_is_too_long),
        cmocka_unit_test(does_not_listen_in_place_of_a_file),
        cmocka_unit_test(removes_folders_made_unreadable),
        cmocka_unit_test(removes_a_tree_deeper_than_a_path),
        cmocka_unit_test_setup_teardown(removes_files_of_a_killed_writer,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(leaves_nothing_beside_a_failed_write,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
