/* Whose a workspace is, after untrusted code has arranged it. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "workspace/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FROM        100
#define TO          200
#define OTHER       300
#define PATIENCE_MS 60000
#define DEEP        200
#define FILES       64 /* in the folder that is raced for */
#define ROUNDS      20

static char top[64];

static char *at(const char *path)
{
    return mem_format("%s/%s", top, path);
}

static void make_folder(const char *path, uid_t uid)
{
    cleanup_free char *whole = at(path);

    assert_int_equal(mkdir(whole, 0700), 0);
    assert_int_equal(lchown(whole, uid, uid), 0);
}

static void make_file(const char *path, uid_t uid)
{
    cleanup_free char *whole = at(path);
    cleanup_fd int fd = open(whole, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, uid, uid), 0);
}

static void expect_owner(const char *path, uid_t uid)
{
    cleanup_free char *whole = at(path);
    struct stat about;

    assert_int_equal(lstat(whole, &about), 0);
    if (about.st_uid != uid || about.st_gid != uid)
        fail_msg("%s is %u's and %u's, not %u's", path, about.st_uid,
                 about.st_gid, uid);
}

static int begin(void **state)
{
    (void) state;
    memcpy(top, "/tmp/hearth-owner-XXXXXX", sizeof "/tmp/hearth-owner-XXXXXX");
    assert_non_null(mkdtemp(top));
    if (getuid() != 0)
        return 0;
    make_folder("work", FROM);
    make_file("outside", FROM);
    return 0;
}

static int end(void **state)
{
    fault_t fault;

    (void) state;
    return path_remove_tree(top, &fault);
}

static int give(fault_t *fault)
{
    cleanup_free char *work = at("work");

    return owner_change(work, FROM, TO, TO, PATIENCE_MS, fault);
}

static void need_root(void)
{
    if (getuid() != 0) {
        print_message("only root can give files away\n");
        skip();
    }
}

static void gives_files_of_the_user(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    make_folder("work/folder", FROM);
    make_file("work/folder/file", FROM);
    make_folder("work/theirs", OTHER);
    make_file("work/theirs/file", FROM);
    make_file("work/folder/theirs", OTHER);
    assert_int_equal(give(&fault), 0);
    expect_owner("work", TO);
    expect_owner("work/folder", TO);
    expect_owner("work/folder/file", TO);
    expect_owner("work/theirs", OTHER);
    expect_owner("work/theirs/file", TO);
    expect_owner("work/folder/theirs", OTHER);
}

static void follows_no_link(void **state)
{
    cleanup_free char *file = at("work/file"), *folder = at("work/folder");
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    assert_int_equal(symlink("../outside", file), 0);
    assert_int_equal(lchown(file, FROM, FROM), 0);
    make_folder("elsewhere", FROM);
    make_file("elsewhere/file", FROM);
    assert_int_equal(symlink("../elsewhere", folder), 0);
    assert_int_equal(lchown(folder, FROM, FROM), 0);
    assert_int_equal(give(&fault), 0);
    expect_owner("work/file", TO); /* the link itself */
    expect_owner("work/folder", TO);
    expect_owner("outside", FROM);
    expect_owner("elsewhere", FROM);
    expect_owner("elsewhere/file", FROM);
}

/* protected_hardlinks may be off: what another owns stays his by each name. */
static void leaves_hard_links_of_other_owners(void **state)
{
    cleanup_free char *theirs = at("theirs"), *name = at("work/name");
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    make_file("theirs", OTHER);
    assert_int_equal(link(theirs, name), 0);
    assert_int_equal(give(&fault), 0);
    expect_owner("theirs", OTHER);
    expect_owner("work/name", OTHER);
}

/* None of them is opened, which could wait for ever. */
static void waits_for_no_pipe_and_no_socket(void **state)
{
    cleanup_free char *pipe = at("work/pipe"), *name = at("work/socket");
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(mknod(name, S_IFSOCK | 0600, 0), 0);
    assert_int_equal(lchown(pipe, FROM, FROM), 0);
    assert_int_equal(lchown(name, FROM, FROM), 0);
    assert_int_equal(give(&fault), 0);
    expect_owner("work/pipe", TO);
    expect_owner("work/socket", TO);
}

static void reaches_deep_folders(void **state)
{
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    buffer_append(&path, "work", 5);
    for (int i = 0; i < DEEP; i++) {
        path.size--;
        buffer_append(&path, "/d", 3);
        make_folder((char *) path.data, FROM);
    }
    assert_int_equal(give(&fault), 0);
    expect_owner((char *) path.data, TO);
}

static void gives_up_in_time(void **state)
{
    cleanup_free char *work = at("work");
    fault_t fault = {0, ""};

    (void) state;
    need_root();
    make_file("work/file", FROM);
    assert_int_equal(owner_change(work, FROM, TO, TO, -1, &fault), -ETIMEDOUT);
    assert_non_null(strstr(fault.text, "not all of"));
    expect_owner("work/file", FROM);
}

/* Another process exchanges a folder and a link to one outside, as fast as it
 * can, while it is given away again and again. */
static void does_not_leave_the_folder_in_a_race(void **state)
{
    cleanup_free char *folder = at("work/folder"), *trick = at("work/trick");
    cleanup_free char *work = at("work");
    fault_t fault;
    pid_t racer;

    (void) state;
    need_root();
    make_folder("elsewhere", FROM);
    make_folder("work/folder", FROM);
    for (int i = 0; i < FILES; i++) {
        cleanup_free char *outside = mem_format("elsewhere/%d", i);
        cleanup_free char *inside = mem_format("work/folder/%d", i);

        make_file(outside, FROM);
        make_file(inside, FROM);
    }
    assert_int_equal(symlink("../elsewhere", trick), 0);
    racer = fork();
    if (racer == 0)
        for (;;)
            renameat2(AT_FDCWD, folder, AT_FDCWD, trick, RENAME_EXCHANGE);
    /* A name that has become another meanwhile may be a failure. */
    for (int i = 0; i < ROUNDS; i++) {
        (void) owner_change(work, FROM, TO, TO, PATIENCE_MS, &fault);
        (void) owner_change(work, TO, FROM, FROM, PATIENCE_MS, &fault);
    }
    (void) owner_change(work, FROM, TO, TO, PATIENCE_MS, &fault);
    kill(racer, SIGKILL);
    assert_int_equal(waitpid(racer, NULL, 0), racer);
    expect_owner("elsewhere", FROM);
    for (int i = 0; i < FILES; i++) {
        cleanup_free char *outside = mem_format("elsewhere/%d", i);

        expect_owner(outside, FROM);
    }
}

#define OWNER_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        OWNER_TEST(gives_files_of_the_user),
        OWNER_TEST(follows_no_link),
        OWNER_TEST(leaves_hard_links_of_other_owners),
        OWNER_TEST(waits_for_no_pipe_and_no_socket),
        OWNER_TEST(reaches_deep_folders),
        OWNER_TEST(gives_up_in_time),
        OWNER_TEST(does_not_leave_the_folder_in_a_race),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
