/* The folder of sessions' packages: how it is made, what is refused, and that
 * nothing of a session is left. The folders are real. */
#include "gateway/registry/storage/packages_folder.h"

#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX  "http://127.0.0.1:9/simple/"
#define TOKEN  "0123456789abcdef0123456789abcdef"
#define OTHER  "fedcba9876543210fedcba9876543210"
#define ZYGOTE ((uid_t) 54321)

static void HAS(const fault_t *fault, const char *words)
{
    if (!strstr(fault->text, words))
        fail_msg("%s: %s", words, fault->text);
}

static options_t *configure(bool has_index)
{
    options_t *options = options_new();
    cleanup_free char *dir = inside("a/b/packages/");
    fault_t fault;

    assert_int_equal(options_set(options, "packages/dir", dir, &fault), 0);
    assert_int_equal(options_set(options, "profile/other/python", "/x", &fault),
                     0);
    if (has_index)
        assert_int_equal(options_set(options, "profile/python3/packages/index",
                                     INDEX, &fault),
                         0);
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

/* All belongs to this process's user. */
static const packages_owners_t *own(void)
{
    static packages_owners_t owners;

    owners.uv_uid = geteuid();
    return &owners;
}

static packages_folder_t *make(const options_t *options)
{
    packages_folder_t *self = NULL;
    fault_t fault;

    if (packages_folder_new(options, own(), &self, &fault) < 0)
        fail_msg("%s", fault.text);
    return self;
}

static void expect_refused(const options_t *options, const char *words)
{
    packages_folder_t *self = NULL;
    fault_t fault;

    assert_true(packages_folder_new(options, own(), &self, &fault) < 0);
    assert_null(self);
    HAS(&fault, "packages/dir");
    HAS(&fault, words);
}

static void without_an_index_nothing_is_made(void **state)
{
    cleanup_options options_t *options = configure(false);
    cleanup_packages_folder packages_folder_t *self = make(options);

    (void) state;
    assert_false(is_there("a"));
    assert_null(options->profiles[0]->packages.shown);
    packages_folder_discard(self, TOKEN);
    packages_folder_discard(self, "");
    assert_false(is_there("a"));
}

static void the_modes_are_those_of_the_contract_whatever_the_umask(void **state)
{
    cleanup_options options_t *options = configure(true);
    cleanup_free char *shown = inside("a/b/packages/sessions");
    cleanup_free char *work = inside("a/b/packages/work");
    cleanup_free char *real = NULL, *session = NULL, *wanted = NULL;
    mode_t mask = umask(0077);
    cleanup_packages_folder packages_folder_t *self = make(options);

    (void) state;
    umask(mask);
    expect_folder("a/b/packages", 0711, geteuid());
    expect_folder("a/b/packages/work", 0700, geteuid());
    expect_folder("a/b/packages/sessions", 0311, geteuid());
    real = realpath(shown, NULL);
    assert_string_equal(options->profiles[0]->packages.shown, real);
    assert_null(options->profiles[1]->packages.shown);
    assert_string_equal(packages_folder_work(self), work);
    session = packages_folder_session(self, TOKEN);
    wanted = mem_format("%s/%s", shown, TOKEN);
    assert_string_equal(session, wanted);
}

static void those_that_were_removed_are_made_again(void **state)
{
    cleanup_options options_t *options = configure(true);
    cleanup_packages_folder packages_folder_t *self = make(options);
    cleanup_free char *sessions = inside("a/b/packages/sessions");
    cleanup_free char *work = inside("a/b/packages/work");
    cleanup_free char *profiles = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(packages_folder_make(self, &fault), 0);
    assert_int_equal(rmdir(work), 0);
    assert_int_equal(packages_folder_make(self, &fault), 0);
    expect_folder("a/b/packages/work", 0700, geteuid());
    assert_int_equal(rmdir(sessions), 0);
    assert_int_equal(packages_folder_make(self, &fault), 1);
    expect_folder("a/b/packages/sessions", 0311, geteuid());
    assert_int_equal(packages_folder_make(self, &fault), 0);
    /* Also if it was made for a profile. */
    assert_int_equal(rmdir(sessions), 0);
    assert_int_equal(packages_folder_profiles(self, &profiles, &fault), 0);
    assert_int_equal(packages_folder_make(self, &fault), 1);
}

static void a_second_gateway_finds_them_and_mends_the_mode(void **state)
{
    cleanup_options options_t *options = configure(true);
    cleanup_packages_folder packages_folder_t *self = make(options);
    cleanup_packages_folder packages_folder_t *second = NULL;
    cleanup_free char *path = inside("a/b/packages/sessions");
    cleanup_free char *kept = inside("a/b/packages/sessions/" TOKEN);

    (void) state;
    assert_int_equal(mkdir(kept, 0755), 0);
    assert_int_equal(chmod(path, 0755), 0);
    second = make(options);
    expect_folder("a/b/packages/sessions", 0311, geteuid());
    assert_true(is_there("a/b/packages/sessions/" TOKEN));
}

static void refuses_what_others_can_write(void **state)
{
    static const char *const names[] = {"a/b/packages", "a/b/packages/work",
                                        "a/b/packages/sessions"};
    cleanup_options options_t *options = configure(true);
    packages_folder_t *self = make(options);

    (void) state;
    packages_folder_destroy(&self);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = inside(names[i]);

        assert_int_equal(chmod(path, 0733), 0);
        expect_refused(options, "chmod go-w");
        expect_refused(options, names[i]);
        assert_int_equal(chmod(path, 0711), 0);
    }
    self = make(options);
    packages_folder_destroy(&self);
}

static void refuses_a_link_in_its_place(void **state)
{
    cleanup_options options_t *options = configure(true);
    cleanup_free char *path = inside("a/b/packages/sessions");
    packages_folder_t *self = make(options);

    (void) state;
    packages_folder_destroy(&self);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("work", path), 0);
    expect_refused(options, "sessions is not a folder");
    expect_folder("a/b/packages/work", 0700, geteuid());
}

static void refuses_a_name_that_is_no_text(void **state)
{
    cleanup_options options_t *options = configure(true);

    (void) state;
    free(options->packages.dir);
    options->packages.dir = inside("a/\xff");
    expect_refused(options, "UTF-8");
    assert_false(is_there("a/\xff"));
}

static void refuses_a_folder_that_cannot_be_made(void **state)
{
    cleanup_options options_t *options = configure(true);
    cleanup_free char *path = inside("a");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    (void) state;
    assert_true(fd >= 0);
    close(fd);
    expect_refused(options, "Not a directory");
}

/* Root gives them away; another user cannot. */
static void zygotes_own_what_they_make(void **state)
{
    const zygote_user_t zygotes = {.uid = ZYGOTE, .gid = ZYGOTE};
    const packages_owners_t owners = {.zygotes = &zygotes, .uv_uid = ZYGOTE};
    cleanup_options options_t *options = configure(true);
    cleanup_packages_folder packages_folder_t *self = NULL, *second = NULL;
    cleanup_free char *empty = inside("a/b/packages/work");
    fault_t fault;

    (void) state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(packages_folder_new(options, &owners, &self, &fault),
                     -EACCES);
    HAS(&fault, "user 54321");
    HAS(&fault, folder);
    HAS(&fault, "chmod o+x");
    assert_int_equal(chmod(folder, 0711), 0);
    /* As a gateway left it that ended before it gave it away. */
    assert_int_equal(mkdir(empty, 0700), 0);
    assert_int_equal(packages_folder_new(options, &owners, &self, &fault), 0);
    expect_folder("a", 0711, 0);
    expect_folder("a/b/packages", 0711, 0);
    expect_folder("a/b/packages/work", 0700, ZYGOTE);
    expect_folder("a/b/packages/sessions", 0311, ZYGOTE);
    assert_int_equal(packages_folder_new(options, &owners, &second, &fault), 0);
    expect_refused(options, "belongs to user 54321");
}

/* Nothing in a sandbox is root, so uv has another user than the worker. A
 * version before gave that user the folder, with the folders in it. */
static void root_owns_what_its_worker_works_in(void **state)
{
    const packages_owners_t owners = {.uv_uid = ZYGOTE};
    cleanup_options options_t *options = configure(true);
    cleanup_free char *work = inside("a/b/packages/work");
    cleanup_free char *kept = inside("a/b/packages/work/uv");

    (void) state;
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 2; i++) {
        cleanup_packages_folder packages_folder_t *self = NULL;
        fault_t fault;

        assert_int_equal(packages_folder_new(options, &owners, &self, &fault),
                         0);
        expect_folder("a/b/packages/work", 0700, 0);
        expect_folder("a/b/packages/sessions", 0311, 0);
        if (i == 1)
            break;
        assert_int_equal(mkdir(kept, 0700), 0);
        assert_int_equal(chown(kept, ZYGOTE, ZYGOTE), 0);
        assert_int_equal(chown(work, ZYGOTE, ZYGOTE), 0);
    }
    expect_folder("a/b/packages/work/uv", 0700, ZYGOTE);
}

static void a_session_leaves_nothing(void **state)
{
    cleanup_options options_t *options = configure(true);
    packages_folder_t *self = make(options);
    cleanup_free char *gone = packages_folder_session(self, TOKEN);
    cleanup_free char *kept = packages_folder_session(self, OTHER);
    cleanup_free char *inner = mem_format("%s/1", gone);

    (void) state;
    assert_int_equal(mkdir(gone, 0755), 0);
    assert_int_equal(mkdir(inner, 0555), 0);
    assert_int_equal(mkdir(kept, 0755), 0);
    packages_folder_discard(self, TOKEN);
    assert_false(is_there("a/b/packages/sessions/" TOKEN));
    packages_folder_discard(self, TOKEN);
    packages_folder_discard(self, "");
    packages_folder_discard(self, "../work");
    packages_folder_destroy(&self);
    assert_false(is_there("a/b/packages/discarded"));
    assert_true(is_there("a/b/packages/sessions/" OTHER));
    assert_true(is_there("a/b/packages/work"));
}

static void removes_what_an_earlier_gateway_left(void **state)
{
    cleanup_options options_t *options = configure(true);
    packages_folder_t *self = make(options);
    cleanup_free char *left = inside("a/b/packages/discarded");

    (void) state;
    packages_folder_destroy(&self);
    assert_int_equal(mkdir(left, 0700), 0);
    self = make(options);
    packages_folder_destroy(&self);
    assert_false(is_there("a/b/packages/discarded"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

static bool is_used(void *arg, const char *path)
{
    return strstr(path, arg) != NULL;
}

static void packages_of_profiles_are_kept_while_they_are_used(void **state)
{
    cleanup_options options_t *options = configure(true);
    packages_folder_t *self = make(options);
    cleanup_free char *path = NULL, *again = NULL, *other = NULL, *one = NULL,
                      *two = NULL, *alien = NULL;
    char used[] = TOKEN;
    packages_folder_t *second = NULL;
    fault_t fault;

    (void) state;
    packages_folder_sweep(self, is_used, used);
    assert_false(is_there("a/b/packages/profiles"));
    assert_int_equal(packages_folder_profiles(self, &path, &fault), 0);
    expect_folder("a/b/packages/profiles", 0755, geteuid());
    assert_int_equal(packages_folder_profiles(self, &again, &fault), 0);
    assert_string_equal(path, again);
    one = mem_format("%s/" TOKEN, path);
    two = mem_format("%s/" OTHER, path);
    alien = mem_format("%s/x", path);
    assert_int_equal(mkdir(one, 0755), 0);
    assert_int_equal(mkdir(two, 0755), 0);
    assert_int_equal(mkdir(alien, 0755), 0);
    packages_folder_sweep(self, is_used, used);
    assert_int_equal(access(one, F_OK), 0);
    assert_int_equal(access(alien, F_OK), 0);
    assert_int_equal(access(two, F_OK), -1);
    packages_folder_destroy(&self); /* waits until it is removed */
    assert_false(is_there("a/b/packages/discarded/" OTHER));
    /* The gateway of another state folder has another one. */
    assert_int_equal(
        options_set(options, "gateway/state_dir", "/other", &fault), 0);
    second = make(options);
    assert_int_equal(packages_folder_profiles(second, &other, &fault), 0);
    assert_string_not_equal(path, other);
    packages_folder_destroy(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_an_index_nothing_is_made),
        TEST(the_modes_are_those_of_the_contract_whatever_the_umask),
        TEST(a_second_gateway_finds_them_and_mends_the_mode),
        TEST(refuses_what_others_can_write),
        TEST(those_that_were_removed_are_made_again),
        TEST(refuses_a_link_in_its_place),
        TEST(refuses_a_name_that_is_no_text),
        TEST(refuses_a_folder_that_cannot_be_made),
        TEST(zygotes_own_what_they_make),
        TEST(root_owns_what_its_worker_works_in),
        TEST(a_session_leaves_nothing),
        TEST(removes_what_an_earlier_gateway_left),
        TEST(packages_of_profiles_are_kept_while_they_are_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
