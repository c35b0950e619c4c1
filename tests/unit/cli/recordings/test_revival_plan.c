/* Which cells of a recording a revival runs, and which variables it expects. */
#include "gateway/cli/recordings/revival_plan.h"

#include "notebooks/comparison/replay_choice.h"
#include "tests/lib/replay_rig.h"

#include <string.h>

/* Three cells, recorded as records 2, 5 and 8. The first makes a and b, the
 * second deletes b, the third makes c. */
#define CELL_A                                                                 \
    "{\"what\":\"cell\",\"seq\":2,\"namespace\":"                              \
    "{\"appeared\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}"
#define CELL_B "{\"what\":\"cell\",\"seq\":5,\"namespace\":{\"went\":[\"b\"]}}"
#define CELL_C                                                                 \
    "{\"what\":\"cell\",\"seq\":8,\"namespace\":"                              \
    "{\"appeared\":[{\"name\":\"c\"}]}}"

static void add_cell(notebook_t *notebook, int seq, const char *more)
{
    cleanup_free char *metadata =
        mem_format("{\"hearth\":{\"seq\":%d%s}}", seq, more);

    replay_rig_add(notebook, "cell", "code", "", metadata);
}

static void add_note(notebook_t *notebook, int seq, const char *more)
{
    cleanup_free char *metadata =
        mem_format("{\"hearth\":{\"seq\":%d%s}}", seq, more);

    replay_rig_add(notebook, "note", "text", NULL, metadata);
}

static void add_three(notebook_t *notebook)
{
    add_cell(notebook, 2, "");
    add_note(notebook, 4, "");
    add_cell(notebook, 5, "");
    add_cell(notebook, 8, "");
}

static revival_plan_t plan(const char *text, notebook_t *notebook)
{
    json_auto_t *rows = json_loads(text, 0, NULL);
    revival_plan_t made = {0};

    assert_non_null(rows);
    revival_plan_make(rows, notebook, &made);
    return made;
}

static void assert_names(const revival_plan_t *made, const char *names)
{
    cleanup_free char *text =
        json_dumps(made->expected, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(text, names);
}

static void runs_all_cells_of_a_plain_recording(void **state)
{
    cleanup_notebook notebook_t notebook = {0};

    (void) state;
    add_three(&notebook);
    cleanup_revival_plan revival_plan_t made =
        plan("[" CELL_A "," CELL_B "," CELL_C "]", &notebook);
    assert_int_equal(made.first, 1);
    assert_false(made.has_gaps);
    assert_names(&made, "{\"a\":{},\"c\":{}}");
    for (size_t i = 0; i < notebook.count; i++) {
        assert_null(notebook_cell_note(&notebook.cells[i], REPLAY_REPEATED));
        assert_null(notebook_cell_note(&notebook.cells[i], REPLAY_BROKEN_OFF));
    }
}

static void begins_after_a_restart_on_request(void **state)
{
    cleanup_notebook notebook_t notebook = {0};

    (void) state;
    add_three(&notebook);
    cleanup_revival_plan revival_plan_t made = plan(
        "[" CELL_A "," CELL_B
        ",{\"what\":\"restart\",\"seq\":7,\"reason\":\"deleted\"}," CELL_C "]",
        &notebook);
    assert_int_equal(made.first, 3);
    assert_names(&made, "{\"c\":{}}");
}

static void restores_what_a_kernel_lost_by_dying(void **state)
{
    cleanup_notebook notebook_t notebook = {0};

    (void) state;
    add_three(&notebook);
    cleanup_revival_plan revival_plan_t made =
        plan("[" CELL_A "," CELL_B
             ",{\"what\":\"restart\",\"seq\":7,\"reason\":\"died\"},"
             "{\"what\":\"note\",\"seq\":7,\"reason\":\"deleted\"}," CELL_C "]",
             &notebook);
    assert_int_equal(made.first, 1);
    assert_names(&made, "{\"a\":{},\"c\":{}}");
}

/* Records 3 to 6 are a revival: cell 5 is its own, note 4 is one that it has
 * made. `end` is the record of its end. */
static revival_plan_t plan_after_revival(const char *end, notebook_t *notebook)
{
    cleanup_free char *rows =
        mem_format("[" CELL_A ",{\"what\":\"reviving\",\"seq\":3}," CELL_B
                   "%s," CELL_C "]",
                   end);

    add_cell(notebook, 2, "");
    add_note(notebook, 1, "");
    add_note(notebook, 3, "");
    add_note(notebook, 4, ",\"call\":{\"revival\":true}");
    add_cell(notebook, 5, ",\"revival\":true");
    add_cell(notebook, 8, "");
    return plan(rows, notebook);
}

static bool has_note(const notebook_t *notebook, size_t cell, const char *key)
{
    return json_is_true(notebook_cell_note(&notebook->cells[cell], key));
}

static void begins_with_a_revival_that_was_finished(void **state)
{
    static const bool repeats[] = {false, true, false, false, false, false};
    cleanup_notebook notebook_t notebook = {0};

    (void) state;
    cleanup_revival_plan revival_plan_t made = plan_after_revival(
        ",{\"what\":\"revived\",\"seq\":6,\"is_complete\":true}", &notebook);
    assert_int_equal(made.first, 2);
    assert_names(&made, "{\"c\":{}}");
    for (size_t i = 0; i < notebook.count; i++) {
        assert_int_equal(has_note(&notebook, i, REPLAY_REPEATED), repeats[i]);
        assert_false(has_note(&notebook, i, REPLAY_BROKEN_OFF));
    }
}

static void leaves_out_a_revival_that_was_broken_off(void **state)
{
    static const char *const ends[] = {
        ",{\"what\":\"revived\",\"seq\":6,\"is_complete\":false}",
        (",{\"what\":\"reviving\",\"seq\":6},"
         "{\"what\":\"other\",\"seq\":7,\"is_complete\":true}"),
        "",
    };
    static const bool breaks[] = {false, false, false, true, true, false};

    (void) state;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        cleanup_notebook notebook_t notebook = {0};
        cleanup_revival_plan revival_plan_t made =
            plan_after_revival(ends[k], &notebook);

        assert_int_equal(made.first, 1);
        assert_names(&made, "{\"a\":{},\"c\":{}}");
        for (size_t i = 0; i < notebook.count; i++) {
            assert_int_equal(has_note(&notebook, i, REPLAY_BROKEN_OFF),
                             breaks[i]);
            assert_false(has_note(&notebook, i, REPLAY_REPEATED));
        }
    }
}

/* The revival that broke off says nothing about the one after it. */
static void judges_a_broken_off_revival_apart_from_the_next_one(void **state)
{
    static const char rows[] =
        "[" CELL_A ",{\"what\":\"reviving\",\"seq\":3}," CELL_B
        ",{\"what\":\"reviving\",\"seq\":6}," CELL_C
        ",{\"what\":\"revived\",\"seq\":9,\"is_complete\":true}]";
    cleanup_notebook notebook_t notebook = {0};

    (void) state;
    add_cell(&notebook, 2, "");
    add_cell(&notebook, 5, ",\"revival\":true");
    add_cell(&notebook, 8, ",\"revival\":true");
    cleanup_revival_plan revival_plan_t made = plan(rows, &notebook);
    assert_int_equal(made.first, 3);
    assert_names(&made, "{\"c\":{}}");
    assert_true(has_note(&notebook, 1, REPLAY_BROKEN_OFF));
    assert_false(has_note(&notebook, 2, REPLAY_BROKEN_OFF));
}

static void sees_gaps_only_where_cells_are_to_run(void **state)
{
    static const struct {
        const char *rows;
        bool has_gaps;
    } cases[] = {
        {"[{\"what\":\"gap\",\"seq\":1}," CELL_A "]", true},
        {"[{\"what\":\"gap\",\"seq\":3},"
         "{\"what\":\"restart\",\"seq\":3,\"reason\":\"deleted\"}]",
         false},
        {"[{\"what\":\"restart\",\"seq\":3,\"reason\":\"deleted\"},"
         "{\"what\":\"gap\",\"seq\":4}]",
         true},
        {"[{\"what\":\"note\",\"seq\":4}]", false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_notebook notebook_t notebook = {0};
        cleanup_revival_plan revival_plan_t made =
            plan(cases[i].rows, &notebook);

        assert_int_equal(made.has_gaps, cases[i].has_gaps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_all_cells_of_a_plain_recording),
        cmocka_unit_test(begins_after_a_restart_on_request),
        cmocka_unit_test(restores_what_a_kernel_lost_by_dying),
        cmocka_unit_test(begins_with_a_revival_that_was_finished),
        cmocka_unit_test(leaves_out_a_revival_that_was_broken_off),
        cmocka_unit_test(judges_a_broken_off_revival_apart_from_the_next_one),
        cmocka_unit_test(sees_gaps_only_where_cells_are_to_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
