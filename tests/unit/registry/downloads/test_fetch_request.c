/* Requests for files and repositories: what they name, and what is refused.
 * The requests are JSON of the test. */
#include "gateway/registry/downloads/fetch_request.h"

#include "base/buffer.h"
#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "tests/lib/test.h"

#include <string.h>

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

/* Returns what the request of these members asks for, as "file t.csv", or why
 * it is refused; the caller owns it. */
static char *read_text(const char *members)
{
    cleanup_free char *text =
        mem_format("{\"url\":\"https://a.example/t.git\"%s%s}",
                   *members ? "," : "", members);
    json_auto_t *content = json_loads(text, JSON_ALLOW_NUL, NULL);
    const download_kind_t *kind = NULL;
    cleanup_free char *path = NULL;
    json_auto_t *error = fetch_request_read(content, &kind, &path);

    assert_non_null(content);
    if (!error)
        return mem_format("%s %s", kind->thing, path);
    assert_null(kind);
    assert_null(path);
    assert_string_equal(json_string_value(json_object_get(error, "ename")),
                        "BadRequest");
    return mem_text(json_string_value(json_object_get(error, "evalue")));
}

/* As an example of use. */
static void what_is_asked_for(void **state)
{
    static const char *const cases[][2] = {
        {"", "file t.git"},
        {"\"kind\":\"file\",\"sha256\":\"" HASH "\"", "file t.git"},
        {"\"kind\":\"repository\"", "repository t"},
        {"\"kind\":\"repository\",\"path\":\"a/\"", "repository a/t"},
        {"\"kind\":\"repository\",\"ref\":\"feature/\xC3\xA4@1\","
         "\"depth\":1000000",
         "repository t"},
        {"\"kind\":\"repository\",\"depth\":1,\"tag\":\"x\"", "repository t"},
        {"\"kind\":\"repository\",\"lfs\":true", "repository t"},
        {"\"kind\":\"repository\",\"lfs\":false", "repository t"},
        {"\"kind\":\"repository\",\"submodules\":true", "repository t"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *said = read_text(cases[i][0]);

        assert_string_equal(said, cases[i][1]);
    }
}

static void what_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"kind\":\"folder\"", "kind must be file or repository"},
        {"\"kind\":null", "kind must be file or repository"},
        {"\"kind\":\"repository\\u0000x\"", "kind must be file or repository"},
        {"\"ref\":\"main\"", "add kind = repository"},
        {"\"depth\":1", "add kind = repository"},
        {"\"lfs\":false", "add kind = repository"},
        {"\"kind\":\"repository\",\"lfs\":1", "lfs must be true or false"},
        {"\"kind\":\"repository\",\"lfs\":null", "lfs must be true or false"},
        {"\"submodules\":true", "add kind = repository"},
        {"\"kind\":\"repository\",\"submodules\":\"yes\"",
         "submodules must be true or false"},
        {"\"sha256\":null", "sha256 must be 64"},
        {"\"kind\":\"repository\",\"sha256\":\"" HASH "\"",
         "sha256 is for a file"},
        {"\"kind\":\"repository\",\"ref\":7", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"--upload-pack=x\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"a..b\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"a b\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"HEAD~1\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"a:b\"", "ref must be"},
        {"\"kind\":\"repository\",\"ref\":\"a\\u0000b\"", "ref must be"},
        {"\"kind\":\"repository\",\"depth\":0", "depth must be"},
        {"\"kind\":\"repository\",\"depth\":-1", "depth must be"},
        {"\"kind\":\"repository\",\"depth\":1000001", "depth must be"},
        {"\"kind\":\"repository\",\"depth\":1.5", "depth must be"},
        {"\"kind\":\"repository\",\"depth\":null", "depth must be"},
        {"\"kind\":\"repository\",\"path\":\".\"", "the workspace itself"},
        {"\"path\":\"a\\u0000\"", "path must be a text"},
        {"\"tag\":7", "tag must be a text"},
        {"\"tag\":\"a\\u0000b\"", "tag must be a text of at most 64 bytes "
                                  "without NUL"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *said = read_text(cases[i][0]);

        if (!strstr(said, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], said);
    }
}

static void a_long_ref_is_refused(void **state)
{
    char ref[202];

    (void) state;
    memset(ref, 'x', 201);
    for (size_t size = 200; size <= 201; size++) {
        cleanup_free char *members = mem_format(
            "\"kind\":\"repository\",\"ref\":\"%.*s\"", (int) size, ref);
        cleanup_free char *said = read_text(members);

        assert_int_equal(strcmp(said, "repository t") == 0, size == 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(a_long_ref_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
