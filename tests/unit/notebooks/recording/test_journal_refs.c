/* Which cells and programs a journal names: the newest cell of a number, each
 * program once, and of a large journal the newest part. */
#include "notebooks/recording/journal_refs.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/journal/reader.h"
#include "notebooks/recording/cell_outcome.h"
#include "tests/lib/recorded.h"

#include <string.h>

#define LATER_MS  60000
#define TEXT_SIZE 100000 /* is in the segment itself */
#define RECORDS   400    /* take more than two segments */

static void begin(journal_t *journal, int request, int number)
{
    cleanup_free char *content =
        mem_format("{\"execution_count\":%d,\"code\":\"%d\"}", number, request);

    recorded_append(journal, JOURNAL_EVENT, (uint64_t) request, "execute_input",
                    content);
}

static void start(journal_t *journal, const char *type, int number)
{
    cleanup_free char *content = mem_format("{\"process\":%d}", number);

    recorded_append(journal, JOURNAL_STATE, 0, type, content);
}

static int read_it(const char *folder, journal_refs_t *ret_refs)
{
    fault_t fault;

    return journal_refs_read(folder, NULL, clock_monotonic_ms() + LATER_MS,
                             ret_refs, &fault);
}

static void names_the_newest_cell_of_a_number(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_journal_refs journal_refs_t refs = {0};
    cleanup_cell_outcome cell_outcome_t outcome = {0};
    cell_outcome_place_t place = {.folder = folder};

    begin(journal, 1, 1);
    begin(journal, 2, 2);
    start(journal, "restart", 0);
    begin(journal, 3, 1);
    recorded_append(journal, JOURNAL_EVENT, 3, "stream",
                    "{\"name\":\"stdout\",\"text\":\"a\"}");
    /* None of the gateway, and none by a record of another kind. */
    begin(journal, 4, 0);
    recorded_append(journal, JOURNAL_STATE, 5, "execute_input",
                    "{\"execution_count\":5}");
    assert_int_equal(read_it(folder, &refs), 0);
    assert_int_equal(refs.cell_count, 2);
    assert_int_equal(refs.cells[0].number, 1);
    assert_int_equal(refs.cells[0].request, 3);
    assert_int_equal(refs.cells[1].number, 2);
    assert_int_equal(refs.cells[1].request, 2);
    place.request = refs.cells[0].request;
    place.mark = refs.cells[0].mark;
    assert_int_equal(cell_outcome_read(&place, false, &outcome), 0);
    assert_int_equal(json_array_size(outcome.outputs), 1);
}

static void names_each_program_once(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_journal_refs journal_refs_t refs = {0};

    start(journal, "process", 2);
    start(journal, "process", 1);
    start(journal, "process_output", 1);
    start(journal, "process_ended", 2);
    start(journal, "process", 2);
    start(journal, "process", 0);
    assert_int_equal(read_it(folder, &refs), 0);
    assert_int_equal(refs.cell_count, 0);
    assert_int_equal(refs.program_count, 2);
    assert_int_equal(refs.programs[0], 1);
    assert_int_equal(refs.programs[1], 2);
}

static void grows_and_stops_in_time(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_journal_refs journal_refs_t all = {0}, none = {0};
    fault_t fault;

    for (int i = 1; i <= 200; i++) {
        begin(journal, i, i);
        start(journal, "process", i);
    }
    assert_int_equal(read_it(folder, &all), 0);
    assert_int_equal(all.cell_count, 200);
    assert_int_equal(all.cells[199].number, 200);
    assert_int_equal(all.program_count, 200);
    assert_int_equal(
        journal_refs_read(folder, NULL, clock_monotonic_ms(), &none, &fault),
        0);
    assert_int_equal(none.cell_count, 0);
}

static void skips_to_the_newest_segments(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_free char *text = mem_new(TEXT_SIZE + 1);
    cleanup_free char *content = NULL;
    const uint64_t room[] = {0, 30 << 20, 1000 << 20};
    uint64_t first[3];

    memset(text, 'x', TEXT_SIZE);
    content = mem_format("{\"name\":\"stdout\",\"text\":\"%s\"}", text);
    for (int i = 0; i < RECORDS; i++)
        recorded_append(journal, JOURNAL_EVENT, 1, "stream", content);
    for (size_t i = 0; i < 3; i++) {
        cleanup_journal_reader journal_reader_t *reader = NULL;
        journal_record_t record;
        fault_t fault;

        assert_int_equal(journal_reader_new(folder, NULL, 0, &reader, &fault),
                         0);
        assert_int_equal(journal_reader_skip_to_recent(reader, room[i], &fault),
                         0);
        assert_int_equal(journal_reader_next(reader, &record, &fault), 1);
        first[i] = record.seq;
        while (journal_reader_next(reader, &record, &fault) > 0)
            continue;
        assert_int_equal(record.seq, RECORDS);
    }
    assert_true(first[0] > first[1]);
    assert_true(first[1] > first[2]);
    assert_int_equal(first[2], 1);
}

static void has_nothing_of_a_journal_that_is_missing(void **state)
{
    cleanup_journal_refs journal_refs_t refs = {0};

    (void) state;
    assert_true(read_it("/nowhere", &refs) < 0);
    assert_int_equal(refs.cell_count, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, recorded_make_folder,                \
                                    recorded_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_the_newest_cell_of_a_number),
        TEST(names_each_program_once),
        TEST(grows_and_stops_in_time),
        TEST(skips_to_the_newest_segments),
        TEST(has_nothing_of_a_journal_that_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
