/* Folders that are made ahead get the names of a session, once, and nothing of
 * them stays behind. */
#include "gateway/blank.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static blank_t *blank_in(void)
{
    cleanup_free char *runtime = inside("run");
    cleanup_free char *states = inside("state");
    return blank_new(runtime, states);
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
    return blank_take(blank, runtime_folder, state_folder);
}

static void becomes_the_folders_of_one_session(void **state)
{
    (void) state;
    make("run/sessions");
    make("state/sessions");
    cleanup_blank blank_t *blank = blank_in();
    assert_false(take(blank, "run/sessions/a", "state/sessions/a"));
    blank_make(blank);
    assert_true(blank_is_there(blank));
    assert_true(take(blank, "run/sessions/a", "state/sessions/a"));
    assert_there("run/sessions/a", true);
    assert_there("state/sessions/a", true);
    assert_there("state/sessions/a/workspace", true);
    assert_false(blank_is_there(blank));
    assert_false(take(blank, "run/sessions/b", "state/sessions/b"));
    assert_there("run/sessions/b", false);
}

static void leaves_nothing_where_it_cannot_go(void **state)
{
    (void) state;
    make("run/sessions");
    cleanup_blank blank_t *blank = blank_in();
    blank_make(blank);
    assert_false(take(blank, "run/sessions/a", "state/elsewhere/a"));
    assert_there("run/sessions/a", false);
    assert_there("run/next", false);
    assert_there("state/next", false);
}

static void is_gone_with_its_owner_or_with_the_next_one(void **state)
{
    (void) state;
    blank_t *blank = blank_in();
    blank_make(blank);
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
    blank_make(blank);
    assert_false(blank_is_there(blank));
    assert_there("state/next", false);
}

#define IN_A_FOLDER(test)                                                      \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(becomes_the_folders_of_one_session),
        IN_A_FOLDER(leaves_nothing_where_it_cannot_go),
        IN_A_FOLDER(is_gone_with_its_owner_or_with_the_next_one),
        IN_A_FOLDER(is_none_where_no_folder_can_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
