/* What the audit log has of a job with packages that failed. */
#include "gateway/registry/downloads/packages_records.h"

#include "base/buffer.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
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
           "\"too new\",\"exit_code\":1,\"rule\":\"cooldown\"}");
    DID("audit package refused by uid=7 of aa1: {\"count\": 1, \"ename\": "
        "\"PackagesRefused\", \"names\": [\"a\"], \"order\": \"add\", "
        "\"rule\": \"cooldown\", \"text\": \"too new\"}");
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

/* Returns the text of the note in the session's journal; "" without a note. */
static const char *noted_after(size_t number, const char *request,
                               const char *answer)
{
    static char text[200];
    json_auto_t *note = NULL;

    fake_said();
    download_fakes_ask_text(request);
    download_fakes_answer(number, answer);
    if (strstr(fake_said(), "aa1 NOTE")) {
        note = json_loads(fake_noted(), 0, NULL);
        assert_non_null(note);
    }
    snprintf(text, sizeof text, "%s",
             note ? json_string_value(json_object_get(note, "text")) : "");
    download_fakes_leave(number);
    return text;
}

#define ASKED(order, more)                                                     \
    "{\"id\":\"aa1\",\"order\":\"" order "\",\"names\":[\"a\"]" more "}"
#define AGAIN                                                                  \
    ",\"revival\":true,\"recorded\":{\"status\":\"ok\",\"packages\":[]}"
#define NOTHING "{\"status\":\"ok\"}"
#define CHANGED                                                                \
    "{\"status\":\"ok\",\"packages\":[{\"name\":\"a\",\"version\":\"2\","      \
    "\"requested\":true}],\"added\":[{\"name\":\"b\",\"version\":\"1\"}],"     \
    "\"changed\":[{\"name\":\"a\",\"from\":\"1\",\"to\":\"2\"}],"              \
    "\"removed\":[{\"name\":\"c\",\"version\":\"3\"}]}"

/* An order without a change is noted only if it repeats a recorded one. */
static void the_note_says_what_has_changed(void **state)
{
    static const struct {
        const char *request, *answer, *text;
    } cases[] = {
        {ASKED("add", ""), NOTHING, ""},
        {ASKED("add", AGAIN), NOTHING, "packages: the recorded ones are there"},
        {ASKED("remove", ""), NOTHING, ""},
        {ASKED("remove", AGAIN), NOTHING,
         "packages: the removed ones are not there"},
        {ASKED("add", ""), CHANGED,
         "packages: added b 1, changed a 1 -> 2, removed c 3"},
        {ASKED("add", AGAIN), CHANGED,
         "packages: added b 1, changed a 1 -> 2, removed c 3"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(noted_after(i, cases[i].request, cases[i].answer),
                            cases[i].text);
}

#define NAMES_BYTES 2048 /* of one record */

/* Returns how many names of two, of `bytes` together, a record has. */
static size_t names_in_record(size_t number, size_t bytes)
{
    cleanup_free char *name = mem_new(bytes), *request = NULL;
    const char *did;

    memset(name, 'a', bytes - 1);
    request = mem_format(
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"b\",\"%s\"]}", name);
    download_fakes_ask_text(request);
    deeds_forget();
    download_fakes_answer(
        number, "{\"status\":\"error\",\"ename\":\"PackagesOff\",\"evalue\":"
                "\"no\",\"exit_code\":1}");
    did = deeds_take();
    assert_non_null(strstr(did, "audit package refused"));
    download_fakes_leave(number);
    return strstr(did, name) ? 2 : 1;
}

static void the_names_of_a_record_are_bounded_to_the_byte(void **state)
{
    (void) state;
    assert_int_equal(names_in_record(0, NAMES_BYTES), 2);
    assert_int_equal(names_in_record(1, NAMES_BYTES + 1), 1);
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
        TEST(the_note_says_what_has_changed),
        TEST(the_names_of_a_record_are_bounded_to_the_byte),
        TEST(many_long_names_have_a_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
