/* How the folder of a worker of downloads is made, and what is refused. The
 * folders are real; only root gives them to another user. */
#include "gateway/registry/storage/worker_folder.h"

#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY    "fetch/dir"
#define WORKER ((uid_t) 54321)

static const zygote_user_t zygotes = {.uid = WORKER, .gid = WORKER};
static fault_t fault;

static void HAS(const char *words)
{
    if (!strstr(fault.text, words))
        fail_msg("%s: %s", words, fault.text);
}

static void expect(const char *name, mode_t mode, uid_t owner)
{
    cleanup_free char *path = inside(name);
    struct stat about;

    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    assert_int_equal(about.st_mode & 07777, mode);
    assert_int_equal(about.st_uid, owner);
}

static int make_top(const worker_folder_t *self, const char *name)
{
    cleanup_free char *top = inside(name);

    return worker_folder_make_top(self, top, &fault);
}

static int make(const worker_folder_t *self, const char *name)
{
    cleanup_free char *path = inside(name);

    return worker_folder_make(self, path, WORKER_FOLDER_MODE, &fault);
}

static bool needs_root(void)
{
    if (geteuid() == 0)
        return false;
    skip();
    return true;
}

static void a_path_has_no_slash_at_its_end(void **state)
{
    static const char *const paths[][2] = {
        {"/a/b", "/a/b"}, {"/a/b//", "/a/b"}, {"/", "/"}, {"//", "/"}};

    (void) state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        cleanup_free char *top = worker_folder_top(paths[i][0]);

        assert_string_equal(top, paths[i][1]);
    }
}

static void it_is_for_the_zygotes_user_or_the_gateways(void **state)
{
    worker_folder_t own = worker_folder_of(KEY, NULL);
    worker_folder_t other = worker_folder_of(KEY, &zygotes);

    (void) state;
    assert_int_equal(own.uid, geteuid());
    assert_int_equal(own.gid, getegid());
    assert_int_equal(other.uid, WORKER);
    assert_int_equal(other.gid, WORKER);
    assert_string_equal(other.key, KEY);
}

static void folders_above_are_made_whatever_the_umask_is(void **state)
{
    worker_folder_t self = worker_folder_of(KEY, NULL);
    mode_t mask = umask(0777);

    (void) state;
    assert_int_equal(make_top(&self, "a/b/c"), 0);
    assert_int_equal(make(&self, "a/b/c/work"), 0);
    (void) umask(mask);
    expect("a", 0700, geteuid());
    expect("a/b", 0700, geteuid());
    expect("a/b/c", 0711, geteuid());
    expect("a/b/c/work", 0700, geteuid());
    /* Those that are there stay as they are. */
    assert_int_equal(chmod(folder, 0750), 0);
    assert_int_equal(make_top(&self, "a/b/c"), 0);
    expect(".", 0750, geteuid());
}

static void another_user_can_enter_the_top(void **state)
{
    worker_folder_t self = worker_folder_of(KEY, &zygotes);

    (void) state;
    if (needs_root())
        return;
    assert_int_equal(chmod(folder, 0711), 0);
    assert_int_equal(make_top(&self, "a/b"), 0);
    expect("a", 0711, 0);
    expect("a/b", 0711, 0);
    assert_int_equal(make(&self, "a/b/work"), 0);
    expect("a/b/work", WORKER_FOLDER_MODE, WORKER);
    assert_int_equal(make(&self, "a/b/work"), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(make_top(&self, "a/b"), -EACCES);
    HAS("cannot enter");
}

/* A gateway ended before it gave it away. */
static void an_empty_folder_of_the_gateways_is_made_again(void **state)
{
    worker_folder_t own = worker_folder_of(KEY, NULL);
    worker_folder_t self = worker_folder_of(KEY, &zygotes);

    (void) state;
    if (needs_root())
        return;
    assert_int_equal(make(&own, "work"), 0);
    assert_int_equal(make(&self, "work"), 0);
    expect("work", WORKER_FOLDER_MODE, WORKER);
    assert_int_equal(make(&own, "full"), 0);
    assert_int_equal(make(&own, "full/a"), 0);
    assert_int_equal(make(&self, "full"), -EPERM);
    HAS(KEY);
    HAS("belongs to user 0, not to 54321");
}

static void what_is_no_folder_is_refused(void **state)
{
    worker_folder_t self = worker_folder_of(KEY, NULL);
    cleanup_free char *link = inside("link");

    (void) state;
    assert_int_equal(symlink(folder, link), 0);
    assert_int_equal(make(&self, "link"), -ENOTDIR);
    HAS("is not a folder");
    assert_true(worker_folder_give(&self, link, 0700, &fault) < 0);
    HAS("fetch/dir: ");
}

static void an_error_says_what_would_be_right(void **state)
{
    worker_folder_t self = worker_folder_of(KEY, NULL);

    (void) state;
    assert_int_equal(make(&self, "missing/work"), -ENOENT);
    HAS("set fetch/dir to a folder that the gateway can make");
    assert_int_equal(worker_folder_make_top(&self, "/proc/a/b", &fault),
                     -ENOENT);
    HAS("set fetch/dir to a folder that the gateway can make");
    assert_int_equal(make_top(&self, "a\xff/b"), -EILSEQ);
    HAS("is not UTF-8 text");
}

static void a_mode_that_was_changed_is_put_back(void **state)
{
    worker_folder_t self = worker_folder_of(KEY, NULL);
    cleanup_free char *path = inside("work");

    (void) state;
    assert_int_equal(make(&self, "work"), 0);
    assert_int_equal(chmod(path, 0500), 0);
    assert_int_equal(make(&self, "work"), 0);
    expect("work", WORKER_FOLDER_MODE, geteuid());
    assert_int_equal(chmod(path, 0720), 0);
    assert_int_equal(make(&self, "work"), -EPERM);
    HAS("other users can write");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_path_has_no_slash_at_its_end),
        TEST(it_is_for_the_zygotes_user_or_the_gateways),
        TEST(folders_above_are_made_whatever_the_umask_is),
        TEST(another_user_can_enter_the_top),
        TEST(an_empty_folder_of_the_gateways_is_made_again),
        TEST(what_is_no_folder_is_refused),
        TEST(an_error_says_what_would_be_right),
        TEST(a_mode_that_was_changed_is_put_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
