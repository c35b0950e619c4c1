/* The forms of displays in a recording: a later one reaches earlier cells, but
 * no more than the newest outputs of its id. */
#include "tests/lib/recorded.h"

#include "notebooks/formats/display_places.h"
#include "notebooks/recording/export.h"

static void ask(journal_t *journal, uint64_t request)
{
    recorded_append(journal, JOURNAL_REQUEST, request, "execute_request",
                    "{\"code\":\"a\"}");
}

static void answer(journal_t *journal, uint64_t request)
{
    recorded_append(journal, JOURNAL_REPLY, request, "execute_reply",
                    "{\"status\":\"ok\"}");
}

static void show(journal_t *journal, uint64_t request, const char *type,
                 const char *text)
{
    cleanup_free char *content =
        mem_format("{\"data\":{\"text/plain\":\"%s\"},\"metadata\":{},"
                   "\"transient\":{\"display_id\":\"d\"}}",
                   text);

    recorded_append(journal, JOURNAL_EVENT, request, type, content);
}

/* Ends the journal and reads it. */
static void read_all(const char *folder, journal_t *journal,
                     notebook_t *ret_notebook)
{
    recording_options_t options = {0};
    fault_t fault = {0};

    journal_destroy(&journal);
    if (recording_notebook(folder, &options, ret_notebook, &fault) < 0)
        fail_msg("%s", fault.text);
}

static const char *first_text(const notebook_cell_t *cell)
{
    const json_t *output = json_array_get(cell->outputs, 0);

    return json_string_value(
        json_object_get(json_object_get(output, "data"), "text/plain"));
}

static void later_records_reach_earlier_cells(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);

    ask(journal, 1);
    show(journal, 1, "display_data", "one");
    answer(journal, 1);
    ask(journal, 2);
    show(journal, 2, "update_display_data", "two");
    show(journal, 2, "display_data", "three");
    answer(journal, 2);
    recorded_append(journal, JOURNAL_EVENT, 1, "stream",
                    "{\"name\":\"stdout\",\"text\":\"late\"}");
    read_all(*state, journal, &notebook);
    assert_int_equal(notebook.count, 2);
    assert_string_equal(first_text(&notebook.cells[0]), "three");
    assert_int_equal(json_array_size(notebook.cells[0].outputs), 2);
    assert_string_equal(first_text(&notebook.cells[1]), "three");
}

/* A large form that comes late is not in each of many small outputs, not by
 * way of small updates before it either. */
static void a_late_form_is_in_the_newest_outputs_alone(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);
    const size_t count = DISPLAY_PLACES_MAX + 2;

    for (size_t i = 1; i <= count; i++) {
        ask(journal, i);
        show(journal, i, "display_data", "one");
        show(journal, i, "update_display_data", "two");
        answer(journal, i);
    }
    show(journal, count, "update_display_data", "last");
    read_all(*state, journal, &notebook);
    assert_int_equal(notebook.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(first_text(&notebook.cells[i]),
                            i < 2 ? "one" : "last");
}

/* Counts a late form, not the first one, to the bound of a cell. */
static void a_late_form_counts_in_full(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);
    cleanup_free char *large = mem_new((9u << 20) + 1);

    memset(large, 'x', 9u << 20);
    ask(journal, 1);
    for (int i = 0; i < 10; i++)
        show(journal, 1, "display_data", "one");
    answer(journal, 1);
    ask(journal, 2);
    show(journal, 2, "update_display_data", large);
    answer(journal, 2);
    read_all(*state, journal, &notebook);
    assert_int_equal(notebook.count, 2);
    /* Seven of 9 MiB are within 64 MiB; a remark says what is left out. */
    assert_int_equal(json_array_size(notebook.cells[0].outputs), 8);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, recorded_make_folder,                \
                                    recorded_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(later_records_reach_earlier_cells),
        with_folder(a_late_form_is_in_the_newest_outputs_alone),
        with_folder(a_late_form_counts_in_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
