/* What a fetch worker may say, and that nothing else reaches a client. The
 * answers are JSON of the test. */
#include "gateway/registry/downloads/fetch_answer.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <string.h>

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

static download_progress_t progress;

/* Returns the reply as text with sorted keys, lent; "" for progress. */
static const char *read_text(const char *said)
{
    static char text[2000];
    json_auto_t *reply = download_answer_read(
        &fetch_kind, (bytes_t){said, strlen(said)}, &progress);
    cleanup_free char *dumped = json_dumps(reply, JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", dumped ? dumped : "");
    return text;
}

/* As an example of use. */
static void progress_and_an_answer(void **state)
{
    (void) state;
    progress = (download_progress_t){.text = ""};
    assert_string_equal(read_text("{\"progress\":\"waiting\"}"), "");
    assert_string_equal(read_text("{\"progress\":{\"bytes\":5,\"total\":9}}"),
                        "");
    assert_string_equal(progress.text, "waiting");
    assert_int_equal(progress.bytes, 5);
    assert_int_equal(progress.total, 9);
    read_text("{\"progress\":{\"bytes\":6,\"total\":-1}}");
    assert_int_equal(progress.bytes, 6);
    assert_int_equal(progress.total, -1);
    assert_string_equal(
        read_text("{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":"
                  "true,\"encoding\":\"gzip\"}}"),
        "{\"cached\": true, \"encoding\": \"gzip\", \"sha256\": \"" HASH
        "\", \"size\": 4, \"status\": \"ok\"}");
}

static void a_fault_has_its_exit_code(void **state)
{
    (void) state;
    assert_string_equal(
        read_text("{\"fault\":{\"ename\":\"FetchInvalid\",\"text\":\"no\"}}"),
        "{\"ename\": \"FetchInvalid\", \"evalue\": \"no\", \"exit_code\": 2, "
        "\"status\": \"error\"}");
    assert_string_equal(
        read_text(
            "{\"fault\":{\"ename\":\"FetchUnreachable\",\"text\":\"no\"}}"),
        "{\"ename\": \"FetchUnreachable\", \"evalue\": \"no\", \"exit_code\": "
        "1, \"status\": \"error\"}");
}

static void what_is_not_valid_is_a_failure(void **state)
{
    static const char *const said[] = {
        "{\"ok\":{}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":true}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":true,"
        "\"encoding\":\"\",\"more\":1}}",
        "{\"ok\":{\"sha256\":\"" HASH "0\",\"size\":4,\"cached\":true,"
        "\"encoding\":\"\"}}",
        "{\"ok\":{\"sha256\":\"X\",\"size\":4,\"cached\":true,\"encoding\":"
        "\"\"}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":-1,\"cached\":true,"
        "\"encoding\":\"\"}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":1.5,\"cached\":true,"
        "\"encoding\":\"\"}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":1,"
        "\"encoding\":\"\"}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":true,"
        "\"encoding\":\"g\\u001bz\"}}",
        "{\"ok\":{\"sha256\":\"" HASH "\",\"size\":4,\"cached\":true,"
        "\"encoding\":null}}",
        "{\"fault\":{\"ename\":\"PackagesFailed\",\"text\":\"x\"}}",
        "{\"fault\":{\"ename\":\"Fetch\",\"text\":\"x\"}}",
        "{\"fault\":{\"ename\":\"FetchOff\",\"text\":\"x\"}}",
        "{\"progress\":{\"bytes\":-1,\"total\":9}}",
        "{\"progress\":{\"bytes\":1}}",
        "{\"progress\":{\"bytes\":1,\"total\":9,\"more\":1}}",
        "{\"progress\":{\"bytes\":\"1\",\"total\":9}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *reply = read_text(said[i]);

        if (!strstr(reply, "\"FetchFailed\"")
            || !strstr(reply, "the fetch worker said what is not valid"))
            fail_msg("%s: %s", said[i], reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_and_an_answer),
        cmocka_unit_test(a_fault_has_its_exit_code),
        cmocka_unit_test(what_is_not_valid_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
