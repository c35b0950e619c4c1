/* What a worker of downloads may say: a word of progress, its answer or a
 * fault. The kind is the test's; those of packages and files have their own
 * tests. */
#include "gateway/registry/downloads/download_answer.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "tests/lib/test.h"

#include <string.h>

#define INVALID                                                                \
    "{\"ename\":\"ThingFailed\",\"evalue\":\"the worker said what is not "     \
    "valid: %s\",\"exit_code\":1,\"status\":\"error\"}"

static json_t *read_ok(const json_t *said, const char **ret_flaw)
{
    if (json_object_get(said, "a"))
        return json_pack("{s:s}", "status", "ok");
    if (json_object_get(said, "b"))
        *ret_flaw = "b";
    return NULL;
}

static const download_kind_t kind = {
    .noun = "Thing", .worker = "the worker", .read_ok = read_ok};
static download_progress_t progress;

/* Returns the reply with sorted keys, lent; "" for progress. */
static const char *read_size(const char *said, size_t size)
{
    static char text[4000];
    json_auto_t *reply =
        download_answer_read(&kind, (bytes_t){said, size}, &progress);
    cleanup_free char *dumped =
        json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", dumped ? dumped : "");
    return text;
}

static const char *read_text(const char *said)
{
    return read_size(said, strlen(said));
}

static void expect_invalid(const char *said, const char *flaw)
{
    char text[1000];

    snprintf(text, sizeof text, INVALID, flaw);
    assert_string_equal(read_text(said), text);
}

static void an_answer_is_read_by_its_kind(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"ok\":{\"a\":1}}"), "{\"status\":\"ok\"}");
    expect_invalid("{\"ok\":{\"b\":1}}", "b");
    expect_invalid("{\"ok\":{}}", "an unknown member of `ok`");
    expect_invalid("{\"ok\":[1]}", "an unknown member of `ok`");
}

static void what_is_no_message_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "{",
                                        "[1]",
                                        "{}",
                                        "{\"ok\":{\"a\":1},\"fault\":{}}",
                                        "{\"ok\":{\"a\":1},\"ok\":{\"a\":1}}"};

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_invalid(wrong[i], "no JSON object of one member");
    expect_invalid("{\"else\":1}", "an unknown member");
}

static void progress_is_a_text_or_bytes(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"progress\":\"a\\nb\"}"), "");
    assert_string_equal(progress.text, "a b");
    assert_string_equal(read_text("{\"progress\":{\"bytes\":5,\"total\":-1}}"),
                        "");
    assert_int_equal(progress.bytes, 5);
    assert_int_equal(progress.total, -1);
    assert_string_equal(read_text("{\"progress\":{\"bytes\":0,\"total\":7}}"),
                        "");
    assert_int_equal(progress.bytes, 0);
    assert_int_equal(progress.total, 7);
}

static void other_progress_is_refused(void **state)
{
    static const char *const wrong[] = {
        "7",
        "{\"bytes\":5}",
        "{\"bytes\":5,\"total\":1,\"a\":1}",
        "{\"bytes\":\"5\",\"total\":1}",
        "{\"bytes\":5,\"total\":\"1\"}",
        "{\"bytes\":-1,\"total\":1}",
    };

    (void) state;
    progress = (download_progress_t){.bytes = 3};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *said = mem_format("{\"progress\":%s}", wrong[i]);

        expect_invalid(said, "an unknown member");
        assert_int_equal(progress.bytes, 3);
    }
}

static void a_fault_has_a_name_and_a_sentence(void **state)
{
    static const struct {
        const char *name;
        int exit_code;
    } faults[] = {{"Invalid", 2},
                  {"Refused", 1},
                  {"Conflict", 1},
                  {"Failed", 1},
                  {"Unreachable", 1}};

    (void) state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        cleanup_free char *said =
            mem_format("{\"fault\":{\"ename\":\"Thing%s\",\"text\":\"a\\tb\"}}",
                       faults[i].name);
        cleanup_free char *reply =
            mem_format("{\"ename\":\"Thing%s\",\"evalue\":\"a b\","
                       "\"exit_code\":%d,\"status\":\"error\"}",
                       faults[i].name, faults[i].exit_code);

        assert_string_equal(read_text(said), reply);
    }
}

static void a_fault_may_have_a_rule(void **state)
{
    static const char *const wrong[] = {
        "7",        "null",
        "\"\"",     "\"a b\"",
        "\"a\\n\"", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"", /* 33 letters */
    };

    (void) state;
    assert_string_equal(
        read_text("{\"fault\":{\"ename\":\"ThingRefused\",\"text\":\"a\","
                  "\"rule\":\"require_hashes\"}}"),
        "{\"ename\":\"ThingRefused\",\"evalue\":\"a\",\"exit_code\":1,"
        "\"rule\":\"require_hashes\",\"status\":\"error\"}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *said =
            mem_format("{\"fault\":{\"ename\":\"ThingFailed\",\"text\":\"a\","
                       "\"rule\":%s}}",
                       wrong[i]);

        expect_invalid(said, "an unknown fault");
    }
}

/* The process that starts a worker as another user says it. */
static void a_fault_that_is_a_text_is_a_failure(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"fault\":\"no\\nuser %s\"}"),
                        "{\"ename\":\"ThingFailed\",\"evalue\":\"no user %s\","
                        "\"exit_code\":1,\"status\":\"error\"}");
}

static void other_faults_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"ename\":\"ThingFailed\"}",
        "{\"text\":\"a\"}",
        "{\"ename\":\"ThingFailed\",\"text\":\"a\",\"more\":1}",
        "{\"ename\":\"ThingElse\",\"text\":\"a\"}",
        "{\"ename\":\"OtherFailed\",\"text\":\"a\"}",
        "{\"ename\":7,\"text\":\"a\"}",
        "7",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *said = mem_format("{\"fault\":%s}", wrong[i]);

        expect_invalid(said, "an unknown fault");
    }
}

static void an_unknown_error_of_ours_is_a_failure(void **state)
{
    json_auto_t *error = download_answer_error(&kind, "Else", "%d", 7);

    (void) state;
    assert_int_equal(json_integer_value(json_object_get(error, "exit_code")),
                     GATEWAY_EXIT_FAILED);
}

static void a_sentence_is_one_line_that_fits(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *clean;
    } texts[] = {
        {"abc", 4, "abc"},
        {"abcd", 4, "abc"},
        {"a\n\x7f\xe2\x80\xa8\xe2\x80\xae", 20, "a    "},
        {"ab\xc3\xa9", 5, "ab\xc3\xa9"},
        {"ab\xc3\xa9", 4, "ab"},
        {"ab\xc3", 9, "ab"},
        {"", 1, ""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char clean[20];

        download_answer_clean(texts[i].text, clean, texts[i].size);
        assert_string_equal(clean, texts[i].clean);
    }
}

static void a_word_has_letters_at_both_ends(void **state)
{
    static const char letters[] = DOWNLOAD_LETTERS "-";
    static const char *const wrong[] = {"",  "-a",   "a-", "a b",
                                        "-", "abcd", NULL};

    (void) state;
    assert_true(download_answer_is_word("a-b", letters, 3));
    assert_true(download_answer_is_word("a", letters, 3));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(download_answer_is_word(wrong[i], letters, 3));
}

static void a_hash_has_64_digits(void **state)
{
    static const char digits[] =
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    json_auto_t *good = json_string(digits);
    json_auto_t *bad = json_string(digits + 1);

    (void) state;
    assert_true(download_answer_is_hash(good));
    assert_false(download_answer_is_hash(bad));
    assert_false(download_answer_is_hash(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_read_by_its_kind),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(progress_is_a_text_or_bytes),
        cmocka_unit_test(other_progress_is_refused),
        cmocka_unit_test(a_fault_has_a_name_and_a_sentence),
        cmocka_unit_test(a_fault_may_have_a_rule),
        cmocka_unit_test(a_fault_that_is_a_text_is_a_failure),
        cmocka_unit_test(other_faults_are_refused),
        cmocka_unit_test(an_unknown_error_of_ours_is_a_failure),
        cmocka_unit_test(a_sentence_is_one_line_that_fits),
        cmocka_unit_test(a_word_has_letters_at_both_ends),
        cmocka_unit_test(a_hash_has_64_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
