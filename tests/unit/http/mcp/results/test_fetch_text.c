/* The text of a file or a repository from outside, for a model. */
#include "base/buffer.h"
#include "gateway/http/mcp/results/fetch_text.h"
#include "tests/lib/test.h"

#define COMMIT "f572d396fae9206628714fb2ce00f72e94f2258f"

static json_t *repository(const char *branch, int lfs, int submodules,
                          bool is_cached)
{
    return json_pack("{s:s,s:s,s:s,s:i,s:I,s:i,s:i,s:b}", "path", "src/tool",
                     "commit", COMMIT, "branch", branch, "files", 7, "bytes",
                     (json_int_t) 3 << 30, "lfs", lfs, "submodules", submodules,
                     "cached", is_cached);
}

static void describes_a_file(void **state)
{
    json_auto_t *reply =
        json_pack("{s:s,s:i,s:s,s:s,s:b}", "path", "data/table.csv", "size", 24,
                  "sha256", "00ff", "encoding", "", "cached", 0);
    cleanup_free char *plain = fetch_text_fetched(reply);

    (void) state;
    assert_string_equal(plain, "data/table.csv has 24 bytes now, SHA-256 00ff");
    json_object_set_new(reply, "encoding", json_string("gzip"));
    json_object_set_new(reply, "cached", json_true());
    cleanup_free char *zipped = fetch_text_fetched(reply);
    assert_string_equal(zipped, "data/table.csv has 24 bytes now, SHA-256 00ff "
                                "(cached), compressed: gzip");
}

static void describes_a_repository(void **state)
{
    static const struct {
        const char *branch;
        int lfs, submodules;
        bool is_cached, had_lfs;
        const char *rest;
    } rows[] = {
        {"main", 0, 0, false, false,
         "branch main: 7 files and folders, 3221225472 bytes"},
        {"main", 0, 0, true, true,
         "branch main: 7 files and folders, 3221225472 bytes (cached)"},
        {"", 0, 0, false, false,
         "on no branch: 7 files and folders, 3221225472 bytes"},
        {"main", 3, 2, false, false,
         "branch main: 7 files and folders, 3221225472 bytes. 3 files are Git "
         "LFS pointers: lfs = true brings their contents. 2 submodules are "
         "empty folders"},
        {"main", 1, 1, false, false,
         "branch main: 7 files and folders, 3221225472 bytes. 1 file is a Git "
         "LFS pointer: lfs = true brings its content. 1 submodule is an empty "
         "folder"},
        {"main", 3, 0, false, true,
         "branch main: 7 files and folders, 3221225472 bytes. 3 files look "
         "like Git LFS pointers, and stay"},
        {"main", 1, 0, false, true,
         "branch main: 7 files and folders, 3221225472 bytes. 1 file looks "
         "like a Git LFS pointer, and stays"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *reply = repository(rows[i].branch, rows[i].lfs,
                                        rows[i].submodules, rows[i].is_cached);
        cleanup_free char *text = fetch_text_cloned(reply, rows[i].had_lfs);
        cleanup_free char *wanted =
            mem_format("src/tool has commit " COMMIT " now, %s", rows[i].rest);

        assert_string_equal(text, wanted);
    }
}

static void passes_a_note_on(void **state)
{
    json_auto_t *reply = repository("main", 0, 1, true);

    (void) state;
    json_object_set_new(reply, "note", json_string("the server is away"));
    cleanup_free char *text = fetch_text_cloned(reply, false);
    assert_string_equal(text,
                        "src/tool has commit " COMMIT
                        " now, branch main: 7 files and folders, 3221225472 "
                        "bytes (cached). Note: the server is away. 1 submodule "
                        "is an empty folder");
}

static void says_how_far_it_has_come(void **state)
{
    json_auto_t *fetch = json_pack("{s:s,s:s,s:i,s:i}", "path", "tool", "state",
                                   "running", "bytes", 5, "total", 10);
    cleanup_free char *known = fetch_text_running(fetch, false);

    (void) state;
    assert_string_equal(known, "RUNNING: tool is running, 5 of 10 bytes have "
                               "come. The fetch goes on; the same call again "
                               "waits for it.");
    json_object_set_new(fetch, "total", json_null());
    cleanup_free char *unknown = fetch_text_running(fetch, true);
    assert_string_equal(unknown, "RUNNING: tool is running, 5 bytes have come. "
                                 "The clone goes on; the same call again waits "
                                 "for it. Its folder is there once it is "
                                 "whole.");
    cleanup_free char *ended = fetch_text_running(NULL, true);
    assert_string_equal(ended, "RUNNING: the repository is almost there, 0 "
                               "bytes have come. The clone goes on; the same "
                               "call again waits for it. Its folder is there "
                               "once it is whole.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_a_file),
        cmocka_unit_test(describes_a_repository),
        cmocka_unit_test(passes_a_note_on),
        cmocka_unit_test(says_how_far_it_has_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
