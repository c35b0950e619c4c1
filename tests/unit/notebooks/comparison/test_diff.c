/* Cells laid side by side. */
#include "tests/lib/test.h"

#include "notebooks/comparison/diff.h"
#include "notebooks/comparison/lcs.h"

#include <string.h>

static void add(notebook_t *notebook, const char *id, const char *source,
                const char *output)
{
    notebook_cell_t cell = {
        .id = mem_text(id),
        .source = mem_text(source),
        .source_size = strlen(source),
        .outputs = output
                       ? json_pack("[{s:s, s:s, s:s}]", "output_type", "stream",
                                   "name", "stdout", "text", output)
                       : json_array(),
        .metadata = json_object(),
    };

    notebook_add(notebook, &cell);
}

static json_t *diff(const notebook_t *left, const notebook_t *right)
{
    compare_t compare = COMPARE_DEFAULT;

    return notebook_diff(&compare, left, right);
}

/* "same changed added": the steps. */
static void assert_steps(const json_t *diff, const char *expected)
{
    cleanup_buffer buffer_t steps = BUFFER_EMPTY;
    size_t index;
    json_t *step;

    buffer_text(&steps, "");
    json_array_foreach(json_object_get(diff, "cells"), index, step)
        buffer_format(&steps, "%s%s", index ? " " : "",
                      json_string_value(json_object_get(step, "change")));
    buffer_append(&steps, "", 1);
    assert_string_equal((char *) steps.data, expected);
}

static json_t *step_at(const json_t *diff, size_t index)
{
    return json_array_get(json_object_get(diff, "cells"), index);
}

static void equal_notebooks_have_no_difference(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};

    (void) state;
    add(&left, "a", "x = 1", NULL);
    add(&left, "b", "print(x)", "at 0x7f12ab34cd56\n");
    add(&right, "a", "x = 1", NULL);
    add(&right, "b", "print(x)", "at 0x55aa00bb11cc\n");
    json_auto_t *found = diff(&left, &right);
    assert_true(json_is_true(json_object_get(found, "same")));
    assert_steps(found, "same same");
}

static void cells_are_found_after_inserted_ones(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};

    (void) state;
    add(&left, "1", "import pandas", NULL);
    add(&left, "2", "frame = pandas.read_csv('a.csv')\nframe.head()", NULL);
    add(&left, "3", "frame.describe()", "mean 1");
    add(&left, "4", "del frame", NULL);
    /* The ids of exported recordings: others, for the same cells. */
    add(&right, "7", "import pandas", NULL);
    add(&right, "8", "import numpy", NULL);
    add(&right, "9", "frame = pandas.read_csv('b.csv')\nframe.head()", NULL);
    add(&right, "10", "frame.describe()", "mean 2");
    json_auto_t *found = diff(&left, &right);
    assert_false(json_is_true(json_object_get(found, "same")));
    assert_steps(found, "same added changed changed removed");
    json_t *outputs = json_object_get(step_at(found, 3), "outputs");
    assert_string_equal(json_string_value(json_object_get(outputs, "what")),
                        "stdout");
    json_t *source = json_object_get(step_at(found, 2), "source");
    cleanup_free char *text = json_dumps(source, JSON_COMPACT);
    assert_string_equal(text, "[[\"-\",\"frame = pandas.read_csv('a.csv')\"],"
                              "[\"+\",\"frame = pandas.read_csv('b.csv')\"],"
                              "[\" \",\"frame.head()\"]]");
}

static void an_id_pairs_rewritten_cells(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};

    (void) state;
    add(&left, "a", "one()", NULL);
    add(&left, "b", "two()", NULL);
    add(&right, "a", "one()", NULL);
    add(&right, "b", "something = 'else'", NULL);
    json_auto_t *found = diff(&left, &right);
    assert_steps(found, "same changed");
}

static void the_newest_times_are_shown(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};

    (void) state;
    add(&left, "a", "x", NULL);
    add(&right, "a", "x", NULL);
    json_object_set_new(left.cells[0].metadata, "hearth",
                        json_pack("{s:i}", "duration_ms", 53));
    json_object_update_new(
        right.cells[0].metadata,
        json_pack("{s:{s:i}, s:{s:s, s:s}}", "hearth", "duration_ms", 53,
                  "execution", "iopub.execute_input", "2026-01-02T23:59:59.5Z",
                  "shell.execute_reply", "2026-01-03T00:00:01.250000Z"));
    json_auto_t *steps = diff(&left, &right);
    const json_t *step = step_at(steps, 0);
    assert_int_equal(json_number_value(json_object_get(
                         json_object_get(step, "left"), "duration_ms")),
                     53);
    assert_int_equal(json_number_value(json_object_get(
                         json_object_get(step, "right"), "duration_ms")),
                     1750);
}

static void an_empty_notebook_is_compared(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};

    (void) state;
    add(&right, "a", "x", NULL);
    json_auto_t *found = diff(&left, &right);
    assert_steps(found, "added");
    json_auto_t *other = diff(&left, &left);
    assert_true(json_is_true(json_object_get(other, "same")));
}

static void differences_are_shown_in_whole_characters(void **state)
{
    cleanup_notebook notebook_t left = {0};
    cleanup_notebook notebook_t right = {0};
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    for (size_t i = 0; i < 1000; i++)
        buffer_text(&text, i % 3 ? "\xf0\x9f\x98\x80" : "\xc3\xa4");
    buffer_append(&text, "", 1);
    for (size_t i = 0; i < 4; i++) {
        cleanup_free char *longer =
            mem_format("%.*sx%s", (int) i, "abcd", (char *) text.data);
        cleanup_free char *other =
            mem_format("%.*sy%s", (int) i, "abcd", (char *) text.data);
        add(&left, "a", "x", longer);
        add(&right, "a", "x", other);
    }
    json_auto_t *found = diff(&left, &right);
    assert_steps(found, "changed changed changed changed");
}

static unsigned never_equal(void *arg, size_t left, size_t right)
{
    (void) arg;
    return left == right ? 1 : 0;
}

static void long_rows_are_paired_by_place(void **state)
{
    size_t count = 0;
    cleanup_free lcs_pair_t *pairs =
        lcs_rows(3000, 3001, never_equal, NULL, &count);

    (void) state;
    assert_int_equal(count, 3001);
    assert_int_equal(pairs[2999].left, 2999);
    assert_int_equal(pairs[2999].right, 2999);
    assert_int_equal(pairs[3000].left, LCS_NONE);
    assert_int_equal(pairs[3000].right, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_notebooks_have_no_difference),
        cmocka_unit_test(cells_are_found_after_inserted_ones),
        cmocka_unit_test(an_id_pairs_rewritten_cells),
        cmocka_unit_test(the_newest_times_are_shown),
        cmocka_unit_test(an_empty_notebook_is_compared),
        cmocka_unit_test(differences_are_shown_in_whole_characters),
        cmocka_unit_test(long_rows_are_paired_by_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
