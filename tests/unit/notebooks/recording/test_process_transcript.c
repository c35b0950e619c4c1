/* What the journal has of a program's output: its pieces in their order, the
 * bytes that are gone, and nothing of other programs. */
#include "notebooks/recording/process_transcript.h"

#include "notebooks/journal/reader.h"
#include "tests/lib/journals.h"
#include "tests/lib/recorded.h"

#include <errno.h>
#include <string.h>

static void start(journal_t *journal, int number)
{
    cleanup_free char *content =
        mem_format("{\"process\":%d,\"argv\":[\"ls\"]}", number);

    recorded_append(journal, JOURNAL_STATE, 0, "process", content);
}

static void print(journal_t *journal, int number, int offset, const char *text)
{
    cleanup_free char *content = mem_format(
        "{\"process\":%d,\"stream\":\"stdout\",\"offset\":%d,\"size\":%zu,"
        "\"text\":\"%s\"}",
        number, offset, strlen(text), text);

    recorded_append(journal, JOURNAL_STATE, 0, "process_output", content);
}

static void end(journal_t *journal, int number, int out, int err)
{
    cleanup_free char *content =
        mem_format("{\"process\":%d,\"stdout_bytes\":%d,\"stderr_bytes\":%d}",
                   number, out, err);

    recorded_append(journal, JOURNAL_STATE, 0, "process_ended", content);
}

static int read_it(const char *folder, uint64_t number,
                   process_transcript_t *ret_transcript, fault_t *fault)
{
    process_transcript_place_t place = {.folder = folder, .process = number};

    return process_transcript_read(&place, ret_transcript, fault);
}

static void assert_text(const process_transcript_t *transcript,
                        const char *expected)
{
    cleanup_free char *text =
        mem_copy(transcript->text.data, transcript->text.size);

    assert_string_equal(text, expected);
}

static char *gone(const process_transcript_t *transcript)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    process_transcript_write_gone(transcript, &out);
    return mem_text(out.size ? (const char *) out.data : "");
}

static void has_its_pieces_alone(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_process_transcript process_transcript_t one = {0}, two = {0};
    cleanup_free char *said = NULL;
    fault_t fault;

    start(journal, 1);
    print(journal, 1, 0, "a");
    start(journal, 2);
    print(journal, 2, 0, "other");
    recorded_append(journal, JOURNAL_EVENT, 1, "stream",
                    "{\"name\":\"stdout\",\"text\":\"cell\"}");
    print(journal, 1, 1, "bc");
    end(journal, 1, 2, 1);
    assert_int_equal(read_it(folder, 1, &one, &fault), 0);
    assert_text(&one, "abc");
    assert_true(one.is_ended);
    said = gone(&one);
    assert_string_equal(said, "");
    assert_int_equal(read_it(folder, 2, &two, &fault), 0);
    assert_text(&two, "other");
    assert_false(two.is_ended);
}

static void says_what_is_gone(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_process_transcript process_transcript_t all = {0};
    cleanup_free char *said = NULL;
    fault_t fault;

    start(journal, 1);
    print(journal, 1, 4, "later\\n");
    print(journal, 1, 11, "x");
    end(journal, 1, 100, 20);
    assert_int_equal(read_it(folder, 1, &all, &fault), 0);
    assert_text(&all, "… 4 bytes are no longer in the journal …\nlater\nx");
    assert_int_equal(all.removed, 4);
    assert_int_equal(all.beyond, 108);
    said = gone(&all);
    assert_string_equal(
        said, "4 bytes were removed for the bound of the journal\n"
              "these are the first 12 bytes that it wrote; 108 more are not "
              "in the journal; its recent output has the last 64 KiB (HTTP: "
              "processes/N/output; MCP: session with action output)\n");
}

static void one_that_runs_may_have_written_more(void **state)
{
    process_transcript_t most = {.kept = PROCESS_TRANSCRIPT_MAX};
    process_transcript_t fewer = {.kept = PROCESS_TRANSCRIPT_MAX - 1};
    cleanup_free char *of_most = gone(&most), *of_fewer = gone(&fewer);

    (void) state;
    assert_non_null(strstr(of_most, "the first 1048576 bytes that it wrote; "
                                    "later ones are not in the journal"));
    assert_string_equal(of_fewer, "");
}

static void one_without_records_is_missing(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    process_transcript_t none;
    fault_t fault;

    recorded_append(journal, JOURNAL_STATE, 0, "process_x", "{}");
    assert_int_equal(read_it(folder, 0, &none, &fault), -ENOENT);
    assert_string_equal(fault.text,
                        "the session has no process 0, or its output is no "
                        "longer kept; there is none");
    start(journal, 2);
    assert_int_equal(read_it(folder, 3, &none, &fault), -ENOENT);
    assert_int_equal(none.text.size, 0);
    assert_int_equal(none.highest, 0);
    assert_string_equal(fault.text,
                        "the session has no process 3, or its output is no "
                        "longer kept; the only one is process:2");
}

/* Names no range, because numbers between them may be missing. */
static void others_are_named_by_the_first_and_last(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    process_transcript_t none;
    fault_t fault;

    start(journal, 3);
    start(journal, 2);
    start(journal, 5);
    end(journal, 3, 0, 0);
    assert_int_equal(read_it(folder, 4, &none, &fault), -ENOENT);
    assert_string_equal(fault.text,
                        "the session has no process 4, or its output is no "
                        "longer kept; the first is process:2, the last "
                        "process:5");
}

/* Notes the span from the record with the number `first` to the one with
 * `last`. */
static process_transcript_span_t span_of(const char *folder, const uint8_t *key,
                                         uint64_t first, uint64_t last)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record = {0};
    fault_t fault;

    assert_int_equal(journal_reader_new(folder, key, 0, &reader, &fault), 0);
    while (record.seq < first)
        assert_int_equal(journal_reader_next(reader, &record, &fault), 1);
    return (process_transcript_span_t){journal_reader_mark(reader), last};
}

static void is_read_from_a_mark(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_process_transcript process_transcript_t all = {0}, moved = {0};
    process_transcript_span_t span;
    process_transcript_place_t place = {
        .folder = folder, .process = 1, .spans = &span, .span_count = 1};
    fault_t fault;

    start(journal, 7);
    start(journal, 1);
    print(journal, 1, 0, "a");
    span = span_of(folder, NULL, 2, 3);
    assert_int_equal(process_transcript_read(&place, &all, &fault), 0);
    assert_text(&all, "a");
    assert_int_equal(all.highest, 1);
    /* A mark that a compaction has moved. */
    span.mark.at += 8;
    assert_int_equal(process_transcript_read(&place, &moved, &fault), 0);
    assert_text(&moved, "a");
    assert_int_equal(moved.highest, 1);
}

/* Output of other programs and cells after it is not looked at. */
static void is_read_to_its_last_record(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_process_transcript process_transcript_t part = {0};
    process_transcript_span_t span;
    process_transcript_place_t place = {
        .folder = folder, .process = 1, .spans = &span, .span_count = 1};
    fault_t fault;

    start(journal, 1);
    print(journal, 1, 0, "a");
    print(journal, 1, 1, "b");
    span = span_of(folder, NULL, 1, 2);
    assert_int_equal(process_transcript_read(&place, &part, &fault), 0);
    assert_text(&part, "a");
}

/* The transcript names the programs whose records were read. */
static void what_is_between_its_spans_is_not_read(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = recordings_open(folder);
    cleanup_process_transcript process_transcript_t part = {0}, all = {0};
    process_transcript_span_t spans[2];
    process_transcript_place_t place = {
        .folder = folder, .process = 1, .spans = spans, .span_count = 2};
    fault_t fault;

    start(journal, 1);
    print(journal, 1, 0, "a");
    start(journal, 7);
    print(journal, 1, 1, "b");
    end(journal, 1, 2, 0);
    spans[0] = span_of(folder, NULL, 1, 2);
    spans[1] = span_of(folder, NULL, 4, 5);
    assert_int_equal(process_transcript_read(&place, &part, &fault), 0);
    assert_text(&part, "ab");
    assert_true(part.is_ended);
    assert_int_equal(part.highest, 1);
    assert_int_equal(read_it(folder, 1, &all, &fault), 0);
    assert_text(&all, "ab");
    assert_int_equal(all.highest, 7);
}

/* Appends output of a cell that takes the place of some segments. */
static void fill(journal_t *journal, int count)
{
    cleanup_free char *text = mem_format("{\"text\":\"%01000d\"}", 0);

    for (int i = 0; i < count; i++)
        journals_append(journal, JOURNAL_EVENT, 1, "stream", text);
}

/* Appends a byte of output, and notes its span. */
static process_transcript_span_t note_output(journal_t *journal,
                                             const char *folder, int offset)
{
    cleanup_free char *content =
        mem_format("{\"process\":1,\"offset\":%d,\"size\":1,\"text\":\"%c\"}",
                   offset, 'a' + offset);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record = {0};

    journals_append(journal, JOURNAL_STATE, 0, "process_output", content);
    reader = journals_read(folder, 0);
    while (journals_next(reader, &record) == 1)
        ;
    return span_of(folder, journals_key, record.seq, record.seq);
}

int __real_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t since, journal_reader_t **ret_reader,
                              fault_t *fault);
int __wrap_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t since, journal_reader_t **ret_reader,
                              fault_t *fault);

static unsigned searches; /* for a record's segment among all of them */

int __wrap_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t since, journal_reader_t **ret_reader,
                              fault_t *fault)
{
    searches++;
    return __real_journal_reader_new(folder, key, since, ret_reader, fault);
}

/* Each segment has 4 KiB. The second span and the third one are in the same. */
static void is_read_after_a_compaction(void **state)
{
    const char *folder = *state;
    cleanup_journal journal_t *journal = journals_open(folder, 65536, 0);
    cleanup_process_transcript process_transcript_t all = {0}, rest = {0};
    process_transcript_span_t spans[4];
    process_transcript_place_t place = {.folder = folder,
                                        .key = journals_key,
                                        .process = 1,
                                        .spans = spans,
                                        .span_count = 3};
    uint64_t moved;
    fault_t fault;

    fill(journal, 8);
    spans[0] = note_output(journal, folder, 0);
    fill(journal, 8);
    journals_append(journal, JOURNAL_STATE, 0, "process", "{\"process\":8}");
    spans[1] = note_output(journal, folder, 1);
    journals_append(journal, JOURNAL_EVENT, 1, "stream", "{}");
    spans[2] = note_output(journal, folder, 2);
    moved = spans[2].last;
    assert_int_equal(spans[1].mark.segment, spans[2].mark.segment);
    fill(journal, 100);
    assert_int_not_equal(span_of(folder, journals_key, moved, 0).mark.at,
                         spans[2].mark.at);
    searches = 0;
    assert_int_equal(process_transcript_read(&place, &all, &fault), 0);
    assert_int_equal(searches, 1);
    assert_text(&all, "abc");
    assert_int_equal(all.highest, 1);
    /* In the end the journal has none of the first ones. */
    fill(journal, 1200);
    spans[3] = note_output(journal, folder, 3);
    place.span_count = 4;
    assert_int_equal(process_transcript_read(&place, &rest, &fault), 0);
    assert_text(&rest, "… 3 bytes are no longer in the journal …\nd");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, recorded_make_folder,                \
                                    recorded_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(has_its_pieces_alone),
        TEST(says_what_is_gone),
        TEST(one_that_runs_may_have_written_more),
        TEST(one_without_records_is_missing),
        TEST(others_are_named_by_the_first_and_last),
        TEST(is_read_from_a_mark),
        TEST(is_read_to_its_last_record),
        TEST(what_is_between_its_spans_is_not_read),
        TEST(is_read_after_a_compaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
