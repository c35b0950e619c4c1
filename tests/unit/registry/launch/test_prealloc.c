/* Preallocated resources become a session's, once, and no part of them stays.
 * The folders and sockets are real, the control groups are records. */
#include "gateway/registry/launch/prealloc.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/fake_groups.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID    "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"

static const cgroup_limits_t limits = {.memory = 1 << 30, .processes = 64};

static prealloc_t *prealloc_in(void)
{
    cleanup_free char *runtime = inside("run");
    cleanup_free char *states = inside("state");
    return prealloc_new(runtime, states, NULL);
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

static bool take(prealloc_t *prealloc, const char *runtime, const char *state)
{
    cleanup_free char *runtime_folder = inside(runtime);
    cleanup_free char *state_folder = inside(state);
    const char *id = prealloc_id(prealloc);
    assert_false(
        prealloc_take(prealloc, "another", runtime_folder, state_folder));
    return prealloc_take(prealloc, id ? id : ID, runtime_folder, state_folder);
}

static void becomes_the_folders_of_one_session(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    assert_false(take(prealloc, "run/sessions/a", "state/sessions/a"));
    prealloc_make(prealloc, ID, &limits);
    assert_true(prealloc_is_there(prealloc));
    assert_true(take(prealloc, "run/sessions/a", "state/sessions/a"));
    assert_there("run/sessions/a", true);
    assert_there("state/sessions/a", true);
    assert_there("state/sessions/a/workspace", true);
    assert_false(prealloc_is_there(prealloc));
    assert_false(take(prealloc, "run/sessions/b", "state/sessions/b"));
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
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    cleanup_launch_resources launch_resources_t none = LAUNCH_RESOURCES_NONE;
    cleanup_launch_resources launch_resources_t resources =
        LAUNCH_RESOURCES_NONE;
    assert_null(prealloc_id(prealloc));
    prealloc_make(prealloc, ID, &limits);
    assert_string_equal(prealloc_id(prealloc), ID);
    /* Not before the folders are the session's. */
    prealloc_take_resources(prealloc, ID, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    assert_true(take(prealloc, "run/sessions/a", "state/sessions/a"));
    prealloc_take_resources(prealloc, OTHER, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    prealloc_take_resources(prealloc, ID, &limits, &resources);
    assert_answers("run/sessions/a/link.sock", true);
    assert_answers("run/sessions/a/init.sock", true);
    prealloc_take_resources(prealloc, ID, &limits, &none);
    assert_int_equal(none.link_fd, -1);
    assert_null(none.group);
    launch_resources_clear(&resources);
    assert_answers("run/sessions/a/link.sock", false);
    assert_answers("run/sessions/a/init.sock", false);
}

/* The session that took its folders was not started. */
static void starts_again_with_another_id(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    cleanup_launch_resources launch_resources_t resources =
        LAUNCH_RESOURCES_NONE;
    prealloc_make(prealloc, ID, &limits);
    assert_true(take(prealloc, "run/sessions/a", "state/sessions/a"));
    prealloc_make(prealloc, OTHER, &limits);
    assert_answers("run/sessions/a/link.sock", false);
    assert_true(take(prealloc, "run/sessions/b", "state/sessions/b"));
    prealloc_take_resources(prealloc, ID, &limits, &resources);
    assert_int_equal(resources.link_fd, -1);
    prealloc_take_resources(prealloc, OTHER, &limits, &resources);
    assert_true(resources.link_fd >= 0 && resources.init_fd >= 0);
    assert_answers("run/sessions/b/link.sock", true);
}

static void leaves_no_files_after_a_failure(void **state)
{
    (void) state;
    make("run/sessions");
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    prealloc_make(prealloc, ID, &limits);
    assert_false(take(prealloc, "run/sessions/a", "state/elsewhere/a"));
    assert_there("run/sessions/a", false);
    assert_there("run/next", false);
    assert_there("state/next", false);
}

static void is_removed_with_its_owner_or_the_next_one(void **state)
{
    (void) state;
    prealloc_t *prealloc = prealloc_in();
    prealloc_make(prealloc, ID, &limits);
    assert_there("state/next/workspace", true);
    prealloc_destroy(&prealloc);
    assert_there("run/next", false);
    assert_there("state/next", false);
    make("state/next/workspace");
    prealloc = prealloc_in();
    assert_there("state/next", false);
    prealloc_destroy(&prealloc);
}

static void fails_without_a_folder(void **state)
{
    (void) state;
    cleanup_free char *occupant = inside("run");
    fault_t fault;
    assert_int_equal(file_replace(occupant, 0600, "", 0, &fault), 0);
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    prealloc_make(prealloc, ID, &limits);
    assert_false(prealloc_is_there(prealloc));
    assert_there("state/next", false);
}

/* --- Its control group --- */

#define DID(text) assert_string_equal(deeds_take(), text)

static int with_groups(void **state)
{
    fake_groups_begin();
    return make_folder(state);
}

static int without_groups(void **state)
{
    fake_groups_begin();
    fake_groups.mode = CGROUP_NONE;
    return make_folder(state);
}

/* Makes a group with `limits`, and takes it for a session with others. */
static void take_with(const cgroup_limits_t *others, bool fits)
{
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();
    cleanup_launch_resources launch_resources_t resources =
        LAUNCH_RESOURCES_NONE;

    prealloc_make(prealloc, ID, &limits);
    DID("make " ID ".1 of 64");
    assert_true(take(prealloc, "run/sessions/a", "state/sessions/a"));
    prealloc_take_resources(prealloc, ID, others, &resources);
    DID(fits ? "" : "remove; forget");
    assert_int_equal(resources.group != NULL, fits);
    assert_answers("run/sessions/a/link.sock", true);
    assert_answers("run/sessions/a/init.sock", true);
    prealloc_destroy(&prealloc);
    launch_resources_clear(&resources);
    DID(fits ? "forget" : "");
    {
        cleanup_free char *runtime = inside("run");
        cleanup_free char *states = inside("state");
        fault_t fault;

        assert_int_equal(path_remove_tree(runtime, &fault), 0);
        assert_int_equal(path_remove_tree(states, &fault), 0);
    }
}

static void a_group_is_taken_if_its_limits_are_the_same(void **state)
{
    cgroup_limits_t others[6];

    (void) state;
    for (size_t i = 0; i < 6; i++)
        others[i] = limits;
    others[0].memory++;
    others[1].processes++;
    others[2].cpu_percent++;
    others[3].cpu_weight++;
    others[4].io_weight++;
    for (size_t i = 0; i < 6; i++)
        take_with(&others[i], i == 5);
}

static void without_its_group_nothing_is_there(void **state)
{
    cleanup_prealloc prealloc_t *prealloc = prealloc_in();

    (void) state;
    fake_groups.fault = -ENOSPC;
    prealloc_make(prealloc, ID, &limits);
    assert_false(prealloc_is_there(prealloc));
    assert_there("run/next", false);
    assert_there("state/next", false);
    /* The folders of sessions are there for the next ones. */
    assert_there("run/sessions", true);
    assert_there("state/sessions", true);
}

static void a_group_that_is_not_taken_is_removed(void **state)
{
    prealloc_t *prealloc = prealloc_in();

    (void) state;
    prealloc_make(prealloc, ID, &limits);
    prealloc_make(prealloc, OTHER, &limits);
    DID("make " ID ".1 of 64; remove; forget; make " OTHER ".1 of 64");
    prealloc_destroy(&prealloc);
    assert_null(prealloc);
    DID("remove; forget");
}

static void no_resource_is_there_before_the_first(void **state)
{
    int spare = dup(STDIN_FILENO);
    cleanup_fd int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prealloc_t *prealloc;

    (void) state;
    /* No descriptor is taken for one of its own. */
    assert_int_equal(dup2(other, STDIN_FILENO), STDIN_FILENO);
    prealloc = prealloc_in();
    prealloc_destroy(&prealloc);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (spare >= 0) {
        assert_int_equal(dup2(spare, STDIN_FILENO), STDIN_FILENO);
        close(spare);
    }
}

#define IN_A_FOLDER(test)                                                      \
    cmocka_unit_test_setup_teardown(test, without_groups, remove_folder)
#define WITH_GROUPS(test)                                                      \
    cmocka_unit_test_setup_teardown(test, with_groups, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(becomes_the_folders_of_one_session),
        IN_A_FOLDER(has_sockets_that_go_with_their_folder),
        IN_A_FOLDER(starts_again_with_another_id),
        IN_A_FOLDER(leaves_no_files_after_a_failure),
        IN_A_FOLDER(is_removed_with_its_owner_or_the_next_one),
        IN_A_FOLDER(fails_without_a_folder),
        WITH_GROUPS(a_group_is_taken_if_its_limits_are_the_same),
        WITH_GROUPS(without_its_group_nothing_is_there),
        WITH_GROUPS(a_group_that_is_not_taken_is_removed),
        IN_A_FOLDER(no_resource_is_there_before_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
