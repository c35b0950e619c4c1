/* Fetches: what the worker gets, which run and which wait, what is refused, and
 * what ends them. Workers and the files thread are records. */
#include "base/cleanup.h"
#include "base/url_plain.h"
#include "tests/lib/fetch_steps.h"
#include "tests/lib/test.h"

#include <string.h>

static void what_the_worker_gets(void **state)
{
    static char bad[] = "b.example", network[] = "10.0.0.0/8", ca[] = "/ca";
    static char *denied[] = {bad, NULL}, *networks[] = {network, NULL};
    cleanup_free char *text = NULL;

    (void) state;
    fake_profile.fetch.deny = denied;
    fake_profile.fetch.networks = networks;
    download_fakes_set_rules(NULL,
                             "{\"deny\":[\"c.example\"],\"cells\":false}");
    fake_options.fetch.ca_file = ca;
    download_fakes.has_user = true;
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":"
                         "\"https://a.example/x\",\"path\":\"data/\","
                         "\"sha256\":\"" HASH "\",\"tag\":\"mine\"}");
    assert_true(download_fakes.workers[0].has_user);
    assert_string_equal(download_fakes.workers[0].start.kind->module,
                        "hearth_downloads.fetch.worker");
    text = json_dumps(download_fakes.workers[0].job, JSON_SORT_KEYS);
    assert_string_equal(
        text,
        "{\"accept\": [], \"allow\": [\"a.example\"], \"ca_file\": "
        "\"/ca\", \"cache_bytes\": 36, \"deny\": [\"b.example\"], \"gid\": 8, "
        "\"kind\": \"file\", \"mapper\": 4, "
        "\"max_bytes\": 9, \"order\": \"fetch\", \"own_allow\": [], "
        "\"own_deny\": [\"c.example\"], \"own_texts\": {\"cells\": \"no\"}, "
        "\"path\": \"data/x\", "
        "\"private\": [\"10.0.0.0/8\"], \"profile\": \"python3\", "
        "\"sha256\": \"" HASH "\", \"tag\": \"mine\", \"uid\": 7, \"url\": "
        "\"https://a.example/x\", \"without\": [], \"work\": "
        "\"/f/work\"}");
    download_fakes_answer(0, ERROR("FetchUnreachable"));
    ANSWERED("FetchUnreachable");
    download_fakes_leave(0);
    fake_options.fetch.ca_file = NULL;
}

#define COMMIT "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"

static const char *text_of(size_t worker, const char *member)
{
    const char *text = json_string_value(
        json_object_get(download_fakes.workers[worker].job, member));

    return text ? text : "";
}

static void what_was_recorded_is_pinned(void **state)
{
    (void) state;
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":"
                         "\"https://a.example/x\",\"recorded\":{\"status\":"
                         "\"ok\",\"sha256\":\"" HASH "\"}}");
    assert_string_equal(text_of(0, "sha256"), HASH);
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":"
                         "\"https://a.example/y\",\"kind\":\"repository\","
                         "\"ref\":\"v1\",\"recorded\":{\"status\":\"ok\","
                         "\"commit\":\"" COMMIT "\",\"branch\":\"main\"}}");
    assert_string_equal(text_of(1, "ref"), COMMIT);
    assert_string_equal(text_of(1, "branch"), "main");
    download_fakes_finish(0);
    download_fakes_finish(1);
    /* What had failed, and what is no hash, asks for nothing. */
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":"
                         "\"https://a.example/z\",\"recorded\":{\"status\":"
                         "\"error\",\"sha256\":\"" HASH "\"}}");
    call(5, "{\"order\":\"fetch\",\"url\":\"https://a.example/w\"},"
            "\"recorded\":{\"status\":\"ok\",\"sha256\":\"-\"}");
    assert_string_equal(text_of(2, "sha256"), "");
    assert_string_equal(text_of(3, "sha256"), "");
    download_fakes_finish(2);
    download_fakes_finish(3);
}

static void a_failure_has_a_record(void **state)
{
    (void) state;
    fetch("aa1", "https://b.example/x?key=secret");
    deeds_forget();
    download_fakes_answer(0, ERROR("FetchRefused"));
    DID("audit fetch refused by uid=7 of aa1: {\"ename\": \"FetchRefused\", "
        "\"kind\": \"file\", \"path\": \"x\", \"text\": \"no\", \"url\": "
        "\"https://b.example/x\"}");
    ANSWERED("FetchRefused");
    download_fakes_leave(0);
    fetch("aa1", "https://b.example/x");
    deeds_forget();
    download_fakes_answer(1, ERROR("FetchFailed"));
    DID("audit fetch failed by uid=7 of aa1: {\"ename\": \"FetchFailed\", "
        "\"kind\": \"file\", \"path\": \"x\", \"text\": \"no\", \"url\": "
        "\"https://b.example/x\"}");
    ANSWERED("FetchFailed");
    download_fakes_leave(1);
    assert_string_equal(fake_said(), "");
}

static void an_invalid_request_is_refused(void **state)
{
    (void) state;
    fetch("aa1", "https://b.example/x");
    deeds_forget();
    download_fakes_answer(0, ERROR("FetchInvalid"));
    assert_non_null(strstr(deeds_take(), "audit fetch refused by uid=7"));
    ANSWERED("FetchInvalid");
    download_fakes_leave(0);
}

/* Two of a session run, four in all. */
static void some_run_and_some_wait(void **state)
{
    (void) state;
    download_fakes_add_session("cc3");
    fetch("aa1", "https://a.example/a");
    fetch("aa1", "https://a.example/e");
    fetch("aa1", "https://a.example/f");
    fetch("bb2", "https://a.example/b");
    fetch("cc3", "https://a.example/c");
    fetch("cc3", "https://a.example/d");
    assert_int_equal(download_fakes.started, 4);
    DID("start https://a.example/a; start https://a.example/e; start "
        "https://a.example/b; start https://a.example/c");
    /* The third of aa1 came before, but one of bb2 has ended. */
    download_fakes_answer(2, ERROR("FetchFailed"));
    deeds_forget();
    download_fakes_leave(2);
    DID("destroy https://a.example/b; start https://a.example/d");
    download_fakes_answer(0, ERROR("FetchFailed"));
    deeds_forget();
    download_fakes_leave(0);
    DID("destroy https://a.example/a; start https://a.example/f");
    ANSWERED("FetchFailed FetchFailed");
}

/* It would have a place, and wait for the other one's lock. */
static void a_url_is_fetched_once_at_a_time(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("bb2", "https://a.example/x");
    fetch("bb2", "https://a.example/y");
    DID("start https://a.example/x; start https://a.example/y");
    download_fakes_answer(0, ERROR("FetchFailed"));
    deeds_forget();
    download_fakes_leave(0);
    DID("destroy https://a.example/x; start https://a.example/x");
    ANSWERED("FetchFailed");
}

static void too_many_of_a_session_wait(void **state)
{
    (void) state;
    for (int i = 0; i < 9; i++)
        fetch("aa1", "https://a.example/x");
    ANSWERED("");
    fetch("aa1", "https://a.example/x");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"FetchBusy\",\"evalue\":\"8 fetches of this session "
        "wait already; try again in 10 s\",\"exit_code\":1,\"retry_after\":10,"
        "\"status\":\"error\"}");
}

static void fetches_are_listed(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x?key=s");
    fetch("aa1", "https://a.example/y");
    bring(0);
    download_fakes_leave(0);
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":"
                         "\"https://u:p@a.example/y\",\"tag\":\"mine\"}");
    fetch("aa1", "https://a.example/z");
    deeds_forget();
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"list\"}");
    assert_string_equal(
        fake_answered(),
        "0 {\"fetches\":["
        "{\"bytes\":0,\"doing\":\"\",\"kind\":\"file\",\"number\":1,\"path\":"
        "\"x\",\"state\":"
        "\"copying\",\"tag\":\"\",\"total\":null,\"url\":\"https://a.example/"
        "x\"},"
        "{\"bytes\":7,\"doing\":\"asking\",\"kind\":\"file\",\"number\":2,"
        "\"path\":\"y\","
        "\"state\":\"running\",\"tag\":\"\",\"total\":10,\"url\":\"https://"
        "a.example/y\"},"
        "{\"bytes\":7,\"doing\":\"asking\",\"kind\":\"file\",\"number\":3,"
        "\"path\":\"y\","
        "\"state\":\"running\",\"tag\":\"mine\",\"total\":10,\"url\":\"https://"
        "a.example/y\"},"
        "{\"bytes\":0,\"doing\":\"\",\"kind\":\"file\",\"number\":4,\"path\":"
        "\"z\",\"state\":"
        "\"waiting\",\"tag\":\"\",\"total\":null,\"url\":\"https://a.example/"
        "z\"}],"
        "\"status\":\"ok\"}");
    download_fakes_fetch("{\"id\":\"bb2\",\"order\":\"list\"}");
    assert_string_equal(fake_answered(),
                        "0 {\"fetches\":[],\"status\":\"ok\"}");
}

static void a_fetch_is_cancelled(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    deeds_forget();
    download_fakes_fetch("{\"id\":\"bb2\",\"order\":\"cancel\",\"number\":1}");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":2}");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\"}");
    download_fakes_fetch(
        "{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":4294967297}");
    download_fakes_fetch(
        "{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":-4294967295}");
    ANSWERED("FetchUnknown FetchUnknown FetchUnknown FetchUnknown "
             "FetchUnknown");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":1}");
    ANSWERED("FetchCancelled ok");
    assert_non_null(strstr(deeds_take(), "stop https://a.example/x"));
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":1}");
    ANSWERED("FetchUnknown");
    download_fakes_leave(0);
}

/* Its worker is about to end. */
static void a_cancelled_fetch_is_not_listed(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":1}");
    (void) fake_answered();
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"list\"}");
    assert_string_equal(fake_answered(),
                        "0 {\"fetches\":[],\"status\":\"ok\"}");
    download_fakes_leave(0);
}

/* The profiles share it. */
static void the_cache_is_for_the_largest_file(void **state)
{
    static profile_t larger = {.fetch = {.max_bytes = 20}},
                     smaller = {.fetch = {.max_bytes = 10}},
                     outside = {.fetch = {.max_bytes = 30}};
    static profile_t *profiles[] = {&fake_profile, &larger, &smaller, &outside};
    options_t before = fake_options;

    (void) state;
    fake_options.profiles = profiles;
    fake_options.profile_count = 3;
    fetch("aa1", "https://a.example/x");
    fake_options.profiles = before.profiles;
    fake_options.profile_count = before.profile_count;
    assert_int_equal(json_integer_value(json_object_get(
                         download_fakes.workers[0].job, "cache_bytes")),
                     4 * 20);
    download_fakes_finish(0);
}

static void destroying_twice_is_harmless(void **state)
{
    fetch_jobs_t *none = fetch_jobs_new(download_fakes.parts, "/packages");

    (void) state;
    fetch_jobs_destroy(&none);
    assert_null(none);
    fetch_jobs_destroy(&none);
}

static void the_session_ends(void **state)
{
    (void) state;
    for (int i = 0; i < 3; i++)
        fetch("aa1", "https://a.example/x");
    fetch("bb2", "https://a.example/y");
    fetch_jobs_on_gone(jobs(), "aa1");
    ANSWERED("SessionGone SessionGone SessionGone");
    download_fakes_leave(0);
    download_fakes_answer(1, ERROR("FetchFailed"));
    ANSWERED("FetchFailed");
    download_fakes_leave(1);
}

/* A user and a password are as secret as a query. */
static void secrets_of_urls_are_not_recorded(void **state)
{
    static const char *const cases[][2] = {
        {"https://u:p@a.example/x", "https://a.example/x"},
        {"https://a@b@a.example/@x?k=s", "https://a.example/@x"},
        {"https://a.example/x?u@b", "https://a.example/x"},
        {"https://a.example#k", "https://a.example"},
        {"u:p@a.example/x", "a.example/x"},
        {"http:/u:p@a.example/x?k", "a.example/x"},
        {"?https://k", ""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *plain = url_plain(cases[i][0]);

        assert_string_equal(plain, cases[i][1]);
    }
}

static void the_gateway_stops(void **state)
{
    (void) state;
    fetch("aa1", "https://a.example/x");
    fetch("aa1", "https://a.example/y");
    bring(0);
    fetch_jobs_stop(jobs());
    ANSWERED("GatewayStopping GatewayStopping");
    placed("{\"status\":\"ok\"}");
    ANSWERED("");
    download_fakes_leave(0);
    download_fakes_leave(1);
}

static void what_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"id\":\"aa1\"}",
        "{\"id\":\"aa1\",\"order\":\"get\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b c\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b\\u007f\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b\","
        "\"path\":\"../b\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b\","
        "\"path\":7}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b\","
        "\"sha256\":\"00\"}",
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"https://a/b\","
        "\"sha256\":null}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        download_fakes_fetch(wrong[i]);
        ANSWERED("BadRequest");
    }
    DID("");
    download_fakes_fetch("{\"id\":\"zz9\",\"order\":\"list\"}");
    ANSWERED("UnknownSession");
    fetch_places[0] = NULL;
    download_fakes_set_rules(NULL, NULL);
    fetch("aa1", "https://a.example/x");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"FetchOff\",\"evalue\":\"sessions of profile python3 "
        "fetch nothing: the operator can name hosts in "
        "profile/python3/fetch/allow\",\"exit_code\":5,\"status\":\"error\"}");
    DID("audit fetch refused by uid=7 of aa1: {\"ename\": \"FetchOff\", "
        "\"kind\": \"file\", \"path\": \"x\", \"text\": \"sessions of profile "
        "python3 fetch "
        "nothing: the operator can name hosts in "
        "profile/python3/fetch/allow\", \"url\": \"https://a.example/x\"}");
    assert_int_equal(download_fakes.started, 0);
}

/* The worker says how far it has come. */
static void come_further(size_t worker)
{
    const download_process_start_t *start =
        &download_fakes.workers[worker].start;

    start->ops->progressed(start->arg);
}

/* The answer is the call's result, as a client gets it. */
static void code_asks(void **state)
{
    const char *said;

    (void) state;
    call(5, "{\"order\":\"fetch\",\"url\":\"https://a.example/x\"}");
    DID("start https://a.example/x");
    bring(0);
    assert_non_null(strstr(deeds_take(), "place for kernel in"));
    download_fakes_leave(0);
    placed("{\"status\":\"ok\",\"size\":4}");
    said = fake_said();
    assert_non_null(strstr(said, "aa1 NOTE"));
    assert_non_null(strstr(said, "aa1 TOOLS answer 5 {\"status\":\"ok\""));
    assert_non_null(
        strstr(fake_noted(), "\"fetched https://a.example/x -> x (4 bytes, "));
}

/* A client asks by itself. */
static void code_sees_its_progress(void **state)
{
    const char *said;

    (void) state;
    fetch("aa1", "https://a.example/y");
    come_further(0);
    assert_string_equal(fake_said(), "");
    call(5, "{\"order\":\"fetch\",\"url\":\"https://a.example/x\"}");
    come_further(1);
    said = fake_said();
    assert_non_null(strstr(said, "aa1 TOOLS progress 5 {"));
    assert_non_null(strstr(said, "\"path\":\"x\""));
    assert_non_null(strstr(said, "\"bytes\":7,\"total\":10"));
    download_fakes_leave(0);
    download_fakes_leave(1);
}

static void what_code_asks_is_refused(void **state)
{
    static const char *const wrong[] = {
        "[]",
        "{\"order\":\"list\"}",
        "{\"order\":\"fetch\"}",
        "{\"order\":\"fetch\",\"url\":\"https://a.example/x\\u0000\"}",
        "{\"order\":\"fetch\",\"url\":\"https://a.example/x\",\"path\":"
        "\"y\\u0000\"}",
        "{\"order\":\"fetch\",\"url\":\"https://a.example/x\",\"key\":"
        "\"k\\u0000\"}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        call(6, wrong[i]);
        assert_non_null(strstr(fake_said(), "\"ename\":\"BadRequest\""));
    }
    DID("");
    download_fakes_set_rules(NULL, "{\"cells\":false}");
    call(7, "{\"order\":\"fetch\",\"url\":\"https://a.example/x\"}");
    assert_non_null(strstr(fake_said(), "(this session was created with "
                                        "fetch/cells = no); a client may"));
    fake_profile.fetch.serves_cells = 0;
    download_fakes_set_rules(NULL, NULL);
    call(7, "{\"order\":\"fetch\",\"url\":\"https://a.example/x\"}");
    assert_non_null(strstr(fake_said(),
                           "code in a cell may not fetch here "
                           "(profile/python3/fetch/cells); a client may: "
                           "`hearth fetch aa1 URL`"));
    assert_non_null(strstr(deeds_take(), "audit fetch refused by kernel"));
    assert_int_equal(download_fakes.started, 0);
    fetch("aa1", "https://a.example/x");
    assert_int_equal(download_fakes.started, 1);
}

static void a_session_may_fetch_nothing(void **state)
{
    (void) state;
    download_fakes_set_rules(NULL, "{\"allow\":[]}");
    fetch("aa1", "https://a.example/x");
    assert_non_null(strstr(fake_answered(), "created with fetch/allow = "));
    download_fakes_set_rules(NULL, "{\"allow\":[\"a.example\"],\"odd\":1}");
    fetch("aa1", "https://a.example/x");
    assert_non_null(strstr(fake_answered(), "cannot be read any more"));
    assert_int_equal(download_fakes.started, 0);
    download_fakes_set_rules("{\"index\":\"\"}", NULL);
    fetch("aa1", "https://a.example/x");
    assert_int_equal(download_fakes.started, 1);
}

static void submodules_are_the_operators_choice(void **state)
{
    const char *request =
        "{\"id\":\"aa1\",\"order\":\"fetch\",\"kind\":\"repository\","
        "\"submodules\":true,\"url\":\"https://a.example/x\"}";

    (void) state;
    download_fakes_fetch(request);
    assert_non_null(strstr(fake_answered(),
                           "the operator can permit them by "
                           "profile/python3/fetch/submodules = yes"));
    assert_int_equal(download_fakes.started, 0);
    fake_profile.fetch.has_submodules = 1;
    download_fakes_set_rules(NULL, "{\"submodules\":false}");
    download_fakes_fetch(request);
    assert_non_null(
        strstr(fake_answered(), "created with fetch/submodules = no"));
    assert_int_equal(download_fakes.started, 0);
    fake_profile.fetch.max_files = 9;
    download_fakes_set_rules(NULL, "{\"max_files\":7}");
    download_fakes_fetch(request);
    assert_int_equal(download_fakes.started, 1);
    assert_int_equal(json_integer_value(json_object_get(
                         download_fakes.workers[0].job, "max_files")),
                     7);
    assert_true(json_is_true(
        json_object_get(download_fakes.workers[0].job, "submodules")));
    download_fakes_answer(0, ERROR("FetchFailed"));
    download_fakes_leave(0);
}

static void a_long_url(void **state)
{
    char url[2100] = "https://a.example/";

    (void) state;
    memset(url + strlen(url), 'x', 1983);
    memcpy(url + 1990, "/x", 2);
    url[2001] = '\0';
    fetch("aa1", url);
    ANSWERED("BadRequest");
    url[2000] = '\0';
    fetch("aa1", url);
    ANSWERED("");
    assert_int_equal(download_fakes.started, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FETCH_TEST(what_the_worker_gets),
        FETCH_TEST(what_was_recorded_is_pinned),
        FETCH_TEST(a_failure_has_a_record),
        FETCH_TEST(an_invalid_request_is_refused),
        FETCH_TEST(some_run_and_some_wait),
        FETCH_TEST(a_url_is_fetched_once_at_a_time),
        FETCH_TEST(too_many_of_a_session_wait),
        FETCH_TEST(fetches_are_listed),
        FETCH_TEST(a_fetch_is_cancelled),
        FETCH_TEST(a_cancelled_fetch_is_not_listed),
        FETCH_TEST(the_cache_is_for_the_largest_file),
        FETCH_TEST(destroying_twice_is_harmless),
        FETCH_TEST(the_session_ends),
        FETCH_TEST(secrets_of_urls_are_not_recorded),
        FETCH_TEST(the_gateway_stops),
        FETCH_TEST(what_is_refused),
        FETCH_TEST(code_asks),
        FETCH_TEST(code_sees_its_progress),
        FETCH_TEST(what_code_asks_is_refused),
        FETCH_TEST(a_session_may_fetch_nothing),
        FETCH_TEST(submodules_are_the_operators_choice),
        FETCH_TEST(a_long_url),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
