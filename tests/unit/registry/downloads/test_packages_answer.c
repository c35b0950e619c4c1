/* What a packages worker may say, and that nothing else reaches a client. The
 * answers are JSON of the test. */
#include "gateway/registry/downloads/packages_answer.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <string.h>

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

static download_progress_t progress;

/* Returns the reply as text with sorted keys, lent; "" for progress. */
static const char *read_bytes(const char *said, size_t size)
{
    static char text[2000];
    json_auto_t *reply =
        download_answer_read(&packages_kind, (bytes_t){said, size}, &progress);
    cleanup_free char *dumped = json_dumps(reply, JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", dumped ? dumped : "");
    return text;
}

static const char *read_text(const char *said)
{
    return read_bytes(said, strlen(said));
}

/* As an example of use: what a worker says first, and what it says last. */
static void progress_and_an_answer(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"progress\":\"fetching numpy\"}"), "");
    assert_string_equal(progress.text, "fetching numpy");
    assert_string_equal(
        read_text(
            "{\"ok\":{\"packages\":[{\"name\":\"humanize\",\"version\":"
            "\"4.17.0\",\"requested\":true,\"sha256\":\"" HASH
            "\"}],\"added\":[{\"name\":\"humanize\","
            "\"version\":\"4.17.0\",\"modules\":[\"human\",\"a.b\"]}],"
            "\"changed\":[{\"name\":\"x\",\"from\":"
            "\"1!1.0\",\"to\":\"1.1+cu12\"}],\"removed\":[],\"present\":[],"
            "\"notes\":[\"x was\\nyanked\"]}}"),
        "{\"added\": [{\"modules\": [\"human\", \"a.b\"], \"name\": "
        "\"humanize\", \"version\": \"4.17.0\"}], "
        "\"changed\": [{\"from\": \"1!1.0\", \"name\": \"x\", \"to\": "
        "\"1.1+cu12\"}], \"notes\": [\"x was yanked\"], "
        "\"packages\": [{\"name\": \"humanize\", \"requested\": true, "
        "\"sha256\": \"" HASH
        "\", \"version\": \"4.17.0\"}], \"present\": [], \"removed\": [], "
        "\"status\": \"ok\"}");
}

static void lists_may_be_missing(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"ok\":{}}"),
                        "{\"added\": [], \"changed\": [], \"notes\": [], "
                        "\"packages\": [], "
                        "\"present\": [], \"removed\": [], \"status\": "
                        "\"ok\"}");
}

static void a_fault_has_its_exit_code(void **state)
{
    (void) state;
    assert_string_equal(
        read_text(
            "{\"fault\":{\"ename\":\"PackagesInvalid\",\"text\":\"no\"}}"),
        "{\"ename\": \"PackagesInvalid\", \"evalue\": \"no\", \"exit_code\": "
        "2, \"status\": \"error\"}");
    assert_string_equal(
        read_text(
            "{\"fault\":{\"ename\":\"PackagesRefused\",\"text\":\"no\"}}"),
        "{\"ename\": \"PackagesRefused\", \"evalue\": \"no\", \"exit_code\": "
        "1, \"status\": \"error\"}");
}

/* The mapper says it so, in the place of a worker that it cannot start. */
static void a_fault_may_be_a_sentence(void **state)
{
    (void) state;
    assert_string_equal(read_text("{\"fault\":\"cannot start\"}"),
                        "{\"ename\": \"PackagesFailed\", \"evalue\": \"cannot "
                        "start\", \"exit_code\": 1, \"status\": \"error\"}");
}

static void controls_are_spaces(void **state)
{
    (void) state;
    assert_string_equal(
        read_text("{\"progress\":\"a\\u001b[2J\\nb\\u009b\\u202e\\u2028c "
                  "\xC3\xA4\\u007f.\"}"),
        "");
    assert_string_equal(progress.text, "a [2J b   c \xC3\xA4 .");
    assert_non_null(strstr(read_text("{\"fault\":{\"ename\":\"PackagesFailed\","
                                     "\"text\":\"a\\r\\nb\"}}"),
                           "\"a  b\""));
}

/* A text is cut, between two characters. */
static void texts_are_bounded(void **state)
{
    cleanup_buffer buffer_t said = BUFFER_EMPTY;

    (void) state;
    buffer_text(&said, "{\"progress\":\"x");
    for (int i = 0; i < 1000; i++)
        buffer_text(&said, "\xC3\xA4");
    buffer_text(&said, "\"}");
    assert_string_equal(read_bytes((const char *) said.data, said.size), "");
    assert_int_equal(strlen(progress.text), DOWNLOAD_WORD_MAX - 1);
    assert_string_equal(progress.text + DOWNLOAD_WORD_MAX - 3, "\xC3\xA4");
}

static void check_all_are_failures(const char *const *said, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *reply = read_text(said[i]);

        if (!strstr(reply, "\"PackagesFailed\"")
            || !strstr(reply, "said what is not valid"))
            fail_msg("%s: %s", said[i], reply);
    }
}

static void an_answer_that_is_not_valid_is_a_failure(void **state)
{
    static const char *const said[] = {
        "",
        "{",
        "[]",
        "{}",
        "\"ok\"",
        "{\"ok\":null}",
        "{\"ok\":[]}",
        "{\"ok\":{},\"progress\":\"x\"}",
        "{\"ok\":{},\"ok\":{}}",
        "{\"ok\":{\"other\":[]}}",
        "{\"ok\":{\"notes\":{}}}",
        "{\"ok\":{\"notes\":[1]}}",
        ("{\"ok\":{\"notes\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]}}"),
        "{\"fault\":{}}",
        "{\"fault\":{\"ename\":\"PackagesFailed\"}}",
        "{\"fault\":{\"ename\":\"SessionGone\",\"text\":\"x\"}}",
        "{\"fault\":{\"ename\":\"PackagesFailed\",\"text\":\"x\",\"y\":1}}",
        "{\"fault\":{\"ename\":\"PackagesFailed\",\"text\":[]}}",
        "{\"progress\":1}",
        "{\"progress\":\"a\\u0000b\"}",
        "{\"progress\":\"\xC3\"}",
        "{\"other\":1}",
    };

    (void) state;
    check_all_are_failures(said, sizeof said / sizeof *said);
}

static void a_package_that_is_not_valid_is_a_failure(void **state)
{
    static const char *const said[] = {
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1\",\"modules\":"
        "[]}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1\",\"modules\":"
        "[\"a b\"]}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1\",\"modules\":"
        "[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}]}}",
        "{\"ok\":{\"removed\":[{\"name\":\"a\",\"version\":\"1\",\"modules\":"
        "[\"b\"]}]}}",
        "{\"ok\":{\"added\":{}}}",
        "{\"ok\":{\"packages\":[{\"name\":\"a\",\"version\":\"1\","
        "\"requested\":true,\"sha256\":\"00\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1\","
        "\"sha256\":\"" HASH "\"}]}}",
        "{\"ok\":{\"added\":[1]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":1}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1\",\"x\":1}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"../a\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a/b\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"_a_\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\\n\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"added\":[{\"name\":\"a\",\"version\":\"1 2\"}]}}",
        "{\"ok\":{\"changed\":[{\"name\":\"a\",\"version\":\"1\"}]}}",
        "{\"ok\":{\"packages\":[{\"name\":\"a\",\"version\":\"1\"}]}}",
        ("{\"ok\":{\"packages\":[{\"name\":\"a\",\"version\":\"1\","
         "\"requested\":1}]}}"),
    };

    (void) state;
    check_all_are_failures(said, sizeof said / sizeof *said);
}

static void a_long_name_is_not_valid(void **state)
{
    char name[200];
    cleanup_free char *said = NULL, *longer = NULL;

    (void) state;
    memset(name, 'a', sizeof name);
    name[128] = '\0';
    said = mem_format(
        "{\"ok\":{\"added\":[{\"name\":\"%s\",\"version\":\"1\"}]}}", name);
    longer = mem_format(
        "{\"ok\":{\"added\":[{\"name\":\"%sa\",\"version\":\"1\"}]}}", name);
    assert_non_null(strstr(read_text(said), "\"ok\""));
    assert_non_null(strstr(read_text(longer), "the list added"));
}

static const char *read_environment(const char *said)
{
    static char text[2000];
    cleanup_free char *whole = mem_format("{\"ok\":{%s}}", said);
    json_auto_t *reply = download_answer_read(
        &preinstall_kind, (bytes_t){whole, strlen(whole)}, &progress);
    const char *member =
        json_string_value(json_object_get(reply, "environment"));

    snprintf(text, sizeof text, "%s",
             member ? member
                    : json_string_value(json_object_get(reply, "ename")));
    return text;
}

#define KEY "0123456789abcdef0123456789abcdef"

static void an_environment_is_a_key_and_a_number(void **state)
{
    static const char *const wrong[] = {
        "",
        "\"environment\":1",
        "\"environment\":\"\"",
        "\"environment\":\"" KEY "\"",
        "\"environment\":\"" KEY "/\"",
        "\"environment\":\"" KEY "/0\"",
        "\"environment\":\"" KEY "/-1\"",
        "\"environment\":\"" KEY "/1/..\"",
        "\"environment\":\"" KEY "0/1\"",
        "\"environment\":\"../" KEY "/1\"",
        "\"environment\":\"" KEY "/1234567890\"",
        "\"environment\":\"" KEY "/1\",\"more\":1",
    };

    (void) state;
    assert_string_equal(
        read_environment("\"environment\":\"" KEY "/12\",\"added\":[]"),
        KEY "/12");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(read_environment(wrong[i]), "PackagesFailed");
    /* A session has none. */
    assert_non_null(
        strstr(read_text("{\"ok\":{\"environment\":\"" KEY "/1\"}}"), "error"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_and_an_answer),
        cmocka_unit_test(lists_may_be_missing),
        cmocka_unit_test(a_fault_has_its_exit_code),
        cmocka_unit_test(a_fault_may_be_a_sentence),
        cmocka_unit_test(controls_are_spaces),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(an_answer_that_is_not_valid_is_a_failure),
        cmocka_unit_test(a_package_that_is_not_valid_is_a_failure),
        cmocka_unit_test(a_long_name_is_not_valid),
        cmocka_unit_test(an_environment_is_a_key_and_a_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
