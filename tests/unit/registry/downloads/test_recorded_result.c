/* The recorded result of a download that is made again: what its job gets of
 * it, and that nothing else does. */
#include "gateway/registry/downloads/recorded_result.h"

#include "base/buffer.h"
#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define HASH   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"

/* Returns the job after it was pinned, as text that stays until the next call.
 * `kind` NULL: a job of packages. */
static const char *pin(const download_kind_t *kind, const char *request,
                       const char *job)
{
    static char text[512];
    json_auto_t *asked = json_loads(request, 0, NULL);
    json_auto_t *made = json_loads(job, 0, NULL);
    cleanup_free char *all = NULL;

    assert_non_null(asked);
    assert_non_null(made);
    if (kind)
        recorded_result_pin_fetch(asked, kind, made);
    else
        recorded_result_pin_packages(asked, made);
    all = json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS);
    snprintf(text, sizeof text, "%s", all);
    return text;
}

#define GETS(kind, request, text)                                              \
    assert_string_equal(pin(kind, request, "{}"), text)

#define PACKAGES(list)                                                         \
    "{\"recorded\":{\"status\":\"ok\",\"packages\":[" list "]}}"

static void packages_get_their_versions_and_wheels(void **state)
{
    (void) state;
    GETS(NULL,
         PACKAGES("{\"name\":\"six\",\"version\":\"1.16\",\"sha256\":\"" HASH
                  "\"},{\"name\":\"idna\",\"version\":\"3.4\"}"),
         "{\"pins\":{\"idna\":[\"3.4\",\"\"],\"six\":[\"1.16\",\"" HASH
         "\"]},\"repeated\":true}");
}

static void what_is_not_valid_is_no_pin(void **state)
{
    (void) state;
    GETS(NULL,
         PACKAGES("{\"name\":\"-r x\",\"version\":\"1\"},"
                  "{\"name\":\"a\",\"version\":\"1 2\"},"
                  "{\"name\":\"b\"},{\"version\":\"1\"},7"),
         "{\"repeated\":true}");
    GETS(NULL, PACKAGES("{\"name\":\"a\",\"version\":\"1\",\"sha256\":\"00\"}"),
         "{\"pins\":{\"a\":[\"1\",\"\"]},\"repeated\":true}");
}

static void a_result_that_was_a_failure_adds_nothing(void **state)
{
    (void) state;
    GETS(NULL, "{}", "{}");
    GETS(NULL,
         "{\"recorded\":{\"status\":\"error\",\"packages\":["
         "{\"name\":\"a\",\"version\":\"1\"}]}}",
         "{}");
    GETS(&fetch_kind,
         "{\"recorded\":{\"status\":\"error\",\"sha256\":\"" HASH "\"}}", "{}");
    GETS(&clone_kind,
         "{\"recorded\":{\"status\":\"error\",\"commit\":\"" COMMIT "\"}}",
         "{}");
}

static void a_result_without_packages_is_repeated(void **state)
{
    (void) state;
    GETS(NULL, "{\"recorded\":{\"status\":\"ok\"}}", "{\"repeated\":true}");
}

static void a_revival_is_marked(void **state)
{
    (void) state;
    GETS(NULL, "{\"revival\":true}", "{\"revival\":true}");
    GETS(NULL, "{\"revival\":1}", "{}");
    GETS(&fetch_kind, "{\"revival\":true}", "{\"revival\":true}");
    GETS(&clone_kind, "{\"revival\":true}", "{\"revival\":true}");
}

/* Half a datagram: a pin counts as its name and 88 bytes. */
static void as_many_pins_as_a_datagram_has_room_for(void **state)
{
    static const char *const last[] = {"aaaaaaaaaaaaaaaaaaaa",
                                       "aaaaaaaaaaaaaaaaaaaaa"};

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        json_auto_t *list = json_array(), *job = json_object();
        json_auto_t *request = json_pack("{s:{s:s,s:O}}", "recorded", "status",
                                         "ok", "packages", list);

        for (int j = 0; j < 355; j++) {
            char name[16];

            snprintf(name, sizeof name, "a%03d", j);
            json_array_append_new(
                list, json_pack("{s:s,s:s}", "name", name, "version", "1"));
        }
        json_array_append_new(
            list, json_pack("{s:s,s:s}", "name", last[i], "version", "1"));
        recorded_result_pin_packages(request, job);
        assert_int_equal(json_object_size(json_object_get(job, "pins")),
                         356 - i);
    }
}

#define FETCHED(members) "{\"recorded\":{\"status\":\"ok\"," members "}}"

static void a_file_gets_its_hash(void **state)
{
    (void) state;
    GETS(&fetch_kind, FETCHED("\"sha256\":\"" HASH "\""),
         "{\"sha256\":\"" HASH "\"}");
    GETS(&fetch_kind, FETCHED("\"sha256\":\"00\""), "{}");
    GETS(&fetch_kind, FETCHED("\"commit\":\"" COMMIT "\""), "{}");
}

static void a_hash_that_was_asked_for_stays(void **state)
{
    (void) state;
    assert_string_equal(pin(&fetch_kind, FETCHED("\"sha256\":\"" HASH "\""),
                            "{\"sha256\":\"asked\"}"),
                        "{\"sha256\":\"asked\"}");
    assert_string_equal(pin(&fetch_kind, FETCHED("\"sha256\":\"" HASH "\""),
                            "{\"sha256\":\"\"}"),
                        "{\"sha256\":\"" HASH "\"}");
}

static void a_repository_gets_its_commit(void **state)
{
    (void) state;
    GETS(&clone_kind,
         FETCHED("\"commit\":\"" COMMIT "\",\"branch\":\"main\","
                 "\"sha256\":\"" HASH "\""),
         "{\"branch\":\"main\",\"ref\":\"" COMMIT "\"}");
    GETS(&clone_kind, FETCHED("\"commit\":\"" COMMIT "\",\"branch\":\"a b\""),
         "{\"ref\":\"" COMMIT "\"}");
    GETS(&clone_kind, FETCHED("\"commit\":\"main\",\"branch\":\"main\""), "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_get_their_versions_and_wheels),
        cmocka_unit_test(what_is_not_valid_is_no_pin),
        cmocka_unit_test(a_result_that_was_a_failure_adds_nothing),
        cmocka_unit_test(a_result_without_packages_is_repeated),
        cmocka_unit_test(a_revival_is_marked),
        cmocka_unit_test(as_many_pins_as_a_datagram_has_room_for),
        cmocka_unit_test(a_file_gets_its_hash),
        cmocka_unit_test(a_hash_that_was_asked_for_stays),
        cmocka_unit_test(a_repository_gets_its_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
