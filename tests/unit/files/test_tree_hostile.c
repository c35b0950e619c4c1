/* A tree of files that is made while the session changes everything there. */
#include "gateway/files/tree_copy.h"

#include "base/fd.h"
#include "base/tree.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* As a link in the hidden folder has it; an absolute one may lead over another
 * file system, which is refused on its own. */
#define OUTSIDE "../../outside"

#define MOVED "the session moved or removed the folder"
#define LATE  "or the session changed the new folder"

/* A session that keeps a folder full. */
static bool is_never_empty;
static unsigned removal_steps;

int __wrap_tree_removal_step(tree_removal_t *self, unsigned entries,
                             fault_t *fault);
int __real_tree_removal_step(tree_removal_t *self, unsigned entries,
                             fault_t *fault);

int __wrap_tree_removal_step(tree_removal_t *self, unsigned entries,
                             fault_t *fault)
{
    removal_steps++;
    return is_never_empty ? 0 : __real_tree_removal_step(self, entries, fault);
}

static int begin(void **state)
{
    is_never_empty = false;
    removal_steps = 0;
    if (files_rig_begin(state) < 0)
        return -1;
    put_text(in_outside("kept"), "outside");
    return 0;
}

/* Nothing was written outside, whatever became of the tree. */
static int end(void **state)
{
    assert_string_equal(names_in(in_outside("")), "kept");
    assert_string_equal(text_in(in_outside("kept")), "outside");
    return files_rig_end(state);
}

/* Returns the path of something in the hidden folder of "repo", lent. */
static const char *hidden(const char *name)
{
    static char paths[4][300];
    static unsigned next;
    char *path = paths[next++ % 4];
    DIR *folder = opendir(in_workspace(""));
    const struct dirent *entry;

    assert_non_null(folder);
    *path = '\0';
    while ((entry = readdir(folder)))
        if (strncmp(entry->d_name, ".hearth-clone-", 14) == 0)
            (void) snprintf(path, sizeof paths[0], "%s%s%s", entry->d_name,
                            *name ? "/" : "", name);
    closedir(folder);
    assert_int_not_equal(*path, 0);
    return path;
}

/* Begins a tree in which "d/late" comes two steps after "d" and 99 files, and
 * makes the first of them. */
static void begin_tree(char type)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    tree_text(&tree, 'd', "d", "");
    tree_files(&tree, "d/f", 99);
    tree_text(&tree, type, "d/late", type == 'd' ? "" : "late");
    files_rig_place_tree(5, &tree, "repo", 1000, 101);
    assert_true(files_rig_step());
}

/* The types of "d/late". */
static const char types[] = "dfxl";

static void a_folder_that_becomes_a_link(void **state)
{
    (void) state;
    for (const char *type = types; *type; type++) {
        begin_tree(*type);
        assert_int_equal(rename(in_workspace(hidden("d")), in_workspace("d")),
                         0);
        assert_int_equal(symlink(OUTSIDE, in_workspace(hidden("d"))), 0);
        files_rig_finish();
        files_rig_refused("FileChanged", LATE);
        /* What the session took is the session's. */
        assert_string_equal(names_in(in_workspace("")), "d");
        assert_int_equal(path_remove_tree(in_workspace("d"), &(fault_t){0}), 0);
    }
}

static void a_folder_that_is_removed(void **state)
{
    fault_t fault;

    (void) state;
    for (const char *type = types; *type; type++) {
        begin_tree(*type);
        assert_int_equal(path_remove_tree(in_workspace(hidden("d")), &fault),
                         0);
        files_rig_finish();
        files_rig_refused("FileChanged", LATE);
        assert_string_equal(names_in(in_workspace("")), "");
    }
}

/* Neither is followed, opened, replaced nor waited for. */
static void something_else_in_the_place_of_an_entry(void **state)
{
    (void) state;
    for (const char *type = types; *type; type++)
        for (int other = 0; other < 4; other++) {
            const char *late;

            begin_tree(*type);
            late = in_workspace(hidden("d/late"));
            if (other == 0)
                assert_int_equal(symlink(in_outside("kept"), late), 0);
            else if (other == 1)
                assert_int_equal(symlink(in_outside("new"), late), 0);
            else if (other == 2)
                assert_int_equal(mkfifo(late, 0666), 0);
            else
                assert_int_equal(mkdir(late, 0777), 0);
            files_rig_finish();
            files_rig_refused("FileChanged", "d/late was not made");
            assert_string_equal(names_in(in_workspace("")), "");
        }
}

/* It is filled where it is, and has no name in the end. */
static void the_hidden_folder_is_moved(void **state)
{
    (void) state;
    for (int other = 0; other < 4; other++) {
        cleanup_free char *path = NULL;
        fault_t fault;

        begin_tree('f');
        path = mem_text(in_workspace(hidden("")));
        assert_int_equal(rename(path, in_workspace("stolen")), 0);
        if (other == 1)
            assert_int_equal(symlink(in_outside(""), path), 0);
        if (other == 2) {
            cleanup_free char *own = mem_format("%s/own", path);
            put_text(own, "the session's");
        }
        if (other == 3)
            assert_int_equal(mkdir(path, 0755), 0);
        files_rig_finish();
        files_rig_refused("FileChanged", MOVED);
        assert_string_equal(names_in(in_workspace("stolen")), "");
        assert_int_equal(access(in_workspace("repo"), F_OK), -1);
        if (other == 1)
            assert_int_equal(unlink(path), 0);
        if (other == 2) {
            assert_string_equal(names_in(path), "own");
            assert_int_equal(path_remove_tree(path, &fault), 0);
        }
        if (other == 3)
            assert_int_equal(rmdir(path), 0);
        assert_string_equal(names_in(in_workspace("")), "stolen");
        assert_int_equal(rmdir(in_workspace("stolen")), 0);
    }
}

/* The answer says where the tree is. */
static void the_folder_of_the_target_is_moved(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    for (int is_there = 0; is_there < 2; is_there++) {
        assert_int_equal(mkdir(in_workspace("a"), 0755), 0);
        tree_files(&tree, "f", 100);
        files_rig_place_tree(5, &tree, "a/repo", 400, 100);
        files_rig_step();
        assert_int_equal(rename(in_workspace("a"), in_workspace("b")), 0);
        if (is_there)
            assert_int_equal(symlink(in_outside(""), in_workspace("a")), 0);
        files_rig_finish();
        files_rig_refused("FileChanged", MOVED);
        assert_string_equal(names_in(in_workspace("b")), "");
        assert_int_equal(rmdir(in_workspace("b")), 0);
        if (is_there)
            assert_int_equal(unlink(in_workspace("a")), 0);
    }
}

static void the_hidden_folder_is_removed(void **state)
{
    fault_t fault;

    (void) state;
    begin_tree('f');
    assert_int_equal(path_remove_tree(in_workspace(hidden("")), &fault), 0);
    files_rig_finish();
    files_rig_refused("FileChanged", "");
    assert_string_equal(names_in(in_workspace("")), "");
}

/* The right to write is taken away where the gateway has no more rights than
 * the session; where it is root, the tree comes whole. */
static void a_folder_is_closed(void **state)
{
    (void) state;
    begin_tree('f');
    assert_int_equal(chmod(in_workspace(hidden("d")), 0), 0);
    files_rig_finish();
    if (geteuid() == 0) {
        files_rig_was_placed();
        return;
    }
    files_rig_refused("FileDenied", "d/");
    assert_string_equal(names_in(in_workspace("")), "");
}

/* An entry that the session adds goes with the rest. */
static void what_was_added_is_removed_too(void **state)
{
    (void) state;
    begin_tree('f');
    put_text(in_workspace(hidden("d/deep/er/file")), "added");
    put_text(in_workspace(hidden("file")), "added");
    assert_int_equal(symlink(in_outside(""), in_workspace(hidden("link"))), 0);
    assert_int_equal(chmod(in_workspace(hidden("d/deep")), 0), 0);
    copies_give_up(&files_rig, 5);
    files_rig_finish();
    files_rig_refused("FileCancelled", "");
    assert_string_equal(names_in(in_workspace("")), "");
}

/* Each step of a removal is a moment to put a link in the place of something.
 */
static void a_removal_follows_no_link(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = mem_format("d%u", i);
        cleanup_free char *files = mem_format("d%u/f", i);

        tree_text(&tree, 'd', name, "");
        tree_files(&tree, files, 100);
    }
    files_rig_place_tree(5, &tree, "repo", 8000, 2020);
    for (unsigned i = 0; i < 2020 / 64; i++)
        assert_true(files_rig_step());
    copies_give_up(&files_rig, 5);
    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = mem_format("d%u", i);
        cleanup_free char *to = mem_format("%s/%u", in_workspace(""), i);

        if (!files_rig_step())
            break;
        if (strstr(names_in(in_workspace("")), ".hearth-clone-")
            && rename(in_workspace(hidden(name)), to) == 0)
            assert_int_equal(symlink(OUTSIDE, in_workspace(hidden(name))), 0);
    }
    files_rig_finish();
    files_rig_refused("FileCancelled", "");
    assert_null(strstr(names_in(in_workspace("")), "hearth"));
}

static void a_folder_that_is_never_empty_holds_nothing_up(void **state)
{
    size_t files = open_files();

    (void) state;
    begin_tree('f');
    copies_give_up(&files_rig, 5);
    is_never_empty = true;
    files_rig_finish();
    assert_in_range(removal_steps, 100, 1000);
    files_rig_refused("FileCancelled", "");
    /* It is the session's. */
    assert_string_equal(names_in(in_workspace(hidden(""))), "d");
    assert_int_equal(open_files(), files);
}

/* All that it is worth otherwise is too long a time for a thread that ends. */
static void nor_the_end_of_the_thread(void **state)
{
    (void) state;
    begin_tree('f');
    is_never_empty = true;
    files_rig_look_ms = 100;
    files_rig_end_thread();
    assert_in_range(removal_steps, 2, 10);
    assert_string_equal(names_in(in_workspace(hidden(""))), "d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_folder_that_becomes_a_link),
        TEST(a_folder_that_is_removed),
        TEST(something_else_in_the_place_of_an_entry),
        TEST(the_hidden_folder_is_moved),
        TEST(the_folder_of_the_target_is_moved),
        TEST(the_hidden_folder_is_removed),
        TEST(a_folder_is_closed),
        TEST(what_was_added_is_removed_too),
        TEST(a_removal_follows_no_link),
        TEST(a_folder_that_is_never_empty_holds_nothing_up),
        TEST(nor_the_end_of_the_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
