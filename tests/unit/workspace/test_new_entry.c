/* What is made in a workspace, and what the session puts in its place between
 * the making and the look at it. */
#include "tests/lib/folder.h"
#include "tests/lib/test.h"
#include "workspace/new_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int workspace = -1;
static bool gives_users;   /* the gateway can give files to other users */
static bool is_anothers;   /* what is looked at has another owner */
static void (*swap)(void); /* by the session, once "new" is made; or NULL */

/* The linker replaces the real functions by these (--wrap). */
bool __wrap_capability_gives_users(void);
int __wrap_fstat(int fd, struct stat *ret_status);
int __real_fstat(int fd, struct stat *ret_status);
int __wrap_mkdirat(int parent, const char *name, mode_t mode);
int __real_mkdirat(int parent, const char *name, mode_t mode);
int __wrap_symlinkat(const char *target, int parent, const char *name);
int __real_symlinkat(const char *target, int parent, const char *name);

bool __wrap_capability_gives_users(void)
{
    return gives_users;
}

int __wrap_fstat(int fd, struct stat *ret_status)
{
    int r = __real_fstat(fd, ret_status);

    if (is_anothers)
        ret_status->st_uid = geteuid() + 1;
    return r;
}

int __wrap_mkdirat(int parent, const char *name, mode_t mode)
{
    int r = __real_mkdirat(parent, name, mode);

    if (r == 0 && swap)
        swap();
    return r;
}

int __wrap_symlinkat(const char *target, int parent, const char *name)
{
    int r = __real_symlinkat(target, parent, name);

    if (r == 0 && swap)
        swap();
    return r;
}

static int begin(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    workspace = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gives_users = is_anothers = false;
    swap = NULL;
    return workspace < 0 ? -1 : 0;
}

static int end(void **state)
{
    close(workspace);
    return remove_folder(state);
}

static int make_new_folder(fault_t *fault)
{
    cleanup_fd int made = -1;
    int r = new_entry_folder(workspace, workspace, "new", &made, fault);

    assert_int_equal(made >= 0, r == 0);
    return r;
}

static int make_new_file(fault_t *fault)
{
    cleanup_fd int made = -1;
    int r = new_entry_file(workspace, workspace, "new", 0755, &made, fault);

    assert_int_equal(made >= 0, r == 0);
    return r;
}

static int make_new_link(fault_t *fault)
{
    return new_entry_link(workspace, workspace, "new", "target", fault);
}

static int (*const makers[])(fault_t *fault) = {make_new_folder, make_new_link,
                                                make_new_file};

#define MAKERS (sizeof makers / sizeof *makers)

/* Returns the mode of "new", and its type. */
static mode_t mode_of_new(void)
{
    struct stat status;

    assert_int_equal(fstatat(workspace, "new", &status, AT_SYMLINK_NOFOLLOW),
                     0);
    return status.st_mode;
}

static void remove_new(void)
{
    assert_int_equal(
        unlinkat(workspace, "new", S_ISDIR(mode_of_new()) ? AT_REMOVEDIR : 0),
        0);
}

static void is_late(int r, const fault_t *fault)
{
    assert_int_equal(r, -ESTALE);
    assert_string_equal(fault->text,
                        "the session put something else in its place");
}

static void what_is_made_has_its_mode(void **state)
{
    static const mode_t modes[MAKERS] = {S_IFDIR | 0755, S_IFLNK | 0777,
                                         S_IFREG | 0755};
    mode_t mask = umask(0077);

    (void) state;
    for (size_t i = 0; i < MAKERS; i++) {
        fault_t fault;

        assert_int_equal(makers[i](&fault), 0);
        assert_int_equal(mode_of_new(), modes[i]);
        remove_new();
    }
    umask(mask);
}

static void what_is_there_stays(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(mkfifoat(workspace, "new", 0600), 0);
    for (size_t i = 0; i < MAKERS; i++) {
        assert_int_equal(makers[i](&fault), -EEXIST);
        assert_int_equal(mode_of_new(), S_IFIFO | 0600);
    }
}

static void put_folder(void)
{
    remove_new();
    assert_int_equal(__real_mkdirat(workspace, "new", 0700), 0);
}

static void put_fifo(void)
{
    remove_new();
    assert_int_equal(mkfifoat(workspace, "new", 0600), 0);
}

static void put_link(void)
{
    remove_new();
    assert_int_equal(__real_symlinkat("elsewhere", workspace, "new"), 0);
}

static void something_else_in_the_place_of_a_link(void **state)
{
    static void (*const swaps[])(void) = {put_folder, put_fifo};
    static const mode_t modes[] = {S_IFDIR | 0700, S_IFIFO | 0600};

    (void) state;
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
        fault_t fault;

        swap = swaps[i];
        is_late(make_new_link(&fault), &fault);
        assert_int_equal(mode_of_new(), modes[i]);
        remove_new();
    }
}

/* It is not opened, so it is not looked at. */
static void something_else_in_the_place_of_a_folder(void **state)
{
    static void (*const swaps[])(void) = {put_link, put_fifo};

    (void) state;
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
        fault_t fault;
        int r;

        swap = swaps[i];
        r = make_new_folder(&fault);
        assert_true(r == -ELOOP || r == -ENOTDIR);
        remove_new();
    }
}

/* A gateway that gives files away would give the session a folder or a file
 * that is another user's. */
static void what_is_another_users_is_left_alone(void **state)
{
    (void) state;
    is_anothers = gives_users = true;
    for (size_t i = 0; i < MAKERS; i++) {
        fault_t fault;

        is_late(makers[i](&fault), &fault);
        if (S_ISDIR(mode_of_new()))
            assert_int_equal(mode_of_new(), S_IFDIR | 0700);
        remove_new();
    }
}

/* As in a container that maps all users to one. */
static void the_owner_is_no_matter_where_none_is_given(void **state)
{
    (void) state;
    is_anothers = true;
    for (size_t i = 0; i < MAKERS; i++) {
        fault_t fault;

        assert_int_equal(makers[i](&fault), 0);
        remove_new();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(what_is_made_has_its_mode),
        TEST(what_is_there_stays),
        TEST(something_else_in_the_place_of_a_link),
        TEST(something_else_in_the_place_of_a_folder),
        TEST(what_is_another_users_is_left_alone),
        TEST(the_owner_is_no_matter_where_none_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
