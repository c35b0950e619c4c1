/* What the audit log has of a job with packages that failed. */
#include "gateway/registry/downloads/packages_records.h"

#include "base/buffer.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)

static void a_failure_has_one_record(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    deeds_forget();
    download_fakes_answer(
        0, "{\"status\":\"error\",\"ename\":\"PackagesRefused\",\"evalue\":"
           "\"too new\",\"exit_code\":1}");
    DID("audit package refused by uid=7 of aa1: {\"count\": 1, \"ename\": "
        "\"PackagesRefused\", \"names\": [\"a\"], \"order\": \"add\", "
        "\"text\": \"too new\"}");
    ANSWERED("PackagesRefused");
    assert_string_equal(fake_said(), "");
    download_fakes_leave(0);
    download_fakes_ask("aa1", "remove", "a");
    deeds_forget();
    download_fakes_answer(
        1, "{\"status\":\"error\",\"ename\":\"PackagesFailed\",\"evalue\":"
           "\"no\",\"exit_code\":1}");
    DID("audit package failed by uid=7 of aa1: {\"count\": 1, \"ename\": "
        "\"PackagesFailed\", \"names\": [\"a\"], \"order\": \"remove\", "
        "\"text\": \"no\"}");
    download_fakes_leave(1);
}

#define ADDED                                                                  \
    "{\"status\":\"ok\",\"packages\":[{\"name\":\"a-b\",\"version\":\"1\","    \
    "\"requested\":true,\"sha256\":\"5a\"}],\"added\":[{\"name\":\"a-b\","     \
    "\"version\":\"1\"}]}"

/* Returns the record of a package that was added by that request. */
static const char *add(const char *name, size_t number)
{
    download_fakes_set_rules("{\"max_files\":5}", NULL);
    download_fakes_ask("aa1", "add", name);
    deeds_forget();
    download_fakes_answer(number, ADDED);
    return deeds_take();
}

/* Each rule that counts is stricter than those after it. */
static void an_addition_has_its_origin(void **state)
{
    static char allow[] = "a*", *list[] = {allow, NULL};

    (void) state;
    fake_profile.packages.cooldown_ms = 1000;
    assert_non_null(
        strstr(add("a_b==1", 0),
               "audit package added by uid=7 of aa1: {\"index\": "
               "\"https://index/simple/\", \"package\": \"a-b\", \"rule\": "
               "\"cooldown\", \"sha256\": \"5a\", \"version\": \"1\"}"));
    download_fakes_leave(0);
    fake_profile.packages.allow = list;
    assert_non_null(strstr(add("a_b", 1), "\"rule\": \"allow\""));
    download_fakes_leave(1);
    assert_non_null(
        strstr(add("A.b==1 --hash=sha256:00", 2), "\"rule\": \"hash\""));
    download_fakes_leave(2);
    fake_profile.packages.allow = NULL;
    assert_non_null(
        strstr(add("c==1 --hash=sha256:00", 3), "\"rule\": \"cooldown\""));
    download_fakes_leave(3);
    fake_profile.packages.cooldown_ms = 0;
    assert_non_null(strstr(add("a-b", 4), "\"rule\": \"any\""));
    download_fakes_leave(4);
}

/* A record has 16 KiB. */
static void many_long_names_have_a_record(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char name[501] = {0};
    const char *did;

    (void) state;
    memset(name, 'a', sizeof name - 1);
    buffer_text(&text, "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[");
    for (int i = 0; i < 100; i++)
        buffer_format(&text, "%s\"%s\"", i ? "," : "", name);
    buffer_text(&text, "]}");
    download_fakes_ask_text((const char *) text.data);
    deeds_forget();
    download_fakes_answer(
        0, "{\"status\":\"error\",\"ename\":\"PackagesFailed\",\"evalue\":"
           "\"no\",\"exit_code\":1}");
    did = deeds_take();
    assert_non_null(strstr(did, "{\"count\": 100, "));
    assert_true(strlen(did) < 4096);
    download_fakes_leave(0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, download_fakes_begin,                \
                                    download_fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failure_has_one_record),
        TEST(an_addition_has_its_origin),
        TEST(many_long_names_have_a_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
