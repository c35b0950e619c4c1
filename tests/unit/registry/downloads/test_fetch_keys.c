/* Fetches under a client's key: one that is sent again joins the first or gets
 * its answer, and nothing is done twice. Workers and the files thread are
 * records. */
#include "base/buffer.h"
#include "tests/lib/fetch_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define X "https://a.example/x"

/* Has a client ask with a key, and perhaps further members: ",\"path\":\"y\"".
 */
static void ask(const char *session, const char *key, const char *more)
{
    cleanup_free char *text =
        mem_format("{\"id\":\"%s\",\"order\":\"fetch\",\"url\":\"" X
                   "\",\"key\":\"%s\"%s}",
                   session, key, more);

    download_fakes_fetch(text);
}

/* Has the worker of that number bring its file, which is placed. */
static void finish(size_t at)
{
    bring(at);
    download_fakes_leave(at);
    placed("{\"status\":\"ok\",\"size\":4}");
}

/* Fetches a file under that key. */
static void done(const char *session, const char *key)
{
    ask(session, key, "");
    finish(download_fakes.started - 1);
    ANSWERED("ok");
}

/* As an example of use. */
static void the_answer_is_given_again(void **state)
{
    json_auto_t *first = NULL;

    (void) state;
    ask("aa1", "k", "");
    finish(0);
    first = json_loads(strchr(fake_answered(), '{'), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(first, "path")), "x");
    assert_null(json_object_get(first, "kept_at"));
    (void) fake_said();
    deeds_forget();
    for (int i = 0; i < 3; i++) {
        json_auto_t *again = NULL;

        ask("aa1", "k", "");
        again = json_loads(strchr(fake_answered(), '{'), 0, NULL);
        /* It also says when it was given first. */
        assert_true(json_is_string(json_object_get(again, "kept_at")));
        json_object_del(again, "kept_at");
        assert_true(json_equal(again, first));
    }
    DID("");
    assert_string_equal(fake_said(), "");
    assert_int_equal(download_fakes.started, 1);
    fetch("aa1", X); /* without a key it is another one */
    assert_int_equal(download_fakes.started, 2);
    download_fakes_answer(1, ERROR("FetchFailed"));
    download_fakes_leave(1);
}

/* While it waits, runs and is copied. */
static void one_that_is_not_done_is_joined(void **state)
{
    (void) state;
    download_fakes.holds_probes = true;
    ask("aa1", "k", "");
    ask("aa1", "k", "");
    download_fakes_answer_probes("{\"status\":\"ok\"}");
    ask("aa1", "k", "");
    bring(0);
    ask("aa1", "k", "");
    ANSWERED("");
    assert_int_equal(download_fakes.started, 1);
    download_fakes_leave(0);
    placed("{\"status\":\"ok\",\"size\":4}");
    ANSWERED("ok ok ok ok");
}

static void another_request_is_refused(void **state)
{
    static const char *const others[] = {
        ",\"path\":\"y\"",
        ",\"sha256\":\"" HASH "\"",
        ",\"kind\":\"repository\"",
        ",\"kind\":\"repository\",\"ref\":\"v1\"",
        ",\"kind\":\"repository\",\"depth\":1",
    };

    (void) state;
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            ask("aa1", "k", "");
        else
            finish(0);
        (void) rig_answers();
        for (size_t at = 0; at < sizeof others / sizeof *others; at++) {
            ask("aa1", "k", others[at]);
            ANSWERED("FetchKeyUsed");
        }
    }
    ask("aa1", "k", ",\"path\":\"./x\",\"tag\":\"t\""); /* the same */
    ANSWERED("ok");
    assert_int_equal(download_fakes.started, 1);
}

static void more_of_a_repository_is_another_request(void **state)
{
    const char *clone = ",\"kind\":\"repository\"";

    (void) state;
    download_fakes.holds_probes = true;
    ask("aa1", "k", ",\"kind\":\"repository\",\"lfs\":false");
    ask("aa1", "k", clone);
    ANSWERED("");
    ask("aa1", "k", ",\"kind\":\"repository\",\"lfs\":true");
    ANSWERED("FetchKeyUsed");
    ask("aa1", "k", ",\"kind\":\"repository\",\"submodules\":true");
    ANSWERED("FetchKeyUsed");
    download_fakes_answer_probes(ERROR("IsFolder"));
    ANSWERED("IsFolder IsFolder");
}

static void a_key_is_one_sessions(void **state)
{
    (void) state;
    done("aa1", "k");
    done("bb2", "k");
    assert_int_equal(download_fakes.started, 2);
}

/* It has put nothing into the workspace. */
static void a_failure_frees_the_key(void **state)
{
    (void) state;
    ask("aa1", "k", "");
    ask("aa1", "k", "");
    download_fakes_answer(0, ERROR("FetchUnreachable"));
    ANSWERED("FetchUnreachable FetchUnreachable");
    download_fakes_leave(0);
    ask("aa1", "k", "");
    bring(1);
    download_fakes_leave(1);
    placed(ERROR("WorkspaceFull"));
    ANSWERED("WorkspaceFull");
    download_fakes.holds_probes = true;
    ask("aa1", "k", ",\"path\":\"y\"");
    download_fakes_answer_probes(ERROR("IsFolder"));
    ANSWERED("IsFolder");
    rig_outside.is_files_busy = true;
    ask("aa1", "k", "");
    rig_outside.is_files_busy = false;
    ANSWERED("FilesBusy");
    download_fakes.holds_probes = false;
    done("aa1", "k");
    ask("aa1", "k", "");
    ANSWERED("ok");
    assert_int_equal(download_fakes.started, 3);
}

/* A repetition, which no person asked for, does not begin it again. */
static void a_cancelled_fetch_stays_so(void **state)
{
    (void) state;
    ask("aa1", "k", "");
    ask("aa1", "k", "");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"cancel\",\"number\":1}");
    ANSWERED("FetchCancelled FetchCancelled ok");
    ask("aa1", "k", "");
    ANSWERED("FetchCancelled");
    download_fakes_leave(0);
    assert_int_equal(download_fakes.started, 1);
}

static void so_many_join(void **state)
{
    (void) state;
    for (int i = 0; i < 1 + 16; i++)
        ask("aa1", "k", "");
    ANSWERED("");
    ask("aa1", "k", "");
    assert_non_null(strstr(fake_answered(),
                           "16 requests with this key wait for "
                           "the same fetch already"));
    finish(0);
    ANSWERED("ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok");
}

static void answers_are_kept_for_ten_minutes(void **state)
{
    (void) state;
    done("aa1", "k");
    rig_outside.now_ms += 10 * 60 * 1000 - 1;
    ask("aa1", "k", "");
    ANSWERED("ok");
    rig_outside.now_ms += 1;
    ask("aa1", "k", "");
    assert_int_equal(download_fakes.started, 2);
    rig_outside.now_ms += 10 * 60 * 1000; /* one that runs is not forgotten */
    ask("aa1", "k", "");
    ANSWERED("");
    finish(1);
    ANSWERED("ok ok");
}

static void the_oldest_of_a_session_is_forgotten(void **state)
{
    (void) state;
    done("bb2", "k0");
    for (int i = 0; i < 17; i++) {
        cleanup_free char *key = mem_format("k%d", i);

        done("aa1", key);
    }
    ask("aa1", "k1", "");
    ask("aa1", "k16", "");
    ask("bb2", "k0", "");
    ANSWERED("ok ok ok");
    assert_int_equal(download_fakes.started, 18);
    ask("aa1", "k0", "");
    ANSWERED("");
    assert_int_equal(download_fakes.started, 19);
    finish(18);
}

static void the_session_ends(void **state)
{
    (void) state;
    done("aa1", "k");
    ask("aa1", "l", "");
    ask("aa1", "l", "");
    fetch_jobs_on_gone(jobs(), "aa1");
    ANSWERED("SessionGone SessionGone");
    download_fakes_leave(1);
    ask("aa1", "k", ""); /* its answer is forgotten */
    ANSWERED("");
    assert_int_equal(download_fakes.started, 3);
    finish(2);
}

static void the_gateway_stops(void **state)
{
    (void) state;
    ask("aa1", "k", "");
    ask("aa1", "k", "");
    fetch_jobs_stop(jobs());
    ANSWERED("GatewayStopping GatewayStopping");
    download_fakes_leave(0);
}

/* Its answers are not lost. */
static void code_has_no_keys(void **state)
{
    (void) state;
    done("aa1", "k");
    call(5, "{\"order\":\"fetch\",\"url\":\"" X "\",\"key\":\"k\"}");
    assert_int_equal(download_fakes.started, 2);
    download_fakes_answer(1, ERROR("FetchFailed"));
    download_fakes_leave(1);
}

static void a_key_that_is_none(void **state)
{
    char key[300] = "";

    (void) state;
    memset(key, 'k', 256);
    ask("aa1", key, "");
    ANSWERED("BadRequest");
    ask("aa1", "", "");
    ANSWERED("BadRequest");
    download_fakes_fetch("{\"id\":\"aa1\",\"order\":\"fetch\",\"url\":\"" X
                         "\",\"key\":null}");
    ANSWERED("BadRequest");
    assert_int_equal(download_fakes.started, 0);
    key[255] = '\0';
    done("aa1", key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FETCH_TEST(the_answer_is_given_again),
        FETCH_TEST(one_that_is_not_done_is_joined),
        FETCH_TEST(another_request_is_refused),
        FETCH_TEST(more_of_a_repository_is_another_request),
        FETCH_TEST(a_key_is_one_sessions),
        FETCH_TEST(a_failure_frees_the_key),
        FETCH_TEST(a_cancelled_fetch_stays_so),
        FETCH_TEST(so_many_join),
        FETCH_TEST(answers_are_kept_for_ten_minutes),
        FETCH_TEST(the_oldest_of_a_session_is_forgotten),
        FETCH_TEST(the_session_ends),
        FETCH_TEST(the_gateway_stops),
        FETCH_TEST(code_has_no_keys),
        FETCH_TEST(a_key_that_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
