/* What is made ahead becomes a session's, once, and nothing of it stays behind.
 */
#include "gateway/registry/prealloc.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID    "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"

static const cgroup_limits_t limits = {.memory = 1 << 30, .processes = 64};
static cgroups_t *tree; /* of a machine without control groups */

static blank_t *blank_in(void)
{
    cleanup_free char *runtime = inside("run");
    cleanup_free char *states = inside("state");
    return blank_new(runtime, states, tree);
}

static void make(const char *name)
{
    cleanup_free char *path = inside(name);
    fault_t fault;
    assert_int_equal(path_make_folders(path, 0700, &fault), 0);
}

static void assert_there(const char *name, bool is_there)
{
    cleanup_free char *path = inside(name);
    struct stat status;
    assert_int_equal(stat(path, &status), is_there ? 0 : -1);
    if (is_there)
        assert_int_equal(status.st_mode & 07777, 0700);
}

static bool take(blank_t *blank, const char *runtime, const char *state)
{
    cleanup_free char *runtime_folder = inside(runtime);
    cleanup_free char *state_folder = inside(state);
    const char *id = blank_id(blank);
    assert_false(blank_take(blank, "another", runtime_folder, state_folder));
    return blank_take(blank, id ? id : ID, runtime_folder, state_folder);
}

static void becomes_the_folders_of_one_session(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_blank blank_t *blank = blank_in();
    assert_false(take(blank, "run/sessions/a", "state/sessions/a"));
    blank_make(blank, ID, &limits);
    assert_true(blank_is_there(blank));
    assert_true(take(blank, "run/sessions/a", "state/sessions/a"));
    assert_there("run/sessions/a", true);
    assert_there("state/sessions/a", true);
    assert_there("state/sessions/a/workspace", true);
    assert_false(blank_is_there(blank));
    assert_false(take(blank, "run/sessions/b", "state/sessions/b"));
    assert_there("run/sessions/b", false);
}

static void assert_answers(const char *name, bool answers)
{
    cleanup_free char *path = inside(name);
    cleanup_fd int fd = -1;
    fault_t fault;
    assert_int_equal(fd_connect_unix(path, &fd, &fault) == 0, answers);
}

static void has_sockets_that_go_with_their_folder(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_blank blank_t *blank = blank_in();
    cleanup_outfit outfit_t none = OUTFIT_NONE, outfit = OUTFIT_NONE;
    assert_null(blank_id(blank));
    blank_make(blank, ID, &limits);
    assert_string_equal(blank_id(blank), ID);
    /* Not before the folders are the session's. */
    blank_take_outfit(blank, ID, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    assert_true(take(blank, "run/sessions/a", "state/sessions/a"));
    blank_take_outfit(blank, OTHER, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    blank_take_outfit(blank, ID, &limits, &outfit);
    assert_answers("run/sessions/a/link.sock", true);
    assert_answers("run/sessions/a/init.sock", true);
    blank_take_outfit(blank, ID, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    assert_null(none.group);
    outfit_clear(&outfit);
    assert_answers("run/sessions/a/link.sock", false);
    assert_answers("run/sessions/a/init.sock", false);
}

/* The session that took its folders was not started. */
static void begins_anew_with_another_id(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_blank blank_t *blank = blank_in();
    cleanup_outfit outfit_t outfit = OUTFIT_NONE;
    blank_make(blank, ID, &limits);
    assert_true(take(blank, "run/sessions/a", "state/sessions/a"));
    blank_make(blank, OTHER, &limits);
    assert_answers("run/sessions/a/link.sock", false);
    assert_true(take(blank, "run/sessions/b", "state/sessions/b"));
    blank_take_outfit(blank, ID, &limits, &outfit);
    assert_int_equal(outfit.link_fd, -1);
    blank_take_outfit(blank, OTHER, &limits, &outfit);
    assert_true(outfit.link_fd >= 0 && outfit.init_fd >= 0);
    assert_answers("run/sessions/b/link.sock", true);
}

static void leaves_nothing_where_it_cannot_go(void **state)
{
    (void) state;
    make("run/sessions");
    cleanup_blank blank_t *blank = blank_in();
    blank_make(blank, ID, &limits);
    assert_false(take(blank, "run/sessions/a", "state/elsewhere/a"));
    assert_there("run/sessions/a", false);
    assert_there("run/next", false);
    assert_there("state/next", false);
}

static void is_gone_with_its_owner_or_with_the_next_one(void **state)
{
    (void) state;
    blank_t *blank = blank_in();
    blank_make(blank, ID, &limits);
    assert_there("state/next/workspace", true);
    blank_destroy(&blank);
    assert_there("run/next", false);
    assert_there("state/next", false);
    make("state/next/workspace");
    blank = blank_in();
    assert_there("state/next", false);
    blank_destroy(&blank);
}

static void is_none_where_no_folder_can_be_made(void **state)
{
    (void) state;
    cleanup_free char *occupant = inside("run");
    fault_t fault;
    assert_int_equal(file_replace(occupant, 0600, "", 0, &fault), 0);
    cleanup_blank blank_t *blank = blank_in();
    blank_make(blank, ID, &limits);
    assert_false(blank_is_there(blank));
    assert_there("state/next", false);
}

#define IN_A_FOLDER(test)                                                      \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static int find_tree(void **state)
{
    fault_t fault;
    (void) state;
    return cgroups_new("/nowhere", "/proc/self/cgroup", CGROUP_NONE, "test.",
                       &tree, &fault);
}

static int forget_tree(void **state)
{
    (void) state;
    cgroups_destroy(&tree);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(becomes_the_folders_of_one_session),
        IN_A_FOLDER(has_sockets_that_go_with_their_folder),
        IN_A_FOLDER(begins_anew_with_another_id),
        IN_A_FOLDER(leaves_nothing_where_it_cannot_go),
        IN_A_FOLDER(is_gone_with_its_owner_or_with_the_next_one),
        IN_A_FOLDER(is_none_where_no_folder_can_be_made),
    };
    return cmocka_run_group_tests(tests, find_tree, forget_tree);
}
