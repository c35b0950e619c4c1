/* What a clone worker may say, and that nothing else reaches a client. The
 * answers are JSON of the test. */
#include "gateway/registry/downloads/clone_answer.h"

#include "base/cleanup.h"
#include "tests/lib/test.h"

#include <string.h>

#define HASH   "0123456789012345678901234567890123456789"
#define COUNTS "\"size\":9,\"bytes\":5,\"files\":2,\"lfs\":1,\"submodules\":3"
#define OK(commit, branch, rest)                                               \
    "{\"ok\":{\"commit\":" commit ",\"branch\":" branch "," rest "}}"

/* Returns the reply as text with sorted keys, lent. */
static const char *read_text(const char *said)
{
    static char text[2000];
    download_progress_t progress = {.bytes = 0};
    json_auto_t *reply = download_answer_read(
        &clone_kind, (bytes_t){said, strlen(said)}, &progress);
    cleanup_free char *dumped = json_dumps(reply, JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", dumped ? dumped : "");
    return text;
}

/* As an example of use. */
static void an_answer(void **state)
{
    (void) state;
    assert_string_equal(
        read_text(OK("\"" HASH "\"", "\"feature/a-b_1.0+x@y#2\"",
                     COUNTS ",\"cached\":true")),
        "{\"branch\": \"feature/a-b_1.0+x@y#2\", \"bytes\": 5, \"cached\": "
        "true, \"commit\": \"" HASH "\", \"files\": 2, \"lfs\": 1, \"size\": "
        "9, \"status\": \"ok\", \"submodules\": 3}");
    assert_non_null(strstr(read_text(OK("\"" HASH "012345678901234567890123\"",
                                        "\"\"", COUNTS ",\"cached\":false")),
                           "\"status\": \"ok\""));
}

static void a_note_is_one_clean_sentence(void **state)
{
    (void) state;
    assert_non_null(
        strstr(read_text(OK("\"" HASH "\"", "\"\"",
                            COUNTS ",\"cached\":true,\"note\":\"a\\u001bb\"")),
               "\"note\": \"a b\", "));
}

static void what_is_not_valid_is_a_failure(void **state)
{
    static const struct {
        const char *said, *flaw;
    } cases[] = {
        {"{\"ok\":{}}", "not the eight members"},
        {OK("\"" HASH "\"", "\"\"", COUNTS), "not the eight members"},
        {OK("\"" HASH "\"", "\"\"", COUNTS ",\"cached\":true,\"more\":1"),
         "not the eight members"},
        {OK("\"" HASH "\"", "\"\"", COUNTS ",\"status\":\"ok\""), "cached"},
        {OK("\"" HASH "0\"", "\"\"", COUNTS ",\"cached\":true"), "commit"},
        {OK("7", "\"\"", COUNTS ",\"cached\":true"), "commit"},
        {OK("\"A123456789012345678901234567890123456789\"", "\"\"",
            COUNTS ",\"cached\":true"),
         "commit"},
        {OK("\"" HASH "\"", "null", COUNTS ",\"cached\":true"), "branch"},
        {OK("\"" HASH "\"", "\"a b\"", COUNTS ",\"cached\":true"), "branch"},
        {OK("\"" HASH "\"", "\"a\\u001b\"", COUNTS ",\"cached\":true"),
         "branch"},
        {OK("\"" HASH "\"", "\"\"",
            "\"size\":-1,\"bytes\":5,\"files\":2,\"lfs\":1,\"submodules\":3,"
            "\"cached\":true"),
         "size"},
        {OK("\"" HASH "\"", "\"\"",
            "\"size\":9,\"bytes\":1.5,\"files\":2,\"lfs\":1,\"submodules\":3,"
            "\"cached\":true"),
         "bytes"},
        {OK("\"" HASH "\"", "\"\"",
            "\"size\":9,\"bytes\":5,\"files\":\"2\",\"lfs\":1,\"submodules\":3,"
            "\"cached\":true"),
         "files"},
        {OK("\"" HASH "\"", "\"\"",
            "\"size\":9,\"bytes\":5,\"files\":2,\"lfs\":-1,\"submodules\":3,"
            "\"cached\":true"),
         "lfs"},
        {OK("\"" HASH "\"", "\"\"",
            "\"size\":9,\"bytes\":5,\"files\":2,\"lfs\":1,\"submodules\":null,"
            "\"cached\":true"),
         "submodules"},
        {OK("\"" HASH "\"", "\"\"", COUNTS ",\"cached\":1"), "cached"},
        {OK("\"" HASH "\"", "\"\"", COUNTS ",\"cached\":true,\"note\":7"),
         "note"},
        {OK("\"" HASH "\"", "\"\"", COUNTS ",\"note\":\"x\""),
         "not the eight members"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reply = read_text(cases[i].said);

        if (!strstr(reply, "\"FetchFailed\"") || !strstr(reply, cases[i].flaw)
            || !strstr(reply, "the clone worker said what is not valid"))
            fail_msg("%s: %s", cases[i].said, reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer),
        cmocka_unit_test(a_note_is_one_clean_sentence),
        cmocka_unit_test(what_is_not_valid_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
