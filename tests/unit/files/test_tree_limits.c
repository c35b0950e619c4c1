/* Trees of files from outside: what they announce, and what counts. */
#include "gateway/files/tree_copy.h"

#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#define DID(text) assert_string_equal(deeds_take(), text)
#define MIB       (1u << 20)

static void no_more_is_made_than_was_announced(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_files(&tree, "f", 3);
    files_rig_place_tree(1, &tree, "repo", 12, 2);
    files_rig_finish();
    files_rig_refused("FileError", "more than the 2 files and folders");
    tree_files(&tree, "f", 3);
    files_rig_place_tree(2, &tree, "repo", 11, 3);
    files_rig_finish();
    files_rig_refused("FileError",
                      "more than the 11 bytes that were announced");
    tree_big(&tree, "big", 3 * MIB);
    files_rig_place_tree(3, &tree, "repo", 3 * MIB - 1, 3);
    assert_true(files_rig_step());
    assert_string_equal(names_in(in_workspace(names_in(in_workspace("")))), "");
    files_rig_finish();
    files_rig_refused("FileError", "more than the 3145727 bytes");
    assert_string_equal(names_in(in_workspace("")), "");
    tree_files(&tree, "f", 3);
    files_rig_place_tree(4, &tree, "repo", 12, 3);
    files_rig_finish();
    files_rig_was_placed();
}

static void an_announcement_is_two_numbers(void **state)
{
    static const char *const cases[] = {
        "{\"path\":\"r\"}",
        "{\"path\":\"r\",\"usage\":{}}",
        "{\"path\":\"r\",\"usage\":{\"bytes\":1}}",
        "{\"path\":\"r\",\"usage\":{\"files\":1}}",
        "{\"path\":\"r\",\"usage\":{\"bytes\":-1,\"files\":1}}",
        "{\"path\":\"r\",\"usage\":{\"bytes\":1,\"files\":-1}}",
        "{\"path\":\"r\",\"usage\":{\"bytes\":1.5,\"files\":1}}",
        ("{\"path\":\"r\",\"usage\":{\"bytes\":1152921504606846977,\"files\":1}"
         "}"),
        "{\"path\":\"r\",\"usage\":{\"bytes\":1,\"files\":1099511627777}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        tree_text(&tree, 'e', "", "");
        files_rig_place(true, 5, tree_open(&tree), cases[i]);
        files_rig_refused("FileError", "the tree announces no number of ");
        assert_string_equal(names_in(in_workspace("")), "");
    }
}

static void the_limits_hold_before_anything_is_made(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    files_rig_limit(MIB, 10);
    files_rig_place_tree(1, &tree, "repo", MIB, 1);
    files_rig_refused("WorkspaceFull", "bytes, with running transfers");
    files_rig_place_tree(2, &tree, "repo", 0, 10); /* and its own folder */
    files_rig_refused("WorkspaceFull", "files, with running transfers");
    files_rig_place_tree(3, &tree, "a/b/repo", 0, 8); /* and those above */
    files_rig_refused("WorkspaceFull", "files, with running transfers");
    assert_string_equal(names_in(in_workspace("")), "");
    files_rig_place_tree(4, &tree, "a/b/repo", 0, 7);
    files_rig_finish();
    files_rig_was_placed();
}

/* A small file takes a block. */
static void many_small_files_take_more_than_their_bytes(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    files_rig_limit(MIB, 0);
    files_rig_place_tree(1, &tree, "repo", 300, 300);
    files_rig_refused("WorkspaceFull", "bytes, with running transfers");
}

static void what_is_on_its_way_counts(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    usage_t usage;

    (void) state;
    files_rig_limit(MIB, 0);
    tree_files(&tree, "f", 100);
    files_rig_place_tree(1, &tree, "a/repo", 600000, 100);
    usage = copies_usage(&files_rig, "aa1");
    assert_int_equal(usage.files, 102);
    assert_int_equal(usage.bytes, 600000 + 102 * 4096);
    files_rig_place_tree(2, &tree, "other", 600000, 1);
    files_rig_refused("WorkspaceFull", "bytes, with running transfers");
    /* What is being removed takes room still. */
    files_rig_step();
    copies_give_up(&files_rig, 1);
    files_rig_place_tree(3, &tree, "other", 600000, 1);
    files_rig_refused("WorkspaceFull", "bytes, with running transfers");
    files_rig_finish();
    files_rig_refused("FileCancelled", "it was given up");
    assert_int_equal(copies_usage(&files_rig, "aa1").files, 0);
    files_rig_place_tree(4, &tree, "other", 600000, 1);
    files_rig_finish();
    files_rig_was_placed();
    /* Until the workspace is measured again. */
    files_rig_place_tree(5, &tree, "third", 600000, 1);
    files_rig_refused("WorkspaceFull", "bytes, with running transfers");
}

static void trees_count_among_the_copies(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    for (unsigned i = 0; i < 16; i++) {
        cleanup_free char *path = mem_format("r%u", i);

        files_rig_place_tree(i, &tree, path, 0, 0);
    }
    DID("");
    files_rig_place_tree(16, &tree, "new/repo", 0, 0);
    files_rig_refused("FileBusy", "16 files are being copied");
    copies_give_up(&files_rig, 3);
    files_rig_finish();
    assert_null(strstr(names_in(in_workspace("")), "new"));
    assert_null(strstr(names_in(in_workspace("")), "hearth"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_rig_begin, files_rig_end)
        TEST(no_more_is_made_than_was_announced),
        TEST(an_announcement_is_two_numbers),
        TEST(the_limits_hold_before_anything_is_made),
        TEST(many_small_files_take_more_than_their_bytes),
        TEST(what_is_on_its_way_counts),
        TEST(trees_count_among_the_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
