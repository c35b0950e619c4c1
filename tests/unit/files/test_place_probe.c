/* What is known of a place before a file or a tree comes there: it is refused
 * as what has come is, and nothing is made. */
#include "gateway/files/place.h"

#include "gateway/files/quota.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096
#define OK    "{\"status\": \"ok\"}"

/* Checks the only deed: the news of the probe with that number. */
static void probed(unsigned number, const char *answer)
{
    cleanup_free char *expected = mem_format("probed %u: %s", number, answer);

    assert_string_equal(deeds_take(), expected);
}

/* Has a tree or a file of four bytes placed. */
static void place(bool is_tree, unsigned number, const char *path)
{
    cleanup_buffer buffer_t file = BUFFER_EMPTY;
    cleanup_free char *content = mem_format("{\"path\":\"%s\"}", path);

    if (is_tree) {
        files_rig_place_tree(number, &file, path, 0, 0);
        return;
    }
    buffer_text(&file, "text");
    files_rig_place(false, number, tree_open(&file), content);
}

/* Checks that a probe is refused with that name of an error, and as the file or
 * the tree itself is. */
static void refused(bool is_tree, const char *path, const char *ename)
{
    cleanup_free char *name = mem_format("\"ename\": \"%s\"", ename);
    cleanup_free char *before = NULL;

    files_rig_probe(is_tree, 5, path);
    before = mem_text(deeds_take());
    place(is_tree, 5, path);
    if (!strstr(before, name)
        || strcmp(before + strlen("probed"), deeds_take() + strlen("placed"))
               != 0)
        fail_msg("%s: %s", path, before);
}

static void permitted(bool is_tree, const char *path)
{
    files_rig_probe(is_tree, 5, path);
    probed(5, OK);
}

/* As an example of use. */
static void a_free_place_is_permitted_and_left_alone(void **state)
{
    size_t files = open_files();

    (void) state;
    put_text(in_workspace("file"), "old");
    assert_int_equal(mkdir(in_workspace("folder"), 0755), 0);
    assert_int_equal(mkdir(in_workspace("folder/empty"), 0755), 0);
    permitted(false, "new");
    permitted(false, "a/b/new");
    permitted(false, "folder/new");
    permitted(false, "file"); /* it is replaced */
    permitted(true, "new");
    permitted(true, "a/b/new");
    permitted(true, "folder/empty"); /* so is that */
    assert_string_equal(names_in(in_workspace("")), "file folder");
    assert_string_equal(names_in(in_workspace("folder")), "empty");
    assert_string_equal(text_in(in_workspace("file")), "old");
    assert_false(files_rig_step());
    assert_int_equal(open_files(), files);
}

static void what_is_in_the_way(void **state)
{
    static const struct {
        const char *path, *of_file, *of_tree;
    } cases[] = {
        {"file", NULL, "FileExists"},
        {"link", NULL, "FileExists"},
        {"full", "IsFolder", "FolderNotEmpty"},
        {"", "IsFolder", "PathRefused"},
        {"file/x", "FileNotFound", "FileNotFound"},
        {"file/x/y", "FileNotFound", "FileNotFound"},
        {"full/file/x", "FileNotFound", "FileNotFound"},
        {"link/x", "FileNotFound", "PathRefused"},
        {"link/x/y", "FileNotFound", "PathRefused"},
        {"../outside/x", "PathRefused", "PathRefused"},
    };
    size_t files = open_files();

    (void) state;
    put_text(in_workspace("file"), "old");
    put_text(in_workspace("full/file"), "old");
    assert_int_equal(symlink(in_outside(""), in_workspace("link")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].of_file)
            refused(false, cases[i].path, cases[i].of_file);
        else
            permitted(false, cases[i].path);
        refused(true, cases[i].path, cases[i].of_tree);
        assert_string_equal(names_in(in_workspace("")), "file full link");
        assert_string_equal(names_in(in_outside("")), "");
    }
    assert_int_equal(open_files(), files);
}

static void a_full_workspace(void **state)
{
    (void) state;
    files_rig_limit(4 * BLOCK, 0);
    permitted(false, "new");
    permitted(true, "a/b/c/new");
    refused(true, "a/b/c/d/new", "WorkspaceFull");
    refused(false, "a/b/c/d/new", "WorkspaceFull");
    quota_count(&files_rig, "aa1", (usage_t){.bytes = 4 * BLOCK - 1},
                (usage_t){0});
    permitted(false, "new");
    quota_count(&files_rig, "aa1", (usage_t){.bytes = 1}, (usage_t){0});
    refused(false, "new", "WorkspaceFull");
    refused(true, "new", "WorkspaceFull");
    assert_string_equal(names_in(in_workspace("")), "");
}

static void files_and_folders_count(void **state)
{
    (void) state;
    files_rig_limit(0, 3);
    permitted(false, "a/b/new");
    permitted(true, "a/b/new");
    refused(false, "a/b/c/new", "WorkspaceFull");
    refused(true, "a/b/c/new", "WorkspaceFull");
    place(false, 6, "a/file"); /* on its way */
    permitted(false, "new");
    refused(false, "d/new", "WorkspaceFull");
    files_rig_finish();
}

/* They are done before the file has come. */
static void copies_that_go_on_are_no_reason(void **state)
{
    (void) state;
    for (unsigned i = 0; i < 16; i++) {
        cleanup_free char *path = mem_format("f%u", i);

        place(false, i, path);
    }
    permitted(false, "new");
    permitted(true, "new");
    place(false, 17, "new");
    files_rig_refused("FileBusy", "16 files are being copied");
    files_rig_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_rig_begin, files_rig_end)
        TEST(a_free_place_is_permitted_and_left_alone),
        TEST(what_is_in_the_way),
        TEST(a_full_workspace),
        TEST(files_and_folders_count),
        TEST(copies_that_go_on_are_no_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
