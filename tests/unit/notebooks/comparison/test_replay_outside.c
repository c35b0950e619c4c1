/* What came from outside is brought again, or reported as missing. */
#include "tests/lib/replay_rig.h"

#include <errno.h>

#define PACKAGES                                                               \
    "{\"hearth\":{\"call\":{\"name\":\"p\",\"arguments\":{\"names\":[\"a\","   \
    "\"b\"]}}}}"
#define FETCH                                                                  \
    "{\"hearth\":{\"call\":{\"name\":\"f\",\"arguments\":{\"url\":\"u\"}}}}"
#define LEFT_OUT(flag)                                                         \
    "{\"hearth\":{\"" flag                                                     \
    "\":true,\"call\":{\"name\":\"l\",\"arguments\":{}}}}"
#define REVIVED                                                                \
    "{\"hearth\":{\"call\":{\"name\":\"r\",\"arguments\":{},\"revival\":true}" \
    "}}"

/* A client's requests are made again at their places, also after the last
 * cell. */
static void brings_what_clients_had_asked_for(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    replay_rig_add(&notebook, "n", "packages", NULL, PACKAGES);
    replay_rig_add(&notebook, "a", "a", "a", "{}");
    replay_rig_add(&notebook, "m", "a note", NULL, "{}");
    replay_rig_add(&notebook, "r", "a revival's", NULL, REVIVED);
    replay_rig_add(&notebook, "b", "b", "b", "{}");
    replay_rig_add(&notebook, "f", "fetched", NULL, FETCH);
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING p;a;b;BRING f;");
    assert_string_equal(listener.log, "1=2=");
    assert_int_equal(summary.missing, 0);

    pretender = (pretender_t){.refusal = "no"};
    listener = (replay_listener_t){.is_patient = true};
    options.last = 1;
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING p;a;");
    assert_string_equal(listener.log, "0[a, b: no]1=");
    assert_int_equal(summary.missing, 1);

    /* A revival makes again what comes before its first cell, too. */
    pretender = (pretender_t){0};
    options.last = 0;
    options.first = 2;
    options.is_revival = true;
    replay_rig_add(&notebook, "o", "broken off", NULL, LEFT_OUT("broken_off"));
    replay_rig_add(&notebook, "q", "repeated", NULL, LEFT_OUT("repeated"));
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING p;BRING r;b;BRING f;");
}

/* Replays with what is asked by default; returns how much is missing. */
static size_t play(const notebook_t *notebook, pretender_t *pretender,
                   replay_listener_t *listener, int result)
{
    replay_options_t options = replay_rig_options(listener);
    replay_summary_t summary;
    fault_t fault;

    assert_int_equal(
        replay_rig_run(notebook, pretender, &options, &summary, &fault),
        result);
    return summary.missing;
}

/* Nothing more is asked for, and no cell is run. */
static void an_interrupted_request_ends_the_run(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.refusal = "interrupted"};
    replay_listener_t listener = {0};

    (void) state;
    replay_rig_add(&notebook, "n", "packages", NULL, PACKAGES);
    replay_rig_add(&notebook, "f", "fetched", NULL, FETCH);
    replay_rig_add(&notebook, "a", "a", "a", "{}");
    assert_int_equal(play(&notebook, &pretender, &listener, -EINTR), 0);
    assert_string_equal(pretender.log, "BRING p;");
    assert_string_equal(listener.log, "");
}

/* The gateway has stopped: nothing is reported as missing. */
static void a_fault_of_a_request_ends_the_run(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.refusal = "gone", .bring_code = ECONNRESET};
    replay_listener_t listener = {.is_patient = true};

    (void) state;
    replay_rig_add(&notebook, "n", "packages", NULL, PACKAGES);
    replay_rig_add(&notebook, "a", "a", "a", "{}");
    assert_int_equal(play(&notebook, &pretender, &listener, -ECONNRESET), 0);
    assert_string_equal(pretender.log, "BRING p;");
}

#define ASKED                                                                  \
    "{\"hearth\":{\"status\":\"ok\",\"tools\":[{\"name\":\"hearth:fetch\"}]}}"

/* A cell that asked for something, and is refused it now, says why. */
static void a_cell_that_is_refused_is_named(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.ename = "FetchError"};
    replay_listener_t listener = {0};

    (void) state;
    replay_rig_add(&notebook, "a", "a", "a", ASKED);
    replay_rig_add(&notebook, "b", "b", "b", "{}");
    assert_int_equal(play(&notebook, &pretender, &listener, 0), 1);
    assert_string_equal(listener.log, "1!1[: not the same]2!");
    pretender.ename = "ValueError";
    assert_int_equal(play(&notebook, &pretender, &listener, 0), 0);
    /* The code has caught the error; the session says it. */
    listener = (replay_listener_t){0};
    pretender = (pretender_t){.missing = "gone"};
    assert_int_equal(play(&notebook, &pretender, &listener, 0), 1);
    assert_string_equal(listener.log, "1=1[: gone]2=");
    pretender.ename = "FetchError";
    assert_int_equal(play(&notebook, &pretender, &listener, 0), 1);
    /* Code that asked twice misses it once. */
    listener = (replay_listener_t){0};
    pretender = (pretender_t){.missing = "gone", .misses_twice = true};
    assert_int_equal(play(&notebook, &pretender, &listener, 0), 1);
    assert_string_equal(listener.log, "1=1[: gone]2=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_what_clients_had_asked_for),
        cmocka_unit_test(an_interrupted_request_ends_the_run),
        cmocka_unit_test(a_fault_of_a_request_ends_the_run),
        cmocka_unit_test(a_cell_that_is_refused_is_named),
    };

    return cmocka_run_group_tests_name("replay_outside", tests, NULL, NULL);
}
