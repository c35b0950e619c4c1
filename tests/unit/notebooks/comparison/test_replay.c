/* Running recorded cells again, by a runner that only pretends. */
#include "tests/lib/test.h"

#include "notebooks/comparison/replay_choice.h"
#include "notebooks/comparison/replay_expression.h"
#include "tests/lib/replay_rig.h"

#include <errno.h>
#include <string.h>

static void fill(notebook_t *notebook)
{
    replay_rig_add(notebook, "t", "# text", NULL, "{}");
    replay_rig_add(notebook, "a", "a", "a", "{}");
    replay_rig_add(notebook, "b", "b", "other", "{}");
    replay_rig_add(notebook, "c", "c", "c", "{}");
    replay_rig_add(notebook, "d", "d", "other", "{}");
}

static void runs_code_cells_in_their_order(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.slow = 3};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "a;b;c;d;");
    assert_string_equal(listener.log, "1=2!3=4!");
    assert_int_equal(listener.waits, 3);
    assert_int_equal(summary.same, 2);
    assert_int_equal(summary.different, 2);
    assert_int_equal(summary.first_different, 2);
}

static void begins_and_ends_at_the_given_cells(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0}, second = {0}, third = {0};
    replay_listener_t listener = {.is_patient = true},
                      other = {.stop_after = 1};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    options.first = 3;
    options.last = 3;
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "c;");
    options.first = options.last = 0;
    options.stops_there = true;
    assert_int_equal(
        replay_rig_run(&notebook, &second, &options, &summary, &fault), 0);
    assert_string_equal(second.log, "a;b;");
    options = replay_rig_options(&other);
    assert_int_equal(
        replay_rig_run(&notebook, &third, &options, &summary, &fault), 0);
    assert_string_equal(third.log, "a;");
}

static void restarts_where_the_recording_has_a_fresh_kernel(void **state)
{
    static const char fresh[] = "{\"hearth\":{\"fresh_kernel\":true}}";
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0}, revived = {0};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    replay_rig_add(&notebook, "a", "a", "a", "{}");
    replay_rig_add(&notebook, "b", "b", "b", fresh);
    /* It never ran, and what was before it is gone all the same. */
    replay_rig_add(&notebook, "c", "c", "c",
                   "{\"hearth\":{\"fresh_kernel\":true,\"refused\":true}}");
    replay_rig_add(&notebook, "d", "d", "d", "{\"hearth\":{\"revival\":true}}");
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "a;RESTART;b;RESTART;");
    assert_int_equal(summary.same, 2);
    assert_int_equal(summary.skipped, 2);
    options.is_revival = true;
    assert_int_equal(
        replay_rig_run(&notebook, &revived, &options, &summary, &fault), 0);
    assert_string_equal(revived.log, "a;b;d;");
}

static void leaves_out_marked_and_failed_cells(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t plain = {0}, all = {0}, revival = {0};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    replay_rig_add(&notebook, "1", "x\n \t# hearth: outside-effects", "", "{}");
    replay_rig_add(&notebook, "2", "#hearth:skip-on-revive\r\nx", "", "{}");
    replay_rig_add(&notebook, "3", "x # hearth: skip-on-revive", "", "{}");
    replay_rig_add(&notebook, "4", "# hearth: skip-on-revivement", "", "{}");
    replay_rig_add(&notebook, "5", "t", "",
                   "{\"tags\":[1,\"hearth.outside_effects\"]}");
    replay_rig_add(&notebook, "6", "m", "",
                   "{\"hearth\":{\"outside_effects\":true}}");
    replay_rig_add(&notebook, "7", "n", "",
                   "{\"hearth\":{\"status\":\"aborted\"}}");
    replay_rig_add(&notebook, "8", "u", "",
                   "{\"hearth\":{\"status\":\"unanswered\"}}");
    replay_rig_add(&notebook, "9", "k", "", "{}");
    replay_rig_add(&notebook, "10", "r", "",
                   "{\"hearth\":{\"status\":\"error\",\"refused\":true}}");
    json_array_append_new(
        notebook.cells[8].outputs,
        json_pack("{s:s, s:s}", "output_type", "error", "ename", "KernelDied"));
    assert_int_equal(
        replay_rig_run(&notebook, &plain, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1-2-3!4!5-6-7-8-9-10-");
    assert_int_equal(summary.skipped, 8);
    options.runs_all = true;
    listener.log[0] = '\0';
    assert_int_equal(
        replay_rig_run(&notebook, &all, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1!2!3!4!5!6!7-8-9-10-");
    options.is_revival = true;
    listener.log[0] = '\0';
    assert_int_equal(
        replay_rig_run(&notebook, &revival, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1!2!3!4!5!6!7-8-9-10-");
}

static void waits_for_displays_that_change_later(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.open = "a"}, second = {.open = "a"};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    replay_rig_add(&notebook, "a", "a", "later", "{}");
    replay_rig_add(&notebook, "b", "b", "b", "{}");
    options.stops_there = true;
    assert_int_equal(
        replay_rig_run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1?2=1=late");
    assert_int_equal(summary.same, 2);
    listener.log[0] = '\0';
    options.last = 1;
    assert_int_equal(
        replay_rig_run(&notebook, &second, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1?1!late");
    assert_int_equal(summary.first_different, 1);
}

static void stops_on_request_or_without_a_kernel(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t slow = {.slow = 1000000}, gone = {.breaks_at = 2};
    replay_listener_t listener = {.is_patient = false};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(
        replay_rig_run(&notebook, &slow, &options, &summary, &fault), -EINTR);
    assert_true(slow.is_interrupted);
    assert_string_equal(slow.log, "a;");
    assert_int_equal(
        replay_rig_run(&notebook, &gone, &options, &summary, &fault),
        -ESHUTDOWN);
    assert_int_equal(summary.same, 1);
}

static json_t *know(const char *prompt, bool is_password)
{
    return is_password ? json_string(prompt) : NULL;
}

static void repeats_recorded_answers(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t alone = {0}, asked = {0};
    replay_listener_t listener = {.is_patient = true};
    replay_options_t options = replay_rig_options(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    replay_rig_add(&notebook, "1", "none", "", "{\"hearth\":{\"inputs\":0}}");
    replay_rig_add(
        &notebook, "2", "two", "",
        "{\"hearth\":{\"inputs\":[{\"answered\":true,\"value\":\"a\"},"
        "{\"answered\":true,\"value\":\"b\"}]}}");
    replay_rig_add(&notebook, "3", "stopped", "",
                   "{\"hearth\":{\"inputs\":[{\"prompt\":\"x\"}]}}");
    replay_rig_add(
        &notebook, "4", "secret", "",
        "{\"hearth\":{\"inputs\":[{\"answered\":true,\"value\":\"c\"},"
        "{\"answered\":true,\"password\":true,\"prompt\":\"word\"}]}}");
    replay_rig_add(&notebook, "5", "masked", "",
                   "{\"hearth\":{\"inputs\":[{\"answered\":true,"
                   "\"value\":\"my [masked]\"}]}}");
    assert_int_equal(
        replay_rig_run(&notebook, &alone, &options, &summary, &fault), 0);
    assert_string_equal(alone.log, "none;two<a<b<;stopped<null<;");
    assert_int_equal(summary.skipped, 2);
    options.answer = know;
    assert_int_equal(
        replay_rig_run(&notebook, &asked, &options, &summary, &fault), 0);
    assert_string_equal(asked.log,
                        "none;two<a<b<;stopped<null<;secret<c<word<;");
    assert_int_equal(summary.skipped, 1);
}

static void finds_cells_by_number_and_id(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    size_t number = 0;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(replay_find(&notebook, "2", &number, &fault), 0);
    assert_int_equal(number, 2);
    assert_int_equal(replay_find(&notebook, "c", &number, &fault), 0);
    assert_int_equal(number, 3);
    assert_int_equal(replay_find(&notebook, "5", &number, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "1 to 4"));
    assert_int_equal(replay_find(&notebook, "0", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "-1", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "t", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "", &number, &fault), -ENOENT);
}

static void evaluates_an_expression(void **state)
{
    pretender_t pretender = {.truth = "True"};
    cell_executor_t runner = {.methods = &replay_rig_methods,
                              .self = &pretender};
    cleanup_free char *error = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), 1);
    assert_string_equal(pretender.log, "bool((\nx\n));");
    pretender.truth = "False";
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), 0);
    assert_null(error);
    pretender.truth = NULL;
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), -1);
    assert_string_equal(error, "NameError: no x");
    pretender.breaks_at = 1;
    assert_true(replay_evaluate(&runner, "x", &error, &fault) < -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_code_cells_in_their_order),
        cmocka_unit_test(begins_and_ends_at_the_given_cells),
        cmocka_unit_test(restarts_where_the_recording_has_a_fresh_kernel),
        cmocka_unit_test(leaves_out_marked_and_failed_cells),
        cmocka_unit_test(waits_for_displays_that_change_later),
        cmocka_unit_test(stops_on_request_or_without_a_kernel),
        cmocka_unit_test(repeats_recorded_answers),
        cmocka_unit_test(finds_cells_by_number_and_id),
        cmocka_unit_test(evaluates_an_expression),
    };

    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
