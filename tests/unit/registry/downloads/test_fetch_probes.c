/* What the files thread says of a place before anything is downloaded, and what
 * comes before its answer. Workers and the files thread are records. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "tests/lib/fetch_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define PERMIT() download_fakes_answer_probes("{\"status\":\"ok\"}")
#define REFUSE() download_fakes_answer_probes(ERROR("FileExists"))

static int begin(void **state)
{
    int r = fetch_steps_begin(state);

    download_fakes.holds_probes = true;
    return r;
}

static void clone_of(const char *session, const char *url)
{
    cleanup_free char *text =
        mem_format("{\"id\":\"%s\",\"order\":\"fetch\",\"kind\":\"repository\","
                   "\"url\":\"%s\",\"path\":\"into/\"}",
                   session, url);

    download_fakes_fetch(text);
}

/* Checks the states of all fetches of aa1: "waiting running". */
static void states(const char *expected)
{
    const json_t *one;
    size_t at;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_auto_t *reply = NULL;

    (void) rig_answers();
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"list\"}");
    reply = json_loads(strchr(fake_answered(), '{'), 0, NULL);
    json_array_foreach(json_object_get(reply, "fetches"), at, one)
    {
        buffer_text(&text, text.size ? " " : "");
        buffer_text(&text, json_string_value(json_object_get(one, "state")));
    }
    buffer_append(&text, "", 1);
    assert_string_equal((const char *) text.data, expected);
}

static const json_t *room_of_worker(size_t at)
{
    return json_object_get(download_fakes.workers[at].job, "room");
}

static void a_worker_gets_the_room(void **state)
{
    (void) state;
    clone_of("aa1", "https://a.example/y.git");
    download_fakes_answer_probes("{\"status\":\"ok\",\"room\":77}");
    assert_int_equal(json_integer_value(room_of_worker(0)), 77);
    clone_of("bb2", "https://a.example/z.git");
    PERMIT(); /* a workspace without a limit */
    assert_null(room_of_worker(1));
    for (size_t at = 0; at < 2; at++) {
        download_fakes_answer(at, ERROR("FetchFailed"));
        download_fakes_leave(at);
    }
}

static void cancel(unsigned number)
{
    cleanup_free char *text = mem_format(
        "{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":%u}", number);

    download_fakes_fetch(text);
}

/* As an example of use. */
static void a_worker_starts_when_the_place_is_free(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x?key=secret");
    DID("probe for uid=7 in /state/aa1/workspace of aa1, 0 bytes: {\"path\": "
        "\"x\"}");
    PERMIT();
    DID("start https://a.example/x?key=secret");
    clone_of("bb2", "https://a.example/y.git");
    DID("probe a tree for uid=7 in /state/bb2/workspace of bb2, 0 bytes: "
        "{\"path\": \"into/y\"}");
    PERMIT();
    DID("start https://a.example/y.git");
    bring(0);
    placed("{\"status\":\"ok\"}");
    ANSWERED("ok");
    download_fakes_leave(0);
    download_fakes_answer(1, ERROR("FetchFailed"));
    ANSWERED("FetchFailed");
    download_fakes_leave(1);
}

/* As a file that has come is refused. */
static void a_place_that_is_taken(void **state)
{
    (void) state;
    clone_of("aa1", "https://a.example/x?key=secret");
    deeds_forget();
    REFUSE();
    DID("audit fetch failed by uid=7 of aa1: {\"ename\": \"FileExists\", "
        "\"kind\": \"repository\", \"path\": \"into/x\", \"text\": \"no\", "
        "\"url\": \"https://a.example/x\"}");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"FileExists\",\"evalue\":\"no\",\"exit_code\":1,"
        "\"status\":\"error\"}");
    assert_string_equal(fake_said(), "");
    states("");
    assert_int_equal(download_fakes.started, 0);
}

static void code_is_refused_as_a_client(void **state)
{
    (void) state;
    call(5, "{\"order\":\"fetch\",\"url\":\"https://a.example/x\"}");
    assert_non_null(strstr(deeds_take(), "probe for kernel in"));
    REFUSE();
    assert_non_null(strstr(fake_said(), "aa1 TOOLS answer 5 {\"status\":"
                                        "\"error\",\"ename\":\"FileExists\""));
    assert_non_null(strstr(deeds_take(), "audit fetch failed by kernel"));
    assert_int_equal(download_fakes.started, 0);
}

/* Looks as late as it can: the job may have waited for hours. */
static void a_place_is_looked_at_when_it_is_the_jobs_turn(void **state)
{
    (void) state;
    for (int i = 0; i < 3; i++)
        fetch("aa1", i == 0   ? "https://a.example/x"
                     : i == 1 ? "https://a.example/y"
                              : "https://a.example/z");
    fetch("bb2", "https://a.example/x"); /* one at a time of a URL */
    assert_int_equal(download_fakes.probe_count, 2);
    states("waiting waiting waiting");
    deeds_forget();
    PERMIT();
    DID("start https://a.example/x; start https://a.example/y");
    states("running running waiting");
    download_fakes_answer(0, ERROR("FetchFailed"));
    deeds_forget();
    download_fakes_leave(0);
    DID("destroy https://a.example/x; probe for uid=7 in /state/aa1/workspace "
        "of aa1, 0 bytes: {\"path\": \"z\"}; probe for uid=7 in "
        "/state/bb2/workspace of bb2, 0 bytes: {\"path\": \"x\"}");
    (void) rig_answers();
    REFUSE();
    ANSWERED("FileExists FileExists");
    download_fakes_answer(1, ERROR("FetchFailed"));
    download_fakes_leave(1);
}

/* A refusal makes room for the next, as the end of a worker does. */
static void the_next_is_looked_at_after_a_refusal(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    clone_of("aa1", "https://a.example/x");
    deeds_forget();
    REFUSE();
    ANSWERED("FileExists FileExists");
    assert_int_equal(download_fakes.started, 0);
    fetch("aa1", "https://a.example/x");
    PERMIT();
    assert_int_equal(download_fakes.started, 1);
    download_fakes_answer(0, ERROR("FetchFailed"));
    download_fakes_leave(0);
}

static void a_job_is_cancelled_before_the_answer(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("aa1", "https://a.example/y");
    fetch("aa1", "https://a.example/z");
    deeds_forget();
    cancel(2);
    ANSWERED("FetchCancelled ok");
    /* Its place is free. */
    assert_non_null(strstr(deeds_take(), "; probe for uid=7 in "
                                         "/state/aa1/workspace of aa1, 0 "
                                         "bytes: {\"path\": \"z\"}"));
    PERMIT(); /* of all three */
    DID("start https://a.example/x; start https://a.example/z");
    ANSWERED("");
    cancel(1);
    cancel(3);
    download_fakes_leave(0);
    download_fakes_leave(1);
}

static void the_session_ends_before_the_answer(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("bb2", "https://a.example/x");
    deeds_forget();
    fetch_jobs_on_gone(jobs(), "aa1");
    ANSWERED("SessionGone");
    assert_non_null(
        strstr(deeds_take(), "; probe for uid=7 in /state/bb2/workspace"));
    PERMIT();
    DID("start https://a.example/x");
    assert_int_equal(download_fakes.started, 1);
    download_fakes_answer(0, ERROR("FetchFailed"));
    download_fakes_leave(0);
}

#define STOPPING                                                               \
    "GatewayStopping\",\"evalue\":\"the gateway stops before the job has "     \
    "begun"

static void the_gateway_stops_before_the_answer(void **state)
{
    const char *said;

    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("aa1", "https://a.example/x");
    fetch_jobs_stop(jobs());
    said = strstr(fake_answered(), STOPPING);
    assert_non_null(said);
    assert_non_null(strstr(said + 1, STOPPING));
    deeds_forget();
    PERMIT();
    REFUSE();
    DID("");
    ANSWERED("");
    assert_int_equal(download_fakes.started, 0);
}

/* A second answer, or one for a job that never was. */
static void an_answer_counts_once(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("bb2", "https://a.example/x"); /* it waits, and was not looked at */
    PERMIT();
    deeds_forget();
    for (uint64_t number = 0; number < 4; number++) {
        fetch_jobs_on_probed(jobs(), number,
                             json_loads(ERROR("FileExists"), 0, NULL));
        fetch_jobs_on_probed(jobs(), number, json_loads(OK, 0, NULL));
    }
    DID("");
    ANSWERED("");
    download_fakes_answer(0, ERROR("FetchFailed"));
    fetch_jobs_on_gone(jobs(), "bb2");
    download_fakes_leave(0);
}

/* Nothing is downloaded for nothing. */
static void too_many_requests_about_files_wait(void **state)
{
    (void) state;
    rig_outside.is_files_busy = true;
    fetch("aa1", "https://a.example/x");
    rig_outside.is_files_busy = false;
    ANSWERED("FilesBusy");
    assert_non_null(strstr(deeds_take(), "audit fetch failed by uid=7"));
    assert_int_equal(download_fakes.started, 0);
}

static void the_session_is_gone_when_its_turn_comes(void **state)
{
    session_entry_t *entry =
        session_table_find(download_fakes.parts->table, "aa1");

    (void) state;
    fetch("bb2", "https://a.example/x");
    fetch("aa1", "https://a.example/x");
    PERMIT();
    session_table_remove(download_fakes.parts->table, &entry);
    download_fakes_answer(0, ERROR("FetchFailed"));
    (void) rig_answers();
    download_fakes_leave(0);
    ANSWERED("SessionGone");
    assert_int_equal(download_fakes.probe_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, fetch_steps_end)
        TEST(a_worker_starts_when_the_place_is_free),
        TEST(a_worker_gets_the_room),
        TEST(a_place_that_is_taken),
        TEST(code_is_refused_as_a_client),
        TEST(a_place_is_looked_at_when_it_is_the_jobs_turn),
        TEST(the_next_is_looked_at_after_a_refusal),
        TEST(a_job_is_cancelled_before_the_answer),
        TEST(the_session_ends_before_the_answer),
        TEST(the_gateway_stops_before_the_answer),
        TEST(an_answer_counts_once),
        TEST(too_many_requests_about_files_wait),
        TEST(the_session_is_gone_when_its_turn_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
