/* The report of a revival, and its bounds. */
#include "gateway/cli/recordings/revival_report.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <string.h>

/* The report, with all that it is made of. */
typedef struct {
    revival_report_t report;
    revival_plan_t plan;
    json_t *missing; /* owned */
    json_t *made;    /* owned; the last one */
} rig_t;

static int begin(void **state)
{
    rig_t *rig = mem_new(sizeof *rig);

    revival_report_init(&rig->report);
    rig->report.is_complete = true;
    rig->plan.expected = json_object();
    rig->missing = json_array();
    *state = rig;
    return 0;
}

static int end(void **state)
{
    rig_t *rig = *state;

    revival_report_clear(&rig->report);
    revival_plan_clear(&rig->plan);
    json_decref(rig->missing);
    json_decref(rig->made);
    free(rig);
    return 0;
}

static json_t *make(rig_t *rig)
{
    json_decref(rig->made);
    rig->made =
        revival_report_make(&rig->report, "s1", &rig->plan, rig->missing);
    assert_non_null(rig->made);
    return rig->made;
}

static const char *sentence(rig_t *rig)
{
    return json_string_value(json_object_get(make(rig), "sentence"));
}

static void add(rig_t *rig, size_t number, replay_verdict_t verdict,
                const char *why)
{
    char id[] = "c";
    notebook_cell_t cell = {.id = id};
    replay_step_t step = {.cell = &cell,
                          .number = number,
                          .verdict = verdict,
                          .why = why ? mem_text(why) : NULL};

    revival_report_add(&rig->report, &step);
    free(step.why);
}

/* A cell that makes the variable. */
static void add_variable(rig_t *rig, const char *name, bool is_late)
{
    char id[] = "c";
    notebook_cell_t cell = {.id = id};
    replay_step_t step = {.cell = &cell, .is_late = is_late};

    step.result.figures =
        json_pack("{s:{s:[{s:s}]}}", "namespace", "appeared", "name", name);
    revival_report_add(&rig->report, &step);
    json_decref(step.result.figures);
}

static void add_kernels_end(rig_t *rig)
{
    char id[] = "c";
    notebook_cell_t cell = {.id = id};
    replay_step_t step = {.cell = &cell};

    step.result.reply = json_pack("{s:s}", "ename", "KernelDied");
    revival_report_add(&rig->report, &step);
    json_decref(step.result.reply);
}

static void expect(rig_t *rig, const char *name)
{
    json_object_set_new(rig->plan.expected, name, json_object());
}

static void add_missing(rig_t *rig, const char *what, const char *why)
{
    json_array_append_new(rig->missing,
                          json_pack("{s:s, s:s}", "what", what, "why", why));
}

static size_t count(const json_t *object, const char *key)
{
    return json_array_size(json_object_get(object, key));
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void says_that_all_is_back(void **state)
{
    rig_t *rig = *state;

    rig->report.summary = (replay_summary_t){.same = 3, .skipped = 1};
    expect(rig, "a");
    add_variable(rig, "a", false);
    assert_string_equal(
        sentence(rig),
        "this session was gone and has been revived: 3 cells ran again, 0 of "
        "them with another outcome, 1 were skipped; variables back: a; the "
        "workspace is the same folder as before");
    assert_true(revival_report_is_whole(rig->made));
    assert_string_equal(
        json_string_value(json_object_get(rig->made, "session")), "s1");
    assert_int_equal(number(rig->made, "ran"), 3);
    assert_int_equal(number(rig->made, "same"), 3);
    assert_int_equal(number(rig->made, "different"), 0);
    assert_int_equal(number(rig->made, "skipped"), 1);
}

static void says_what_differs_and_what_is_missing(void **state)
{
    rig_t *rig = *state;

    rig->report.summary =
        (replay_summary_t){.same = 1, .different = 2, .skipped = 1};
    rig->plan.has_gaps = true;
    add(rig, 2, REPLAY_DIFFERENT, "other text");
    add(rig, 3, REPLAY_SKIPPED, "it was aborted");
    add(rig, 4, REPLAY_DIFFERENT, "no text");
    expect(rig, "gone");
    add_missing(rig, "humane", "no such version");
    add_missing(rig, "", "a client's wish");
    assert_string_equal(
        sentence(rig),
        "this session was gone and has been revived: 3 cells ran again, 2 of "
        "them with another outcome (cell 2, 4), 1 were skipped (cell 3); older "
        "cells are not in the recording any more; missing: gone; missing from "
        "outside: humane: no such version; missing from outside: a client's "
        "wish; the workspace is the same folder as before");
    assert_int_equal(number(rig->made, "ran"), 3);
    assert_int_equal(count(rig->made, "cells"), 3);
    assert_int_equal(count(rig->made, "missing"), 2);
}

static void says_how_far_it_got(void **state)
{
    rig_t *rig = *state;

    rig->report.is_complete = false;
    assert_non_null(strstr(sentence(rig), "it was ended before the last cell"));
    rig->report.is_damaged = true;
    assert_non_null(strstr(sentence(rig), "the recording is damaged"));
    assert_null(strstr(sentence(rig), "it was ended"));
}

static void lists_only_cells_with_a_final_reason(void **state)
{
    rig_t *rig = *state;

    add(rig, 1, REPLAY_SAME, NULL);
    add(rig, 2, REPLAY_WAITING, "it may be updated");
    add(rig, 3, REPLAY_DIFFERENT, "other text");
    assert_int_equal(count(make(rig), "cells"), 1);
}

/* A step that comes a second time says nothing new about variables. */
static void counts_the_variables_of_a_step_once(void **state)
{
    rig_t *rig = *state;

    expect(rig, "a");
    expect(rig, "b");
    add_variable(rig, "a", false);
    add_variable(rig, "b", true);
    assert_non_null(strstr(sentence(rig), "; variables back: a; missing: b;"));
}

static void lists_a_bounded_number_of_each(void **state)
{
    rig_t *rig = *state;
    const json_t *variables;

    for (unsigned i = 0; i < 101; i++) {
        cleanup_free char *name = mem_format("v%03u", i);

        expect(rig, name);
        add(rig, i + 1, REPLAY_DIFFERENT, "other text");
        add_missing(rig, name, "gone");
    }
    assert_non_null(strstr(sentence(rig), "v018, v019 and 80 more;"));
    assert_non_null(strstr(sentence(rig), "; missing from outside: v004: gone; "
                                          "and 96 more from outside are "
                                          "missing;"));
    variables = json_object_get(rig->made, "variables");
    assert_int_equal(count(variables, "missing"), 100);
    assert_int_equal(count(rig->made, "cells"), 50);
    assert_int_equal(count(rig->made, "missing"), 30);
}

/* Twenty names and five things are listed in full. */
static void says_no_rest_where_there_is_none(void **state)
{
    rig_t *rig = *state;

    for (unsigned i = 0; i < 20; i++) {
        cleanup_free char *name = mem_format("v%02u", i);

        expect(rig, name);
        if (i < 5)
            add_missing(rig, name, "gone");
    }
    assert_null(strstr(sentence(rig), "more"));
    assert_non_null(strstr(sentence(rig), "v18, v19;"));
}

static void shortens_reasons_between_characters(void **state)
{
    char text[500] = "a", exact[201] = "";
    rig_t *rig = *state;
    const json_t *cells, *first;

    for (size_t i = 1; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "é", 3);
    memset(exact, 'x', 200);
    add(rig, 1, REPLAY_DIFFERENT, text);
    add(rig, 2, REPLAY_DIFFERENT, exact);
    add_missing(rig, text, text);
    cells = json_object_get(make(rig), "cells");
    assert_int_equal(
        json_string_length(json_object_get(json_array_get(cells, 0), "why")),
        199);
    assert_int_equal(
        json_string_length(json_object_get(json_array_get(cells, 1), "why")),
        200);
    first = json_array_get(json_object_get(rig->made, "missing"), 0);
    assert_int_equal(json_string_length(json_object_get(first, "what")), 399);
    assert_int_equal(json_string_length(json_object_get(first, "why")), 399);
    /* The rows that were given stay as they were. */
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(rig->missing, 0), "why")),
                        text);
}

static void bounds_the_bytes_of_what_is_missing(void **state)
{
    char quotes[401] = "";
    rig_t *rig = *state;

    /* Each takes two bytes, so a row takes 1600 and a few. */
    memset(quotes, '"', 400);
    for (int i = 0; i < 20; i++)
        add_missing(rig, quotes, quotes);
    assert_int_equal(count(make(rig), "missing"), 10);
}

static void is_whole_only_if_nothing_differs(void **state)
{
    static const char *const broken[] = {
        "{\"is_complete\":false}",
        "{\"has_gaps\":true}",
        "{\"different\":1}",
        "{\"missing\":[{}]}",
        "{\"variables\":{\"different\":[{}]}}",
        "{\"variables\":{\"missing\":[\"a\"]}}",
    };
    rig_t *rig = *state;

    assert_true(revival_report_is_whole(make(rig)));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        json_auto_t *report = json_deep_copy(rig->made);
        json_auto_t *change = json_loads(broken[i], 0, NULL);

        json_object_update(report, change);
        assert_false(revival_report_is_whole(report));
    }
}

static void what_a_dead_kernel_had_is_missing(void **state)
{
    rig_t *rig = *state;

    expect(rig, "a");
    expect(rig, "b");
    add_variable(rig, "a", false);
    add_kernels_end(rig);
    add_variable(rig, "b", false);
    assert_non_null(strstr(sentence(rig), "; missing: a;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_that_all_is_back, begin, end),
        cmocka_unit_test_setup_teardown(what_a_dead_kernel_had_is_missing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(says_what_differs_and_what_is_missing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(says_how_far_it_got, begin, end),
        cmocka_unit_test_setup_teardown(lists_only_cells_with_a_final_reason,
                                        begin, end),
        cmocka_unit_test_setup_teardown(counts_the_variables_of_a_step_once,
                                        begin, end),
        cmocka_unit_test_setup_teardown(lists_a_bounded_number_of_each, begin,
                                        end),
        cmocka_unit_test_setup_teardown(says_no_rest_where_there_is_none, begin,
                                        end),
        cmocka_unit_test_setup_teardown(shortens_reasons_between_characters,
                                        begin, end),
        cmocka_unit_test_setup_teardown(bounds_the_bytes_of_what_is_missing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(is_whole_only_if_nothing_differs, begin,
                                        end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
