/* Trees of files from outside: what is made, and what is left of what fails.
 */
#include "gateway/files/tree_copy.h"

#include "tests/lib/descriptors.h"
#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"
#include "workspace/tree_reader.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define MIB       (1u << 20)

static void is(const char *name, mode_t mode)
{
    struct stat status;

    assert_int_equal(lstat(in_workspace(name), &status), 0);
    assert_int_equal(status.st_mode, mode);
    assert_int_equal(status.st_uid, geteuid() == 0 ? RIG_UID : geteuid());
    assert_int_equal(status.st_gid, geteuid() == 0 ? RIG_GID : getegid());
}

/* As an example of use. */
static void a_tree_comes_whole(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    size_t files = open_files();
    mode_t mask = umask(0077);
    char target[32] = "";

    (void) state;
    tree_text(&tree, 'd', "src", "");
    tree_text(&tree, 'd', "src/inner", "");
    tree_text(&tree, 'f', "src/inner/a.c", "int a;");
    tree_text(&tree, 'x', "run", "#!/bin/sh");
    tree_text(&tree, 'l', "src/link", "../../outside/kept");
    tree_text(&tree, 'f', "empty", "");
    files_rig_place_tree(5, &tree, "new/repo", 15, 6);
    DID("");
    assert_int_equal(
        strncmp(names_in(in_workspace("new")), ".hearth-clone-", 14), 0);
    files_rig_finish();
    umask(mask);
    DID("journal of aa1: {\"who\":\"uid=7\",\"outcome\":\"ok\",\"what\":"
        "\"clone\",\"path\":\"new/repo\",\"size\":15,\"files\":6,\"url\":"
        "\"u?k\",\"commit\":\"c\"}; audit file ok by uid=7 of aa1: "
        "{\"commit\": \"c\", \"files\": 6, \"path\": \"new/repo\", \"size\": "
        "15, \"url\": \"u\", \"what\": \"clone\"}; placed 5: {\"files\": 6, "
        "\"size\": 15, \"status\": \"ok\"}");
    assert_string_equal(names_in(in_workspace("new")), "repo");
    assert_string_equal(names_in(in_workspace("new/repo")), "empty run src");
    assert_string_equal(text_in(in_workspace("new/repo/src/inner/a.c")),
                        "int a;");
    assert_string_equal(text_in(in_workspace("new/repo/run")), "#!/bin/sh");
    assert_true(readlink(in_workspace("new/repo/src/link"), target, 31) > 0);
    assert_string_equal(target, "../../outside/kept");
    is("new/repo", S_IFDIR | 0755);
    is("new/repo/src/inner", S_IFDIR | 0755);
    is("new/repo/src/inner/a.c", S_IFREG | 0644);
    is("new/repo/run", S_IFREG | 0755);
    is("new/repo/src/link", S_IFLNK | 0777);
    is("new/repo/empty", S_IFREG | 0644);
    assert_int_equal(open_files(), files);
}

static time_t time_of(const char *name)
{
    struct stat status;

    assert_int_equal(lstat(in_workspace(name), &status), 0);
    return status.st_mtim.tv_nsec ? 0 : status.st_mtim.tv_sec;
}

/* The index of a repository knows them by it. */
static void a_dated_file_has_its_time(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_text(&tree, 'F', "a", "content");
    tree_text(&tree, 'f', "b", "content");
    tree_text(&tree, 'X', "c", "");
    tree_text(&tree, 'x', "d", "");
    files_rig_place_tree(5, &tree, "repo", 14, 4);
    files_rig_finish();
    files_rig_was_placed();
    assert_int_equal(time_of("repo/a"), TREE_DATE);
    assert_int_not_equal(time_of("repo/b"), TREE_DATE);
    assert_int_equal(time_of("repo/c"), TREE_DATE);
    assert_int_not_equal(time_of("repo/d"), TREE_DATE);
    is("repo/a", S_IFREG | 0644);
    is("repo/c", S_IFREG | 0755);
}

static void only_an_empty_folder_is_replaced(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(mkdir(in_workspace("repo"), 0700), 0);
    tree_files(&tree, "f", 2);
    files_rig_place_tree(5, &tree, "repo", 8, 2);
    files_rig_finish();
    files_rig_was_placed();
    assert_string_equal(names_in(in_workspace("repo")), "f-0 f-1");
    is("repo", S_IFDIR | 0755);
}

/* Before anything is made. */
static void what_is_in_the_way_is_seen_early(void **state)
{
    static const struct {
        const char *path, *ename, *sentence;
    } cases[] = {
        {"file", "FileExists",
         "file is there already: choose another `path` (--into)"},
        {"link", "FileExists", "choose another `path` (--into)"},
        {"full", "FolderNotEmpty",
         "full is a folder that is not empty: choose another `path` (--into)"},
        {"", "PathRefused", "choose a `path` (--into)"},
        {"file/repo", "FileNotFound", "choose another path"},
        {"file/new/repo", "FileNotFound", "choose another path"},
        {"link/repo", "PathRefused", "a symbolic link is in the way"},
        {"link/new/repo", "PathRefused", "a symbolic link is in the way"},
        {"../outside/repo", "PathRefused", "a path has no"},
    };

    (void) state;
    put_text(in_workspace("file"), "old");
    put_text(in_workspace("full/file"), "old");
    assert_int_equal(symlink(in_outside(""), in_workspace("link")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        files_rig_place_tree(5, &tree, cases[i].path, 0, 0);
        files_rig_refused(cases[i].ename, cases[i].sentence);
        assert_false(files_rig_step());
        assert_string_equal(names_in(in_workspace("")), "file full link");
        assert_string_equal(names_in(in_outside("")), "");
    }
}

/* At the last moment. */
static void what_comes_into_the_way_is_kept(void **state)
{
    static const struct {
        const char *made, *ename, *kept;
    } cases[] = {
        {"repo", "FileExists", "repo"},
        {"repo/file", "FolderNotEmpty", "repo/file"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;
        fault_t fault;

        tree_files(&tree, "f", 100);
        files_rig_place_tree(5, &tree, "repo", 400, 100);
        assert_true(files_rig_step());
        put_text(in_workspace(cases[i].made), "precious");
        files_rig_finish();
        files_rig_refused(cases[i].ename, "choose another `path` (--into)");
        assert_string_equal(text_in(in_workspace(cases[i].kept)), "precious");
        assert_string_equal(names_in(in_workspace("")), "repo");
        assert_int_equal(path_remove_tree(in_workspace("repo"), &fault), 0);
    }
}

static void is_made_in_steps(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_files(&tree, "f", 1000);
    files_rig_place_tree(1, &tree, "many", 4000, 1000);
    assert_in_range(files_rig_finish(), 1000 / 64, 1000 / 16);
    tree_big(&tree, "big", 3 * COPIES_STEP);
    files_rig_place_tree(2, &tree, "big", 3 * COPIES_STEP, 1);
    assert_in_range(files_rig_finish(), 3, 6);
}

/* On a disk that is busy; a step makes one entry at least. */
static void a_step_that_takes_long_is_ended(void **state)
{
    static const struct {
        int64_t look_ms;
        unsigned least, most; /* steps */
    } cases[] = {{3, 15, 60}, {5000, 100, 400}};

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *path = mem_format("slow-%zu", i);
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        files_rig_look_ms = cases[i].look_ms;
        tree_files(&tree, "f", 100);
        files_rig_place_tree(5, &tree, path, 400, 100);
        assert_in_range(files_rig_finish(), cases[i].least, cases[i].most);
        files_rig_was_placed();
    }
}

static void a_tree_that_is_given_up_leaves_nothing(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    size_t files = open_files();
    unsigned steps;

    (void) state;
    assert_int_equal(mkdir(in_workspace("old"), 0755), 0);
    tree_text(&tree, 'd', "d", "");
    tree_text(&tree, 'd', "d/d", "");
    tree_files(&tree, "d/d/f", 3000);
    files_rig_place_tree(5, &tree, "old/new/newer/repo", 12000, 3002);
    for (int i = 0; i < 30; i++)
        assert_true(files_rig_step());
    assert_string_equal(names_in(in_workspace("old/new")), "newer");
    copies_give_up(&files_rig, 5);
    copies_give_up(&files_rig, 5);
    DID("");
    steps = files_rig_finish();
    assert_in_range(steps, 5, 100);
    files_rig_refused("FileCancelled", "it was given up");
    assert_string_equal(names_in(in_workspace("")), "old");
    assert_string_equal(names_in(in_workspace("old")), "");
    assert_int_equal(open_files(), files);
}

/* In the middle of a file, which is open. */
static void a_big_file_is_given_up(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    size_t files = open_files();

    (void) state;
    files_rig_look_ms = COPIES_MS; /* a step is a piece */
    tree_big(&tree, "big", 5 * MIB);
    files_rig_place_tree(5, &tree, "repo", 5 * MIB, 1);
    files_rig_step();
    files_rig_step();
    copies_give_up(&files_rig, 5);
    files_rig_finish();
    files_rig_refused("FileCancelled", "it was given up");
    assert_string_equal(names_in(in_workspace("")), "");
    assert_int_equal(open_files(), files);
}

static void the_end_of_the_thread_leaves_nothing(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    size_t files = open_files();

    (void) state;
    for (unsigned i = 0; i < 3; i++) {
        cleanup_free char *path = mem_format("new-%u/repo", i);

        tree_text(&tree, 'd', "d", "");
        tree_files(&tree, "d/f", 100);
        files_rig_place_tree(i, &tree, path, 400, 101);
    }
    files_rig_step();
    files_rig_end_thread();
    DID("");
    assert_string_equal(names_in(in_workspace("")), "");
    assert_int_equal(open_files(), files);
}

/* The tree file is the worker's word. */
static void a_broken_tree_is_removed(void **state)
{
    static const struct {
        char type;
        const char *name, *content, *ename, *sentence;
    } cases[] = {
        {'f', "d", "", "FileChanged", "d was not made: the tree has it twice"},
        {'d', "f", "", "FileChanged", "f was not made: the tree has it twice"},
        {'f', "f", "", "FileChanged", "f was not made: the tree has it twice"},
        {'l', "f", "t", "FileChanged", "f was not made: the tree has it twice"},
        {'f', "l", "", "FileChanged", "l was not made: the tree has it twice"},
        {'f', "l/kept", "", "FileChanged", "l/kept was not made"},
        {'f', "l/x", "", "FileChanged", "l/x was not made"},
        {'d', "l/x", "", "FileChanged", "l/x was not made"},
        {'l', "l/x", "t", "FileChanged", "l/x was not made"},
        {'f', "no/x", "", "FileChanged", "or before its folder"},
        {'f', "f/x", "", "FileChanged", "f/x was not made"},
        {'f', "../x", "", "FileError", "no component is . or .."},
        {'f', "d/../../x", "", "FileError", "no component is . or .."},
        {'f', "/x", "", "FileError", "single slashes"},
        {'q', "x", "", "FileError", "must be d, f, x, F, X, l or e"},
    };

    (void) state;
    put_text(in_outside("kept"), "outside");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        tree_text(&tree, 'd', "d", "");
        tree_text(&tree, 'f', "f", "first");
        tree_text(&tree, 'l', "l", "../../outside");
        tree_text(&tree, cases[i].type, cases[i].name, cases[i].content);
        files_rig_place_tree(5, &tree, "repo", 100, 10);
        files_rig_finish();
        files_rig_refused(cases[i].ename, cases[i].sentence);
        assert_string_equal(names_in(in_workspace("")), "");
        assert_string_equal(names_in(in_outside("")), "kept");
        assert_string_equal(text_in(in_outside("kept")), "outside");
    }
}

static void what_is_no_tree_file(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    static const char content[] =
        "{\"path\":\"new/repo\",\"usage\":{\"bytes\":9,\"files\":9}}";

    (void) state;
    files_rig_place(true, 5, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                    content);
    files_rig_refused("PathRefused", "the tree file is not a plain file");
    assert_string_equal(names_in(in_workspace("")), "");
    tree_text(&tree, 'f', "f", "cut");
    files_rig_place(true, 5, tree_open(&tree), content);
    files_rig_finish();
    files_rig_refused("FileError", "a tree ends with a record of type e");
    assert_string_equal(names_in(in_workspace("")), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_rig_begin, files_rig_end)
        TEST(a_tree_comes_whole),
        TEST(a_dated_file_has_its_time),
        TEST(only_an_empty_folder_is_replaced),
        TEST(what_is_in_the_way_is_seen_early),
        TEST(what_comes_into_the_way_is_kept),
        TEST(is_made_in_steps),
        TEST(a_step_that_takes_long_is_ended),
        TEST(a_tree_that_is_given_up_leaves_nothing),
        TEST(a_big_file_is_given_up),
        TEST(the_end_of_the_thread_leaves_nothing),
        TEST(a_broken_tree_is_removed),
        TEST(what_is_no_tree_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
