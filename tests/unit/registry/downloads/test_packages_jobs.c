/* Jobs with packages: which run, which wait, which are refused, what a worker's
 * answer leads to, and what becomes of them when the gateway stops. Workers are
 * records. */
#include "gateway/registry/downloads/packages_jobs.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/core/pending_requests.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)
#define HASH           "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

/* As an example of use. */
static void a_job_is_answered_when_its_worker_has(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "humanize");
    DID("start humanize");
    ANSWERED("");
    download_fakes_answer(
        0, "{\"status\":\"ok\",\"added\":[{\"name\":\"humanize\","
           "\"version\":\"4.17.0\"}],\"changed\":[{\"name\":\"x\",\"from\":"
           "\"1\",\"to\":\"2\"}],\"removed\":[{\"name\":\"y\",\"version\":"
           "\"3\"}]}");
    DID("audit package added by uid=7 of aa1: {\"index\": "
        "\"https://index/simple/\", \"package\": \"humanize\", \"rule\": "
        "\"any\", \"version\": \"4.17.0\"}; "
        "audit package changed by uid=7 of aa1: {\"from\": \"1\", \"index\": "
        "\"https://index/simple/\", \"package\": \"x\", \"rule\": \"any\", "
        "\"version\": \"2\"}; "
        "audit package removed by uid=7 of aa1: {\"package\": \"y\", "
        "\"version\": \"3\"}");
    /* Its session says what is imported, and answers by the token. */
    assert_string_equal(fake_said(), "aa1 NOTE; aa1 LOOK 1");
    ANSWERED("");
    pending_requests_answer(download_fakes.parts->pending, 1,
                            json_pack("{s:s}", "status", "ok"), 0);
    ANSWERED("ok");
    download_fakes_leave(0);
    DID("destroy humanize");
}

static void what_changes_nothing_needs_no_kernel(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "remove", "a");
    download_fakes_answer(0, "{\"status\":\"ok\",\"removed\":[{\"name\":\"a\","
                             "\"version\":\"3\"}]}");
    assert_string_equal(fake_answered(),
                        "0 {\"removed\":[{\"name\":\"a\",\"version\":"
                        "\"3\"}],\"restart\":[],\"status\":\"ok\"}");
    download_fakes_leave(0);
    download_fakes_ask("aa1", "list", "");
    download_fakes_answer(1, "{\"status\":\"ok\"}");
    assert_string_equal(fake_answered(),
                        "0 {\"restart\":[],\"status\":\"ok\"}");
    download_fakes_leave(1);
}

#define RECORDED                                                               \
    "\"recorded\":{\"status\":\"ok\",\"packages\":[{\"name\":\"a\","           \
    "\"version\":\"1\",\"sha256\":\"" HASH "\"},{\"name\":\"b\",\"version\":"  \
    "\"2\",\"sha256\":\"x\"},{\"name\":\"../c\",\"version\":\"3\"}]}"

/* Code cannot name what was recorded: its session does. */
static void what_was_recorded_is_pinned(void **state)
{
    cleanup_free char *pins = NULL;

    (void) state;
    download_fakes_ask_text("{\"id\":\"aa1\",\"order\":\"add\",\"names\":"
                            "[\"a\"],\"revival\":true," RECORDED "}");
    pins = json_dumps(json_object_get(download_fakes.workers[0].job, "pins"),
                      JSON_SORT_KEYS);
    assert_string_equal(pins, "{\"a\": [\"1\", \"" HASH "\"], \"b\": [\"2\", "
                              "\"\"]}");
    /* The note says it again, for the next revival. */
    download_fakes_answer(0, "{\"status\":\"ok\"}");
    assert_string_equal(
        fake_noted(),
        "{\"text\":\"packages: the recorded ones are there\",\"by\":"
        "\"hearth\",\"call\":{\"name\":\"hearth:packages\",\"arguments\":"
        "{\"order\":\"add\",\"names\":[\"a\"]},\"result\":{\"status\":"
        "\"ok\"},\"revival\":true}}");
    download_fakes_leave(0);
    download_fakes_call("aa1", 5,
                        "{\"order\":\"add\",\"names\":[\"a\"]}," RECORDED);
    assert_int_equal(json_object_size(json_object_get(
                         download_fakes.workers[1].job, "pins")),
                     2);
    download_fakes_answer(1, "{\"status\":\"ok\"}");
    assert_null(strstr(fake_noted(), "\"call\""));
    download_fakes_leave(1);
    download_fakes_call("aa1", 6,
                        "{\"order\":\"add\",\"names\":[\"a\"]," RECORDED "}");
    assert_null(json_object_get(download_fakes.workers[2].job, "pins"));
    assert_null(json_object_get(download_fakes.workers[2].job, "repeated"));
    download_fakes_finish(2);
}

/* A removal says so again, too, whether there was something to remove or not.
 */
static void a_removal_is_repeated(void **state)
{
    (void) state;
    download_fakes_ask_text(
        "{\"id\":\"aa1\",\"order\":\"remove\",\"names\":[\"a\"],"
        "\"revival\":true,\"recorded\":{\"status\":\"ok\",\"packages\":[]}}");
    assert_true(json_is_true(
        json_object_get(download_fakes.workers[0].job, "repeated")));
    download_fakes_answer(0, "{\"status\":\"ok\"}");
    assert_non_null(strstr(fake_noted(), "packages: the removed ones are not "
                                         "there"));
    download_fakes_leave(0);
    download_fakes_ask_text(
        "{\"id\":\"aa1\",\"order\":\"remove\",\"names\":[\"a\"],"
        "\"revival\":true,\"recorded\":{\"status\":\"error\"}}");
    assert_null(json_object_get(download_fakes.workers[1].job, "repeated"));
    download_fakes_finish(1);
}

static void what_the_worker_gets(void **state)
{
    static char allow[] = "a*", deny[] = "b", host[] = "files", uv[] = "/uv";
    static char advisories[] = "/osv.zip";
    static char *lists[][2] = {{allow}, {deny}, {host}};
    const json_t *job;
    cleanup_free char *text = NULL;

    (void) state;
    fake_profile.packages =
        (profile_packages_t){.index = fake_profile.packages.index,
                             .allow = lists[0],
                             .deny = lists[1],
                             .hosts = lists[2],
                             .advisories = advisories,
                             .is_offline = 1,
                             .has_start_files = 1,
                             .requires_hashes = 1,
                             .cooldown_ms = 7000,
                             .max_bytes = 8,
                             .max_files = 9};
    fake_options.packages.uv = uv;
    download_fakes_set_rules(
        "{\"deny\":[\"torch\"],\"cooldown\":3600,\"max_files\":5}", NULL);
    download_fakes.has_user = true;
    download_fakes_ask("aa1", "remove", "six");
    job = download_fakes.workers[0].job;
    assert_true(download_fakes.workers[0].has_user);
    assert_ptr_equal(download_fakes.workers[0].start.profile, &fake_profile);
    text = json_dumps(job, JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"accept\": [], \"advisories\": \"/osv.zip\", \"allow\": "
              "[\"a*\"], \"cache_bytes\": 32, \"cache_files\": 36, "
              "\"cooldown\": 3600, "
              "\"deny\": [\"b\"], \"gid\": 8, \"hosts\": [\"files\"], "
              "\"index\": \"https://index/simple/\", \"mapper\": 4, "
              "\"max_bytes\": 8, \"max_files\": 5, \"names\": [\"six\"], "
              "\"offline\": true, \"order\": \"remove\", \"own_allow\": [], "
              "\"own_deny\": [\"torch\"], \"own_texts\": {\"cooldown\": "
              "\"1h\", \"max_files\": \"5\"}, "
              "\"profile\": "
              "\"python3\", \"pth\": true, \"require_hashes\": true, "
              "\"session\": \"/p/sessions/t-aa1\", "
              "\"shadow\": false, \"uid\": 7, \"uv\": \"/uv\", "
              "\"without\": [], \"work\": \"/p/work\"}");
    download_fakes_finish(0);
    fake_options.packages.uv = NULL;
    download_fakes_ask("aa1", "list", "");
    assert_string_equal(
        json_string_value(json_object_get(download_fakes.workers[1].job, "uv")),
        "/found/uv");
    download_fakes_finish(1);
}

static void one_changes_at_a_time(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_ask("bb2", "remove", "b");
    download_fakes_ask("aa1", "add", "c");
    DID("start a");
    download_fakes_answer(0, "{\"status\":\"ok\"}");
    ANSWERED("ok");
    DID("");
    download_fakes_leave(0);
    DID("destroy a; start b");
    download_fakes_finish(1);
    DID("destroy b; start c");
    download_fakes_finish(2);
    DID("destroy c");
    ANSWERED("ok ok");
}

static void lists_do_not_wait_for_changes(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    for (int i = 0; i < 5; i++)
        download_fakes_ask("bb2", "list", "");
    DID("start a; start list; start list; start list; start list");
    download_fakes_finish(1);
    DID("destroy list; start list");
    for (size_t i = 2; i < 6; i++)
        download_fakes_finish(i);
    ANSWERED("ok ok ok ok ok");
    assert_string_equal(fake_said(), "");
    download_fakes_finish(0);
}

static void two_of_a_session_wait(void **state)
{
    (void) state;
    for (int i = 0; i < 4; i++)
        download_fakes_ask("aa1", "add", "a");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"PackagesBusy\",\"evalue\":\"2 jobs with packages of "
        "this session wait already; try again in 10 "
        "s\",\"exit_code\":1,\"retry_after\":10,\"status\":\"error\"}");
    download_fakes_ask("bb2", "add", "b");
    ANSWERED("");
    download_fakes_finish(0);
    ANSWERED("ok");
    download_fakes_ask("aa1", "add", "c");
    ANSWERED("");
}

static void sixteen_wait(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    for (int i = 0; i < 17; i++) {
        char id[] = "s0";

        id[1] = (char) ('a' + i / 2);
        if (i % 2 == 0)
            download_fakes_add_session(id);
        download_fakes_ask(id, "add", "a");
    }
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"PackagesBusy\",\"evalue\":\"16 jobs with packages wait "
        "already; try again in 10 "
        "s\",\"exit_code\":1,\"retry_after\":10,\"status\":\"error\"}");
    download_fakes_ask("aa1", "list", "");
    assert_int_equal(download_fakes.started, 2);
    download_fakes_finish(0);
    download_fakes_ask("aa1", "add", "b");
    ANSWERED("ok");
    download_fakes_ask("aa1", "add", "c");
    ANSWERED("PackagesBusy");
}

/* The next one is tried, and fails for itself. */
static void a_worker_that_cannot_start(void **state)
{
    (void) state;
    download_fakes.cannot_start = true;
    download_fakes_ask("aa1", "add", "a");
    ANSWERED("PackagesFailed");
    download_fakes_ask("aa1", "list", "");
    ANSWERED("PackagesFailed");
    download_fakes.cannot_start = false;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_ask("aa1", "add", "b");
    download_fakes_ask("bb2", "add", "c");
    download_fakes.cannot_start = true;
    download_fakes_finish(0);
    ANSWERED("ok PackagesFailed PackagesFailed");
}

static void the_gateway_stops(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_ask("bb2", "add", "b");
    download_fakes_ask("bb2", "list", "");
    packages_jobs_stop(download_fakes.jobs);
    ANSWERED("GatewayStopping GatewayStopping GatewayStopping");
    deeds_forget();
    download_fakes_leave(0);
    DID("destroy a");
    session_table_close(download_fakes.parts->table);
    download_fakes_ask("aa1", "add", "a");
    ANSWERED("GatewayStopping");
}

/* A kernel does not see what is put into another folder of the sessions. */
static void folders_that_were_removed_are_made_again(void **state)
{
    (void) state;
    download_fakes.folders = -ENOSPC;
    download_fakes_ask("aa1", "list", "");
    assert_non_null(strstr(fake_answered(), "no room for folders"));
    download_fakes.folders = 1;
    download_fakes_ask("aa1", "list", "");
    ANSWERED("RestartNeeded");
    download_fakes_ask("bb2", "list", "");
    ANSWERED("RestartNeeded");
    session_entry_note_launch(
        session_table_find(download_fakes.parts->table, "aa1"));
    download_fakes.folders = 0;
    download_fakes_ask("aa1", "list", "");
    ANSWERED("");
    download_fakes_finish(0);
}

static void what_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"id\":\"aa1\"}",
        "{\"id\":\"aa1\",\"order\":\"install\",\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":7,\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":\"add\"}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":\"a\"}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"\"]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[1]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"a\\nb\"]}",
        "{\"id\":\"aa1\",\"order\":\"remove\",\"names\":[\"a\",\"\\u007f\"]}",
        "{\"id\":\"aa1\",\"order\":\"list\",\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":\"list\",\"names\":{}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        download_fakes_ask_text(wrong[i]);
        ANSWERED("BadRequest");
    }
    download_fakes_ask_text("{}");
    ANSWERED("UnknownSession");
    download_fakes_ask("zz9", "list", "");
    ANSWERED("UnknownSession");
    session_table_set_drained(
        download_fakes.parts->table,
        session_table_find(download_fakes.parts->table, "bb2"));
    download_fakes_ask("bb2", "list", "");
    ANSWERED("GatewayStopping");
    session_table_find(download_fakes.parts->table, "aa1")->sees_packages =
        false;
    download_fakes_ask("aa1", "list", "");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"RestartNeeded\",\"evalue\":\"the kernel of session "
        "aa1 was started without the packages folder of profile "
        "python3: "
        "restart it (hearth session restart aa1), then ask again\","
        "\"exit_code\":1,\"status\":\"error\"}");
    download_fakes_set_rules("{\"index\":\"\"}", NULL);
    download_fakes_ask("aa1", "list", "");
    assert_non_null(strstr(fake_answered(), "this session was created with "
                                            "packages/index = "));
    download_fakes_set_rules("7", NULL);
    download_fakes_ask("aa1", "list", "");
    assert_non_null(strstr(fake_answered(), "cannot be read any more"));
    fake_profile.packages.index = NULL;
    download_fakes_set_rules(NULL, NULL);
    download_fakes_ask("aa1", "list", "");
    assert_string_equal(fake_answered(),
                        "0 {\"ename\":\"PackagesOff\",\"evalue\":\"profile "
                        "python3 has no package index: set "
                        "profile/python3/packages/"
                        "index\",\"exit_code\":5,\"status\":\"error\"}");
    assert_int_equal(download_fakes.started, 0);
}

static void too_many_names(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char name[20100];

    (void) state;
    buffer_text(&text, "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"a\"");
    for (int i = 0; i < 100; i++)
        buffer_text(&text, ",\"a\"");
    buffer_text(&text, "]}");
    download_fakes_ask_text((const char *) text.data);
    ANSWERED("BadRequest");
    memset(name, 'a', sizeof name);
    name[20001] = '\0';
    download_fakes_ask("aa1", "add", name);
    ANSWERED("BadRequest");
    name[20000] = '\0';
    download_fakes_ask("aa1", "add", name);
    ANSWERED("");
    download_fakes_finish(0);
}

static void a_hundred_names_with_spaces_are_taken(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    buffer_text(&text,
                "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"a >= 1\"");
    for (int i = 1; i < 100; i++)
        buffer_text(&text, ",\"a\"");
    buffer_text(&text, "]}");
    download_fakes_ask_text((const char *) text.data);
    DID("start a >= 1");
    ANSWERED("");
    download_fakes_finish(0);
}

/* The kernel knows whether it has imported the other version. */
static void one_new_package_is_looked_for_in_the_kernel(void **state)
{
    static const char *const replies[] = {
        "{\"status\":\"ok\",\"added\":[{\"name\":\"a\",\"version\":\"1\"}]}",
        "{\"status\":\"ok\",\"changed\":[{\"name\":\"a\",\"from\":\"1\",\"to\":"
        "\"2\"}]}",
    };

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *said = mem_format("aa1 NOTE; aa1 LOOK %zu", i + 1);

        download_fakes_ask("aa1", "add", "a");
        download_fakes_answer(i, replies[i]);
        assert_string_equal(fake_said(), said);
        download_fakes_leave(i);
    }
}

/* Its kernel is kept for the next gateway, and takes no commands. */
static void a_session_that_is_kept_is_not_asked(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    session_table_set_drained(
        download_fakes.parts->table,
        session_table_find(download_fakes.parts->table, "aa1"));
    download_fakes_answer(0, "{\"status\":\"ok\",\"added\":[{\"name\":\"a\","
                             "\"version\":\"1\"}]}");
    assert_non_null(strstr(fake_answered(), "\"restart\":null"));
    assert_null(strstr(fake_said(), "LOOK"));
    download_fakes_leave(0);
}

/* Only what code was refused is recorded: a client has its answer. */
static void what_a_client_was_refused_is_not_recorded(void **state)
{
    (void) state;
    download_fakes.folders = -ENOSPC;
    download_fakes_ask("aa1", "add", "a");
    ANSWERED("PackagesFailed");
    DID("");
    download_fakes.folders = -ENOSPC;
    download_fakes_call("aa1", 5, "{\"order\":\"remove\",\"names\":[\"a\"]}");
    assert_non_null(strstr(deeds_take(), "\"order\": \"remove\""));
    download_fakes.folders = -ENOSPC;
    download_fakes_call("aa1", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(deeds_take(), "\"order\": \"add\""));
}

/* A client or code in a cell gets the sentence, which has its setting. */
static void a_rule_is_in_the_record_alone(void **state)
{
    static const char refused[] =
        "{\"status\":\"error\",\"ename\":\"PackagesRefused\",\"evalue\":"
        "\"too young\",\"rule\":\"cooldown\"}";
    const char *reply;

    (void) state;
    download_fakes_ask("aa1", "add", "a");
    download_fakes_answer(0, refused);
    assert_non_null(strstr(deeds_take(), "\"rule\": \"cooldown\""));
    reply = fake_answered();
    assert_non_null(strstr(reply, "too young"));
    assert_null(strstr(reply, "rule"));
    download_fakes_leave(0);
    download_fakes_call("aa1", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    download_fakes_answer(1, refused);
    assert_non_null(strstr(deeds_take(), "\"rule\": \"cooldown\""));
    assert_string_equal(fake_said(),
                        "aa1 TOOLS answer 5 {\"status\":\"error\",\"ename\":"
                        "\"PackagesRefused\",\"evalue\":\"too young\"}");
    download_fakes_leave(1);
}

static void there_may_be_no_jobs(void **state)
{
    packages_jobs_t *none = NULL;

    (void) state;
    packages_jobs_destroy(&none);
    assert_null(none);
}

/* --- Credentials --- */

/* Gives the profile a file with users; returns its path, for the caller. */
static char *give_credentials(const char *text)
{
    char *path = mem_format("%s/netrc", rig_outside.folder);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
    fake_profile.packages.credentials = path;
    download_fakes_set_rules(NULL, NULL);
    return path;
}

static void a_worker_that_asks_an_index_gets_its_user(void **state)
{
    cleanup_free char *path =
        give_credentials("machine index login me password secret\n");
    cleanup_free char *list = NULL;

    (void) state;
    download_fakes_ask("aa1", "add", "a");
    list = json_dumps(
        json_object_get(download_fakes.workers[0].job, "credentials"),
        JSON_COMPACT);
    assert_string_equal(list, "[{\"host\":\"index\",\"user\":\"me\","
                              "\"password\":\"secret\"}]");
    download_fakes_finish(0);
    download_fakes_ask("aa1", "list", "");
    assert_null(json_object_get(download_fakes.workers[1].job, "credentials"));
    download_fakes_finish(1);
    fake_profile.packages.is_offline = 1;
    download_fakes_set_rules(NULL, NULL);
    download_fakes_ask("aa1", "add", "a");
    assert_null(json_object_get(download_fakes.workers[2].job, "credentials"));
    download_fakes_finish(2);
}

/* Removing needs no index. */
static void without_its_user_packages_can_only_be_removed(void **state)
{
    cleanup_free char *path = give_credentials("nonsense");

    (void) state;
    download_fakes_ask("aa1", "add", "a");
    assert_non_null(
        strstr(fake_answered(), "profile/python3/packages/credentials: "));
    assert_int_equal(download_fakes.started, 0);
    download_fakes_ask("aa1", "remove", "a");
    ANSWERED("");
    assert_null(json_object_get(download_fakes.workers[0].job, "credentials"));
    download_fakes_finish(0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, download_fakes_begin,                \
                                    download_fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_answered_when_its_worker_has),
        TEST(what_changes_nothing_needs_no_kernel),
        TEST(what_the_worker_gets),
        TEST(what_was_recorded_is_pinned),
        TEST(a_removal_is_repeated),
        TEST(one_changes_at_a_time),
        TEST(lists_do_not_wait_for_changes),
        TEST(two_of_a_session_wait),
        TEST(sixteen_wait),
        TEST(a_worker_that_cannot_start),
        TEST(the_gateway_stops),
        TEST(what_is_refused),
        TEST(folders_that_were_removed_are_made_again),
        TEST(too_many_names),
        TEST(a_hundred_names_with_spaces_are_taken),
        TEST(one_new_package_is_looked_for_in_the_kernel),
        TEST(a_session_that_is_kept_is_not_asked),
        TEST(what_a_client_was_refused_is_not_recorded),
        TEST(a_rule_is_in_the_record_alone),
        TEST(there_may_be_no_jobs),
        TEST(a_worker_that_asks_an_index_gets_its_user),
        TEST(without_its_user_packages_can_only_be_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
