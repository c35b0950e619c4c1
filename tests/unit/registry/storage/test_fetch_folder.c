/* The folder of fetched files: how it is made, and what is refused. The
 * folders are real. */
#include "gateway/registry/storage/fetch_folder.h"

#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZYGOTE ((uid_t) 54321)

static void HAS(const fault_t *fault, const char *words)
{
    if (!strstr(fault->text, words))
        fail_msg("%s: %s", words, fault->text);
}

static void set(options_t *options, const char *key, const char *value)
{
    fault_t fault;

    if (options_set(options, key, value, &fault) < 0)
        fail_msg("%s", fault.text);
}

static options_t *configure(const char *allow)
{
    options_t *options = options_new();
    cleanup_free char *dir = inside("a/b/fetch//");

    set(options, "fetch/dir", dir);
    set(options, "profile/other/fetch/allow", allow);
    return options;
}

static void expect_folder(const char *name, mode_t mode, uid_t owner)
{
    cleanup_free char *path = inside(name);
    struct stat about;

    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISDIR(about.st_mode));
    assert_int_equal(about.st_mode & 07777, mode);
    assert_int_equal(about.st_uid, owner);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = inside(name);
    struct stat about;

    return lstat(path, &about) == 0;
}

static fetch_folder_t *make(const options_t *options)
{
    fetch_folder_t *self = NULL;
    fault_t fault;

    if (fetch_folder_new(options, NULL, &self, &fault) < 0)
        fail_msg("%s", fault.text);
    return self;
}

static void expect_refused(const options_t *options, const char *words)
{
    fetch_folder_t *self = NULL;
    fault_t fault;

    assert_true(fetch_folder_new(options, NULL, &self, &fault) < 0);
    assert_null(self);
    HAS(&fault, "fetch/dir");
    HAS(&fault, words);
    if (strstr(fault.text, "packages"))
        fail_msg("%s", fault.text);
}

static void without_a_host_nothing_is_made(void **state)
{
    cleanup_options options_t *options = configure("");
    cleanup_fetch_folder fetch_folder_t *self = make(options);

    (void) state;
    assert_non_null(self);
    assert_false(is_there("a"));
}

static void the_modes_do_not_depend_on_the_umask(void **state)
{
    cleanup_options options_t *options = configure("a.example");
    cleanup_free char *work = inside("a/b/fetch/work");
    mode_t mask = umask(0077);
    cleanup_fetch_folder fetch_folder_t *self = make(options);

    (void) state;
    umask(mask);
    expect_folder("a", 0700, geteuid());
    expect_folder("a/b/fetch", 0711, geteuid());
    expect_folder("a/b/fetch/work", 0700, geteuid());
    assert_string_equal(fetch_folder_work(self), work);
}

static void a_second_gateway_finds_them_and_mends_the_mode(void **state)
{
    cleanup_options options_t *options = configure("a.example");
    cleanup_fetch_folder fetch_folder_t *self = make(options);
    cleanup_fetch_folder fetch_folder_t *second = NULL;
    cleanup_free char *path = inside("a/b/fetch/work");
    cleanup_free char *kept = inside("a/b/fetch/work/kept");

    (void) state;
    assert_int_equal(mkdir(kept, 0755), 0);
    assert_int_equal(chmod(path, 0755), 0);
    second = make(options);
    expect_folder("a/b/fetch/work", 0700, geteuid());
    assert_true(is_there("a/b/fetch/work/kept"));
}

static void refuses_what_others_can_write(void **state)
{
    static const char *const names[] = {"a/b/fetch", "a/b/fetch/work"};
    cleanup_options options_t *options = configure("a.example");
    fetch_folder_t *self = make(options);

    (void) state;
    fetch_folder_destroy(&self);
    fetch_folder_destroy(&self);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = inside(names[i]);

        assert_int_equal(chmod(path, 0733), 0);
        expect_refused(options, "chmod go-w");
        expect_refused(options, names[i]);
        assert_int_equal(chmod(path, 0711), 0);
    }
    self = make(options);
    fetch_folder_destroy(&self);
}

static void refuses_a_link_in_its_place(void **state)
{
    cleanup_options options_t *options = configure("a.example");
    cleanup_free char *path = inside("a/b/fetch/work");
    cleanup_free char *other = inside("a/b/fetch/other");
    fetch_folder_t *self = make(options);

    (void) state;
    fetch_folder_destroy(&self);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(chmod(other, 0755), 0);
    assert_int_equal(symlink("other", path), 0);
    expect_refused(options, "work is not a folder");
    expect_refused(options, "set fetch/dir to another one");
    expect_folder("a/b/fetch/other", 0755, geteuid());
}

static void refuses_a_name_that_is_no_text(void **state)
{
    cleanup_options options_t *options = configure("a.example");

    (void) state;
    free(options->fetch.dir);
    options->fetch.dir = inside("a/\xff");
    expect_refused(options, "UTF-8");
    assert_false(is_there("a/\xff"));
}

static void refuses_a_folder_that_cannot_be_made(void **state)
{
    cleanup_options options_t *options = configure("a.example");
    cleanup_free char *path = inside("a");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    expect_refused(options, "Not a directory");
    expect_refused(options, "set fetch/dir to a folder that the gateway can");
}

/* Root gives the worker's folder away; another user cannot. */
static void zygotes_own_what_their_worker_writes(void **state)
{
    const zygote_user_t zygotes = {.uid = ZYGOTE, .gid = ZYGOTE};
    cleanup_options options_t *options = configure("a.example");
    cleanup_fetch_folder fetch_folder_t *self = NULL, *second = NULL;
    cleanup_free char *empty = inside("a/b/fetch/work");
    fault_t fault;

    (void) state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(fetch_folder_new(options, &zygotes, &self, &fault),
                     -EACCES);
    HAS(&fault, "fetch/dir: user 54321");
    HAS(&fault, folder);
    HAS(&fault, "chmod o+x");
    assert_int_equal(chmod(folder, 0711), 0);
    /* As a gateway left it that ended before it gave it away. */
    assert_int_equal(mkdir(empty, 0700), 0);
    assert_int_equal(fetch_folder_new(options, &zygotes, &self, &fault), 0);
    expect_folder("a", 0711, 0);
    expect_folder("a/b/fetch", 0711, 0);
    expect_folder("a/b/fetch/work", 0700, ZYGOTE);
    assert_int_equal(fetch_folder_new(options, &zygotes, &second, &fault), 0);
    expect_refused(options, "belongs to user 54321");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_host_nothing_is_made),
        TEST(the_modes_do_not_depend_on_the_umask),
        TEST(a_second_gateway_finds_them_and_mends_the_mode),
        TEST(refuses_what_others_can_write),
        TEST(refuses_a_link_in_its_place),
        TEST(refuses_a_name_that_is_no_text),
        TEST(refuses_a_folder_that_cannot_be_made),
        TEST(zygotes_own_what_their_worker_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
