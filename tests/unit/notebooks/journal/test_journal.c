/* The journal: what was appended is read, whatever happens in between. */
#include "tests/lib/descriptors.h"
#include "tests/lib/journals.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/segment.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void reads_appended_records(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    bytes_t buffers[] = {{"\0\1\2", 3}, {"", 0}, {"abc", 3}};
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .wall_us = 1234567,
        .request = 7,
        .kernel_seq = 42,
        .type = "comm_msg",
        .origin = journals_part("{\"channel\":\"shell\"}"),
        .header = journals_part("{\"msg_id\":\"a\"}"),
        .metadata = journals_part("{}"),
        .content = journals_part("{\"data\":{}}"),
        .buffers = buffers,
        .buffer_count = 3,
    };
    fault_t fault = {0};

    journals_append(journal, JOURNAL_REQUEST, 7, "execute_request",
                    "{\"code\":\"1\"}");
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(record.seq, 2);
    assert_int_equal(journal_last_seq(journal), 2);
    assert_int_equal(journal_last_kernel_seq(journal), 42);

    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    journal_record_t got;
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(got.kind, JOURNAL_REQUEST);
    assert_int_equal(got.seq, 1);
    assert_true(journals_content_is(&got, "{\"code\":\"1\"}"));
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(got.wall_us, 1234567);
    assert_int_equal(got.request, 7);
    assert_int_equal(got.kernel_seq, 42);
    assert_string_equal(got.type, "comm_msg");
    assert_memory_equal(got.origin.bytes, "{\"channel\":\"shell\"}", 19);
    assert_int_equal(got.metadata.size, 2);
    assert_int_equal(got.buffer_count, 3);
    assert_memory_equal(got.buffers[0].bytes, "\0\1\2", 3);
    assert_int_equal(got.buffers[1].size, 0);
    assert_memory_equal(got.buffers[2].bytes, "abc", 3);
    assert_int_equal(journals_next(reader, &got), 0);
}

static void a_reader_follows_the_writer(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 64 << 10, 0);
    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    journal_record_t got;

    for (unsigned i = 1; i <= 200; i++) {
        assert_int_equal(journals_next(reader, &got), 0);
        journals_append(journal, JOURNAL_STATE, 0, "idle",
                        "{\"why\":\"a test\"}");
        assert_int_equal(journals_next(reader, &got), 1);
        assert_int_equal(got.seq, i);
    }
}

static void a_reader_starts_after_any_record(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 64 << 10, 0);
    journal_record_t got;

    for (unsigned i = 0; i < 100; i++)
        journals_append(journal, JOURNAL_STATE, 0, "idle",
                        "{\"why\":\"a test\"}");
    for (unsigned since = 0; since < 100; since++) {
        cleanup_journal_reader journal_reader_t *reader =
            journals_read(*state, since);
        assert_int_equal(journals_next(reader, &got), 1);
        assert_int_equal(got.seq, since + 1);
    }
    assert_int_equal(journals_count(*state, 100), 0);
    assert_int_equal(journals_count(*state, 1000), 0);
}

static void holds_no_descriptor_while_idle(void **state)
{
    size_t before = open_files();
    cleanup_journal journal_t *journal = journals_open(*state, 64 << 10, 0);
    journal_head_t head;
    fault_t fault = {0};

    for (unsigned i = 1; i <= 200; i++) {
        journals_append(journal, JOURNAL_EVENT, 0, "stream",
                        "{\"text\":\"a test\"}");
        assert_int_equal(open_files(), before + 3);
        journal_rest(journal);
        assert_int_equal(open_files(), before);
        assert_int_equal(journal_head_read(*state, journals_key, &head, &fault),
                         0);
        assert_int_equal(head.seq, i);
    }
    assert_int_equal(journals_count(*state, 0), 200);
}

static void is_woken_for_a_record_appended_after_a_wait_began(void **state)
{
    size_t before = open_files();
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    fault_t fault = {0};

    assert_int_equal(journal_wake(journal, &fault), 0);
    assert_int_equal(open_files(), before + 3);
    journal_rest(journal);
    assert_int_equal(journal_wake(journal, &fault), 0);
    assert_int_equal(open_files(), before + 3);
    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_rest(journal);
    assert_int_equal(open_files(), before);
    assert_int_equal(journals_count(*state, 0), 1);
}

static void is_not_continued_after_a_change_from_outside(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    cleanup_free char *path = journals_segment_path(*state, 1);
    size_t before = open_files();
    fault_t fault = {0};
    struct stat there;

    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    assert_int_equal(stat(path, &there), 0);
    for (off_t change = -1; change <= 1; change++) {
        journal_rest(journal);
        assert_int_equal(truncate(path, there.st_size + change), 0);
        assert_int_equal(journals_try(journal, JOURNAL_STATE, 0, "idle",
                                      (bytes_t){"{}", 2}, &fault),
                         change ? -EBADMSG : 0);
        if (change)
            assert_int_equal(open_files(), before - 3);
        assert_int_equal(stat(path, &there), 0);
        there.st_size -= change;
    }
    assert_int_equal(journal_last_seq(journal), 2);
}

static void a_second_writer_is_refused(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    journal_t *second = NULL;
    fault_t fault = {0};

    assert_non_null(journal);
    assert_int_equal(
        journal_open(*state, journals_key, NULL, &second, NULL, &fault),
        -EBUSY);
    assert_null(second);
}

static void big_parts_are_spilled(void **state)
{
    cleanup_buffer buffer_t big = BUFFER_EMPTY;
    journal_t *journal = journals_open(*state, 0, 1000);
    journal_record_t got;
    fault_t fault = {0};

    for (unsigned i = 0; i < 1000; i++)
        buffer_format(&big, "%u,", i);
    bytes_t buffers[] = {{big.data, 999}, {big.data, 1000}};
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .type = "display_data",
        .content = {big.data, big.size},
        .buffers = buffers,
        .buffer_count = 2,
    };
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(journals_count_blobs(*state), 2);
    uint64_t bytes = journal_bytes(journal);
    journal_destroy(&journal);
    journal = journals_open(*state, 0, 1000);
    assert_int_equal(journal_bytes(journal), bytes);
    journal_destroy(&journal);

    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(journals_next(reader, &got), 1);
        assert_int_equal(got.content.size, big.size);
        assert_memory_equal(got.content.bytes, big.data, big.size);
        assert_int_equal(got.buffers[0].size, 999);
        assert_int_equal(got.buffers[1].size, 1000);
        assert_memory_equal(got.buffers[1].bytes, big.data, 1000);
    }
}

/* A limit on the size of files replaces a full disk: both end a write in the
 * middle of a record. */
static void a_full_disk_loses_nothing(void **state)
{
    struct rlimit old;
    struct rlimit small;
    cleanup_free char *output = mem_new(30000);
    journal_t *journal = journals_open(*state, 0, 0);
    fault_t fault = {0};

    memset(output, 'x', 29999);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 40000;
    journals_append(journal, JOURNAL_REQUEST, 1, "execute_request", "{}");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    journals_append(journal, JOURNAL_EVENT, 1, "stream", output);
    uint64_t bytes = journal_bytes(journal);
    assert_int_equal(journals_try(journal, JOURNAL_EVENT, 1, "stream",
                                  (bytes_t){output, 29999}, &fault),
                     -EFBIG);
    assert_int_equal(journal_bytes(journal), bytes);
    assert_int_equal(journals_count(*state, 0), 2);
    journals_append(journal, JOURNAL_EVENT, 1, "stream",
                    "{\"text\":\"small\"}");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    journals_append(journal, JOURNAL_EVENT, 1, "stream", output);
    assert_int_equal(journal_last_seq(journal), 4);
    assert_int_equal(journals_count(*state, 0), 4);
    journal_destroy(&journal);
    journal = journals_open(*state, 0, 0);
    assert_int_equal(journal_last_seq(journal), 4);
    journal_destroy(&journal);
}

static journal_record_t event_of(char *content, size_t size)
{
    return (journal_record_t){
        .kind = JOURNAL_EVENT,
        .type = "display_data",
        .content = {content, size},
    };
}

/* The third one is too large to be copied, the fifth is too large for a journal
 * of another one's rest. */
static void records_are_appended_in_their_order(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    cleanup_free char *content = mem_new(100000);
    const size_t sizes[] = {10, 20, 30000, 40, 16000, 15000, 14000, 13000, 50};
    journal_record_t records[9], got;
    size_t written;
    fault_t fault = {0};

    memset(content, 'x', 100000);
    for (size_t i = 0; i < 9; i++)
        records[i] = event_of(content, sizes[i]);
    records[8].kernel_seq = 77;
    assert_int_equal(journal_append_all(journal, records, 9, &written, &fault),
                     0);
    assert_int_equal(written, 9);
    assert_int_equal(journal_last_seq(journal), 9);
    assert_int_equal(journal_last_kernel_seq(journal), 77);
    journals_append(journal, JOURNAL_EVENT, 1, "stream", "{}");

    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(records[i].seq, i + 1);
        assert_int_equal(journals_next(reader, &got), 1);
        assert_int_equal(got.seq, i + 1);
        assert_int_equal(got.content.size, sizes[i]);
    }
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(journals_next(reader, &got), 0);
}

/* Records that lie in two segments are two groups. */
static void a_segment_ends_between_records(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 1 << 20, 0);
    cleanup_free char *content = mem_new(10000);
    journal_record_t records[20], got;
    size_t written;
    fault_t fault = {0};

    memset(content, 'x', 10000);
    for (size_t i = 0; i < 20; i++)
        records[i] = event_of(content, 10000);
    assert_int_equal(journal_append_all(journal, records, 20, &written, &fault),
                     0);
    assert_int_equal(written, 20);
    for (unsigned number = 1; number <= 4; number++) {
        cleanup_free char *path = journals_segment_path(*state, number);
        struct stat there;

        assert_int_equal(stat(path, &there), 0);
        assert_true(there.st_size <= (1 << 20) / 16);
    }
    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(journals_next(reader, &got), 0);
}

/* A record that is refused, and a disk that is full, end the row: what was
 * written is there, and nothing else. */
static void what_was_written_is_told(void **state)
{
    struct rlimit old, small;
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    cleanup_free char *content = mem_new(30000);
    journal_record_t records[4];
    size_t written;
    fault_t fault = {0};

    memset(content, 'x', 30000);
    for (size_t i = 0; i < 4; i++)
        records[i] = event_of(content, 100);
    records[2].content.size = (size_t) RECORD_BODY_MAX + 1;
    assert_int_equal(journal_append_all(journal, records, 4, &written, &fault),
                     -EMSGSIZE);
    assert_int_equal(written, 2);
    assert_int_equal(journal_last_seq(journal), 2);
    records[2].content.size = 30000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(journal_append_all(journal, records, 4, &written, &fault),
                     -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(written, 2);
    assert_int_equal(journal_last_seq(journal), 4);
    assert_int_equal(journals_count(*state, 0), 4);
    assert_int_equal(
        journal_append_all(journal, records + 2, 2, &written, &fault), 0);
    assert_int_equal(records[3].seq, 6);
    assert_int_equal(journals_count(*state, 0), 6);
}

/* A disk has room for two of four records. */
static void what_there_is_room_for_is_written(void **state)
{
    struct rlimit old, small;
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    cleanup_free char *content = mem_new(9000);
    journal_record_t records[4], got;
    size_t written;
    fault_t fault = {0};

    memset(content, 'x', 9000);
    for (size_t i = 0; i < 4; i++)
        records[i] = event_of(content, 9000);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(journal_append_all(journal, records, 4, &written, &fault),
                     -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(written, 2);
    assert_int_equal(journal_last_seq(journal), 2);
    assert_int_equal(journals_count(*state, 0), 2);
    assert_int_equal(
        journal_append_all(journal, records + 2, 2, &written, &fault), 0);
    assert_int_equal(written, 2);

    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(journals_next(reader, &got), 0);
}

static void a_blob_that_does_not_fit_adds_nothing(void **state)
{
    struct rlimit old;
    struct rlimit small;
    cleanup_free char *output = mem_new(30000);
    journal_t *journal = journals_open(*state, 0, 1000);
    fault_t fault = {0};

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = journals_try(journal, JOURNAL_EVENT, 1, "display_data",
                              (bytes_t){output, 30000}, &fault);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, -EFBIG);
    assert_int_equal(journals_count_blobs(*state), 0);
    journals_append(journal, JOURNAL_EVENT, 1, "stream", "{}");
    assert_int_equal(journals_count(*state, 0), 1);
    journal_destroy(&journal);
}

static void an_unwritable_folder_is_a_fault(void **state)
{
    cleanup_free char *path = mem_format("%s/file", (char *) *state);
    cleanup_free char *folder = mem_format("%s/journal", path);
    journal_t *journal = NULL;
    fault_t fault = {0};

    assert_int_equal(file_write_atomic(path, 0600, "", 0, &fault), 0);
    assert_true(journal_open(folder, journals_key, NULL, &journal, NULL, &fault)
                < 0);
    assert_null(journal);
    assert_non_null(strstr(fault.text, folder));
}

static void a_record_too_big_is_refused(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .content = {"", (size_t) RECORD_BODY_MAX + 1},
    };
    fault_t fault = {0};

    assert_int_equal(journal_append(journal, &record, &fault), -EMSGSIZE);
    assert_int_equal(journal_last_seq(journal), 0);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, journals_make_folder,                \
                                    journals_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(reads_appended_records),
        with_folder(a_reader_follows_the_writer),
        with_folder(a_reader_starts_after_any_record),
        with_folder(holds_no_descriptor_while_idle),
        with_folder(is_woken_for_a_record_appended_after_a_wait_began),
        with_folder(is_not_continued_after_a_change_from_outside),
        with_folder(a_second_writer_is_refused),
        with_folder(big_parts_are_spilled),
        with_folder(a_full_disk_loses_nothing),
        with_folder(records_are_appended_in_their_order),
        with_folder(a_segment_ends_between_records),
        with_folder(what_was_written_is_told),
        with_folder(what_there_is_room_for_is_written),
        with_folder(a_blob_that_does_not_fit_adds_nothing),
        with_folder(an_unwritable_folder_is_a_fault),
        with_folder(a_record_too_big_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
