/* A folder that is emptied a part at a time, while others work in it. */
#include "base/tree.h"

#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define STEPS_MAX 10000 /* far more than any test needs */

static void make(const char *name)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(path_make_folders(path, 0700, &fault), 0);
}

static void put(const char *name)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, "x", 1, &fault), 0);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = inside(name);
    struct stat status;

    return lstat(path, &status) == 0;
}

/* 20 folders with 3 files in each, one of them deep. */
static tree_removal_t *begin(void)
{
    cleanup_free char *path = inside("top");
    cleanup_fd int top = -1;
    tree_removal_t *removal = NULL;
    fault_t fault;

    for (int i = 0; i < 20; i++)
        for (int n = 0; n < 3; n++) {
            char name[64];

            (void) snprintf(name, sizeof name, "top/%d/a/%d", i, n);
            make(name);
            (void) snprintf(name, sizeof name, "top/%d/a/%d/file", i, n);
            put(name);
        }
    make("outside");
    put("outside/kept");
    top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(top >= 0);
    assert_int_equal(tree_removal_new(top, &removal, &fault), 0);
    return removal;
}

static int finish(tree_removal_t *removal, unsigned entries, int *ret_steps)
{
    fault_t fault;
    int r = 0;

    for (*ret_steps = 0; r == 0 && *ret_steps < STEPS_MAX; ++*ret_steps)
        r = tree_removal_step(removal, entries, &fault);
    return r;
}

static void empties_a_folder_in_steps(void **state)
{
    cleanup_tree_removal tree_removal_t *removal = begin();
    cleanup_free char *top = inside("top");
    int steps;

    (void) state;
    assert_int_equal(finish(removal, 10, &steps), 1);
    assert_in_range(steps, 20, 200);
    assert_int_equal(rmdir(top), 0);
    assert_true(is_there("outside/kept"));
}

/* Another removal ends what stays after too few steps. */
static void goes_on_where_another_stopped(void **state)
{
    cleanup_tree_removal tree_removal_t *removal = begin(), *second = NULL;
    cleanup_free char *path = inside("top");
    cleanup_fd int top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fault_t fault;
    int steps;

    (void) state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(tree_removal_step(removal, 7, &fault), 0);
    tree_removal_destroy(&removal);
    assert_int_equal(tree_removal_new(top, &second, &fault), 0);
    assert_int_equal(finish(second, 7, &steps), 1);
    assert_int_equal(rmdir(path), 0);
}

/* Replaces every folder that is there by a link to another folder. */
static void swap_all(void)
{
    cleanup_free char *outside = inside("outside");

    for (int i = 0; i < 20; i++) {
        cleanup_free char *from = mem_format("%s/top/%d", folder, i);
        cleanup_free char *to = mem_format("%s/moved-%d", folder, i);

        if (rename(from, to) == 0)
            assert_int_equal(symlink(outside, from), 0);
    }
}

static void follows_no_link_that_comes_meanwhile(void **state)
{
    cleanup_tree_removal tree_removal_t *removal = NULL;
    cleanup_free char *top = inside("top");
    int steps;
    fault_t fault;

    (void) state;
    /* At every point of the way. */
    for (int before = 0; before < 30; before++) {
        removal = begin();
        for (int i = 0; i < before; i++)
            assert_int_equal(tree_removal_step(removal, 1, &fault), 0);
        swap_all();
        assert_int_equal(finish(removal, 1, &steps), 1);
        tree_removal_destroy(&removal);
        assert_int_equal(rmdir(top), 0);
        assert_true(is_there("outside/kept"));
        assert_int_equal(path_remove_tree(folder, &fault), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
}

static void what_comes_meanwhile_is_removed_too(void **state)
{
    cleanup_tree_removal tree_removal_t *removal = begin();
    cleanup_free char *top = inside("top");
    int r = 0, steps;
    fault_t fault;

    (void) state;
    for (int i = 0; r == 0 && i < 100; i++) {
        char name[64];

        (void) snprintf(name, sizeof name, "top/%d/new-%d", i % 20, i);
        make(name);
        r = tree_removal_step(removal, 5, &fault);
    }
    assert_int_equal(finish(removal, 5, &steps), 1);
    assert_int_equal(rmdir(top), 0);
}

/* Wherever in the folder the next name is found. */
static void one_more_name_each_time_is_found(void **state)
{
    cleanup_tree_removal tree_removal_t *removal = NULL;
    cleanup_free char *top = inside("top");
    cleanup_fd int fd = -1;
    fault_t fault;
    int steps, r = 0;

    (void) state;
    make("top");
    put("top/first");
    fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(tree_removal_new(fd, &removal, &fault), 0);
    for (int i = 0; r == 0 && i < 50; i++) {
        char name[64];

        r = tree_removal_step(removal, 1, &fault);
        (void) snprintf(name, sizeof name, "top/%d", i);
        if (r == 0)
            put(name);
    }
    assert_int_equal(r, 0);
    assert_int_equal(finish(removal, 1, &steps), 1);
    assert_int_equal(rmdir(top), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        TEST(empties_a_folder_in_steps),
        TEST(goes_on_where_another_stopped),
        TEST(follows_no_link_that_comes_meanwhile),
        TEST(what_comes_meanwhile_is_removed_too),
        TEST(one_more_name_each_time_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
