/* What workers have brought, on its way into the workspace: what is placed,
 * what is answered and recorded, and what ends it. Workers and the files thread
 * are records. */
#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/downloads/fetch_placements.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/fetch_steps.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <string.h>

/* As an example of use. */
static void a_file_is_answered_when_it_is_in_the_workspace(void **state)
{
    size_t files = open_files();

    (void) state;
    fetch("aa1", "https://a.example/t.csv?key=secret#x");
    DID("start https://a.example/t.csv?key=secret#x");
    bring(0);
    DID("place for uid=7 in /state/aa1/workspace of aa1, 0 bytes: "
        "{\"details\": {\"sha256\": "
        "\"" HASH "\", \"url\": \"https://a.example/t.csv\"}, \"journaled\": "
        "{\"url\": \"https://a.example/t.csv?key=secret#x\"}, \"path\": "
        "\"t.csv\"}");
    ANSWERED("");
    download_fakes_leave(0);
    DID("destroy https://a.example/t.csv?key=secret#x");
    assert_string_equal(fake_said(), "");
    placed("{\"status\":\"ok\",\"size\":4}");
    assert_string_equal(
        fake_answered(),
        "0 {\"cached\":false,\"encoding\":\"\",\"path\":\"t.csv\",\"sha256\":"
        "\"" HASH "\",\"size\":4,\"status\":\"ok\",\"url\":"
        "\"https://a.example/t.csv?key=secret#x\"}");
    assert_string_equal(fake_said(), "aa1 NOTE");
    assert_string_equal(
        fake_noted(),
        "{\"text\":\"fetched https://a.example/t.csv -> t.csv (4 bytes, "
        "SHA-256 " HASH ")\",\"by\":\"hearth\",\"call\":{\"name\":"
        "\"hearth:fetch\",\"arguments\":{\"order\":\"fetch\",\"kind\":"
        "\"file\",\"url\":\"https://a.example/t.csv?key=secret#x\",\"path\":"
        "\"t.csv\"},\"result\":{\"status\":\"ok\",\"sha256\":\"" HASH
        "\",\"size\":4,\"cached\":false,\"encoding\":\"\",\"path\":\"t.csv\"},"
        "\"revival\":false}}");
    DID("");
    assert_int_equal(open_files(), files);
}

static void a_file_that_does_not_fit(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    bring(0);
    deeds_forget();
    placed(ERROR("WorkspaceFull"));
    ANSWERED("WorkspaceFull");
    DID("audit fetch failed by uid=7 of aa1: {\"ename\": \"WorkspaceFull\", "
        "\"kind\": \"file\", \"path\": \"x\", \"text\": \"no\", \"url\": "
        "\"https://a.example/x\"}");
    assert_string_equal(fake_said(), "");
    placed("{\"status\":\"ok\"}"); /* nothing waits for it */
    download_fakes_leave(0);
    ANSWERED("");
}

/* Opens a file of 4 bytes, as many as OK says. */
static int file_with(int flags)
{
    cleanup_fd int file = file_of(4);
    cleanup_free char *path = mem_format("/proc/self/fd/%d", file);

    return open(path, flags | O_CLOEXEC);
}

#define NO_PLAIN_FILE                                                          \
    "0 {\"ename\":\"FetchFailed\",\"evalue\":\"the fetch worker gave no "      \
    "plain "                                                                   \
    "file\",\"exit_code\":1,\"status\":\"error\"}"

static void what_is_no_plain_file_is_not_placed(void **state)
{
    static const struct {
        const char *path; /* NULL: a file of the right size */
        int flags;
    } cases[] = {
        {"/", O_RDONLY}, {"/dev/null", O_RDONLY}, {NULL, O_PATH},
        {NULL, O_RDWR},  {NULL, O_WRONLY},
    };
    size_t files = open_files();

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fetch("aa1", "https://a.example/x");
        download_fakes.file =
            cases[i].path ? open(cases[i].path, cases[i].flags | O_CLOEXEC)
                          : file_with(cases[i].flags);
        assert_true(download_fakes.file >= 0);
        download_fakes_answer(i, OK);
        assert_string_equal(fake_answered(), NO_PLAIN_FILE);
        download_fakes_leave(i);
    }
    assert_int_equal(download_fakes.placed, 0);
    assert_int_equal(open_files(), files);
}

static void no_file_came(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    download_fakes_answer(0, OK);
    assert_string_equal(fake_answered(), NO_PLAIN_FILE);
    assert_int_equal(download_fakes.placed, 0);
    download_fakes_leave(0);
}

static void destroying_twice_is_harmless(void **state)
{
    fetch_placements_t *none = fetch_placements_new(download_fakes.parts, NULL);

    (void) state;
    fetch_placements_destroy(&none);
    assert_null(none);
    fetch_placements_destroy(&none);
}

static void the_worker_says_the_files_size(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    download_fakes.file = file_of(5);
    download_fakes_answer(0, OK);
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"FetchFailed\",\"evalue\":\"the fetch worker gave a "
        "file of 5 bytes, and said that it has 4\",\"exit_code\":1,\"status\":"
        "\"error\"}");
    assert_int_equal(download_fakes.placed, 0);
    download_fakes_leave(0);
}

static void too_many_files_wait(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    rig_outside.is_files_busy = true;
    bring(0);
    rig_outside.is_files_busy = false;
    ANSWERED("FilesBusy");
    download_fakes_leave(0);
}

/* The copy may be done before it hears of that: then it is answered so. */
static void the_session_ends_while_the_file_is_copied(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    bring(0);
    download_fakes_leave(0);
    deeds_forget();
    fetch_jobs_on_gone(jobs(), "bb2");
    DID("");
    fetch_jobs_on_gone(jobs(), "aa1");
    DID("give up 1");
    ANSWERED("");
    placed(ERROR("FileCancelled"));
    ANSWERED("SessionGone");
    fetch("bb2", "https://a.example/y");
    bring(1);
    download_fakes_leave(1);
    fetch_jobs_on_gone(jobs(), "bb2");
    placed("{\"status\":\"ok\"}");
    ANSWERED("ok");
}

static void a_copy_is_cancelled(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    bring(0);
    download_fakes_leave(0);
    deeds_forget();
    download_fakes_fetch("{\"id\":\"bb2\",\"order\":\"cancel\",\"number\":1}");
    ANSWERED("FetchUnknown");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":1}");
    ANSWERED("ok");
    DID("give up 1");
    placed(ERROR("FileCancelled"));
    ANSWERED("FetchCancelled");
}

/* The worker has the file, and there is no workspace for it any more. */
static void the_session_ends_before_the_file_is_placed(void **state)
{
    session_entry_t *entry =
        session_table_find(download_fakes.parts->table, "aa1");

    (void) state;
    fetch("aa1", "https://a.example/x");
    session_table_remove(download_fakes.parts->table, &entry);
    bring(0);
    ANSWERED("SessionGone");
    assert_int_equal(download_fakes.placed, 0);
    download_fakes_leave(0);
}

#define COMMIT "0123456789012345678901234567890123456789"
#define CLONED                                                                 \
    "{\"status\":\"ok\",\"commit\":\"" COMMIT "\",\"branch\":\"main\","        \
    "\"size\":4,\"bytes\":3,\"files\":2,\"lfs\":0,\"submodules\":1,"           \
    "\"cached\":false}"

/* Its worker's file has a tree, and clients see nothing of that file. */
static void a_repository_is_answered_when_it_is_in_the_workspace(void **state)
{
    size_t files = open_files();

    (void) state;
    download_fakes_fetch(
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"kind\":\"repository\",\"url\":"
        "\"https://a.example/x.git?k=s\",\"ref\":\"v1\",\"depth\":3}");
    deeds_forget();
    bring_with(0, CLONED);
    DID("place a tree for uid=7 in /state/aa1/workspace of aa1, 0 bytes: "
        "{\"details\": {\"branch\": \"main\", \"commit\": \"" COMMIT "\", "
        "\"url\": \"https://a.example/x.git\"}, \"journaled\": {\"depth\": 3, "
        "\"ref\": \"v1\", \"url\": \"https://a.example/x.git?k=s\"}, "
        "\"path\": \"x\", \"usage\": {\"bytes\": 3, \"files\": 2}}");
    download_fakes_leave(0);
    placed("{\"status\":\"ok\"}");
    assert_string_equal(
        fake_answered(),
        "0 {\"branch\":\"main\",\"bytes\":3,\"cached\":false,\"commit\":"
        "\"" COMMIT "\",\"files\":2,\"lfs\":0,\"path\":\"x\",\"status\":\"ok\","
        "\"submodules\":1,\"url\":\"https://a.example/x.git?k=s\"}");
    assert_string_equal(fake_said(), "aa1 NOTE");
    assert_int_equal(open_files(), files);
}

/* Both in the audit record and in the journal. */
static void is_twice(const char *all, const char *member)
{
    const char *first = strstr(all, member);

    assert_non_null(first);
    assert_non_null(strstr(first + 1, member));
}

static void more_of_a_repository_is_recorded(void **state)
{
    const char *all;

    (void) state;
    fake_profile.fetch.has_submodules = 1;
    download_fakes_set_rules(NULL, NULL);
    download_fakes_fetch(
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"kind\":\"repository\",\"url\":"
        "\"https://a.example/x.git\",\"lfs\":true,\"submodules\":true}");
    assert_true(
        json_is_true(json_object_get(download_fakes.workers[0].job, "lfs")));
    assert_true(json_is_true(
        json_object_get(download_fakes.workers[0].job, "submodules")));
    deeds_forget();
    bring_with(0, CLONED);
    all = deeds_take();
    is_twice(all, "\"lfs\": true");
    is_twice(all, "\"submodules\": true");
    download_fakes_leave(0);
    placed("{\"status\":\"ok\"}");
    ANSWERED("ok");
}

static void a_repository_that_is_not_placed_has_a_record(void **state)
{
    (void) state;
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"kind\":"
                         "\"repository\",\"url\":\"https://a.example/x\"}");
    bring_with(0, CLONED);
    download_fakes_leave(0);
    deeds_forget();
    placed(ERROR("FileExists"));
    ANSWERED("FileExists");
    DID("audit fetch failed by uid=7 of aa1: {\"ename\": \"FileExists\", "
        "\"kind\": \"repository\", \"path\": \"x\", \"text\": \"no\", "
        "\"url\": \"https://a.example/x\"}");
    assert_string_equal(fake_said(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FETCH_TEST(a_file_is_answered_when_it_is_in_the_workspace),
        FETCH_TEST(a_file_that_does_not_fit),
        FETCH_TEST(what_is_no_plain_file_is_not_placed),
        FETCH_TEST(no_file_came),
        FETCH_TEST(destroying_twice_is_harmless),
        FETCH_TEST(the_worker_says_the_files_size),
        FETCH_TEST(too_many_files_wait),
        FETCH_TEST(the_session_ends_while_the_file_is_copied),
        FETCH_TEST(a_copy_is_cancelled),
        FETCH_TEST(the_session_ends_before_the_file_is_placed),
        FETCH_TEST(a_repository_is_answered_when_it_is_in_the_workspace),
        FETCH_TEST(more_of_a_repository_is_recorded),
        FETCH_TEST(a_repository_that_is_not_placed_has_a_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
