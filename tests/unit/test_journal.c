/* The journal: what was appended is read, whatever happens in between. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "notebooks/journal.h"
#include "notebooks/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const uint8_t key[32] = "a key of a test, 32 bytes long..";

/* A folder of its own for each test. */
static int make_folder(void **state)
{
    char *folder = mem_text("/tmp/hearth-test-journal-XXXXXX");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    cleanup_free char *folder = *state;
    fault_t fault;

    return path_remove_tree(folder, &fault);
}

static journal_t *open_journal(const char *folder, uint64_t bytes_max,
                               uint64_t spill_min)
{
    journal_options_t options = {bytes_max, spill_min};
    journal_t *journal = NULL;
    uint64_t torn = 0;
    fault_t fault = {0};

    if (journal_open(folder, key, &options, &journal, &torn, &fault) < 0)
        fail_msg("%s", fault.text);
    return journal;
}

static journal_reader_t *open_reader(const char *folder, uint64_t since)
{
    journal_reader_t *reader = NULL;
    fault_t fault = {0};

    if (journal_reader_new(folder, key, since, &reader, &fault) < 0)
        fail_msg("%s", fault.text);
    return reader;
}

static journal_part_t part(const char *text)
{
    return (journal_part_t){text, strlen(text)};
}

static int try_append(journal_t *journal, journal_kind_t kind, uint64_t request,
                      const char *type, const void *content, size_t size,
                      fault_t *fault)
{
    journal_record_t record = {
        .kind = kind,
        .wall_us = 1700000000000000,
        .request = request,
        .header = part("{\"msg_id\":\"x\"}"),
        .content = {content, size},
    };

    snprintf(record.type, sizeof(record.type), "%s", type);
    return journal_append(journal, &record, fault);
}

static void append(journal_t *journal, journal_kind_t kind, uint64_t request,
                   const char *type, const char *content)
{
    fault_t fault = {0};

    if (try_append(journal, kind, request, type, content, strlen(content),
                   &fault)
        < 0)
        fail_msg("%s", fault.text);
}

static int next(journal_reader_t *reader, journal_record_t *ret_record)
{
    fault_t fault = {0};
    int result = journal_reader_next(reader, ret_record, &fault);

    if (result < 0)
        fail_msg("%s", fault.text);
    return result;
}

static bool content_is(const journal_record_t *record, const char *text)
{
    return record->content.size == strlen(text)
           && memcmp(record->content.bytes, text, strlen(text)) == 0;
}

static uint64_t count_records(const char *folder, uint64_t since)
{
    cleanup_journal_reader journal_reader_t *reader =
        open_reader(folder, since);
    journal_record_t record;
    uint64_t count = 0;

    while (next(reader, &record))
        count++;
    return count;
}

static char *segment_path(const char *folder, unsigned number)
{
    return mem_format("%s/journal-%06u.log", folder, number);
}

static void reads_what_was_appended(void **state)
{
    cleanup_journal journal_t *journal = open_journal(*state, 0, 0);
    journal_part_t buffers[] = {{"\0\1\2", 3}, {"", 0}, {"abc", 3}};
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .wall_us = 1234567,
        .request = 7,
        .kernel_seq = 42,
        .type = "comm_msg",
        .origin = part("{\"channel\":\"shell\"}"),
        .header = part("{\"msg_id\":\"a\"}"),
        .metadata = part("{}"),
        .content = part("{\"data\":{}}"),
        .buffers = buffers,
        .buffer_count = 3,
    };
    fault_t fault = {0};

    append(journal, JOURNAL_REQUEST, 7, "execute_request", "{\"code\":\"1\"}");
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(record.seq, 2);
    assert_int_equal(journal_last_seq(journal), 2);
    assert_int_equal(journal_last_kernel_seq(journal), 42);

    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    journal_record_t got;
    assert_int_equal(next(reader, &got), 1);
    assert_int_equal(got.kind, JOURNAL_REQUEST);
    assert_int_equal(got.seq, 1);
    assert_true(content_is(&got, "{\"code\":\"1\"}"));
    assert_int_equal(next(reader, &got), 1);
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
    assert_int_equal(next(reader, &got), 0);
}

static void a_reader_follows_the_writer(void **state)
{
    cleanup_journal journal_t *journal = open_journal(*state, 64 << 10, 0);
    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    journal_record_t got;

    for (unsigned i = 1; i <= 200; i++) {
        assert_int_equal(next(reader, &got), 0);
        append(journal, JOURNAL_STATE, 0, "idle", "{\"why\":\"a test\"}");
        assert_int_equal(next(reader, &got), 1);
        assert_int_equal(got.seq, i);
    }
}

static void a_reader_starts_behind_any_record(void **state)
{
    cleanup_journal journal_t *journal = open_journal(*state, 64 << 10, 0);
    journal_record_t got;

    for (unsigned i = 0; i < 100; i++)
        append(journal, JOURNAL_STATE, 0, "idle", "{\"why\":\"a test\"}");
    for (unsigned since = 0; since < 100; since++) {
        cleanup_journal_reader journal_reader_t *reader =
            open_reader(*state, since);
        assert_int_equal(next(reader, &got), 1);
        assert_int_equal(got.seq, since + 1);
    }
    assert_int_equal(count_records(*state, 100), 0);
    assert_int_equal(count_records(*state, 1000), 0);
}

static size_t open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void holds_no_file_while_it_rests(void **state)
{
    size_t before = open_files();
    cleanup_journal journal_t *journal = open_journal(*state, 64 << 10, 0);
    journal_head_t head;
    fault_t fault = {0};

    for (unsigned i = 1; i <= 200; i++) {
        append(journal, JOURNAL_EVENT, 0, "stream", "{\"text\":\"a test\"}");
        assert_int_equal(open_files(), before + 3);
        journal_rest(journal);
        assert_int_equal(open_files(), before);
        assert_int_equal(journal_head_read(*state, key, &head, &fault), 0);
        assert_int_equal(head.seq, i);
    }
    assert_int_equal(count_records(*state, 0), 200);
}

static void is_not_continued_when_it_was_changed_at_rest(void **state)
{
    cleanup_journal journal_t *journal = open_journal(*state, 0, 0);
    cleanup_free char *path = segment_path(*state, 1);
    size_t before = open_files();
    fault_t fault = {0};
    struct stat there;

    append(journal, JOURNAL_STATE, 0, "idle", "{}");
    assert_int_equal(stat(path, &there), 0);
    for (off_t change = -1; change <= 1; change++) {
        journal_rest(journal);
        assert_int_equal(truncate(path, there.st_size + change), 0);
        assert_int_equal(
            try_append(journal, JOURNAL_STATE, 0, "idle", "{}", 2, &fault),
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
    cleanup_journal journal_t *journal = open_journal(*state, 0, 0);
    journal_t *second = NULL;
    fault_t fault = {0};

    assert_non_null(journal);
    assert_int_equal(journal_open(*state, key, NULL, &second, NULL, &fault),
                     -EBUSY);
    assert_null(second);
}

static void remove_head(const char *folder)
{
    cleanup_free char *path = mem_format("%s/head", folder);
    assert_int_equal(unlink(path), 0);
}

/* Cuts the log at each of its bytes: all before the cut is read, what was torn
 * is reported, and appending goes on. The head knows nothing of it, as when a
 * writer died before it noted the record. */
static void a_torn_tail_is_cut_off(void **state)
{
    cleanup_free char *path = segment_path(*state, 1);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    journal_options_t options = {0, 0};
    size_t ends[5] = {0};
    fault_t fault = {0};

    journal_t *journal = open_journal(*state, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        ends[i] = journal_bytes(journal);
        append(journal, JOURNAL_EVENT, 1, "stream", "{\"text\":\"hello\"}");
    }
    ends[4] = journal_bytes(journal);
    journal_destroy(&journal);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    assert_int_equal(whole.size, ends[4]);

    for (size_t cut = 0; cut <= whole.size; cut++) {
        uint64_t torn = 99;
        unsigned good = 0;

        remove_head(*state);
        assert_int_equal(file_write_atomic(path, 0600, whole.data, cut, &fault),
                         0);
        while (good < 4 && ends[good + 1] <= cut)
            good++;
        assert_int_equal(count_records(*state, 0), good);
        assert_int_equal(
            journal_open(*state, key, &options, &journal, &torn, &fault), 0);
        assert_int_equal(torn, cut < ends[0] ? cut : cut - ends[good]);
        assert_int_equal(journal_last_seq(journal), good);
        append(journal, JOURNAL_EVENT, 1, "stream", "{\"text\":\"again\"}");
        assert_int_equal(count_records(*state, 0), good + 1);
        journal_destroy(&journal);
    }
}

/* What the head has noted and the log lacks is told by a record of its own,
 * and numbers that clients may have seen are not given again. */
static void a_cut_that_the_head_knows_is_told(void **state)
{
    cleanup_free char *path = segment_path(*state, 1);
    cleanup_free char *head_path = mem_format("%s/head", (char *) *state);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    cleanup_buffer buffer_t note = BUFFER_EMPTY;
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t got;
    journal_head_t head;
    size_t two = 0;
    fault_t fault = {0};

    journal_t *journal = open_journal(*state, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        append(journal, JOURNAL_EVENT, 1, "stream", "{\"text\":\"hello\"}");
        two = i == 1 ? journal_bytes(journal) : two;
    }
    journal_destroy(&journal);
    assert_int_equal(journal_head_read(*state, key, &head, &fault), 0);
    assert_int_equal(head.seq, 4);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    assert_int_equal(file_write_atomic(path, 0600, whole.data, two, &fault), 0);

    journal = open_journal(*state, 0, 0);
    assert_int_equal(journal_last_seq(journal), 5);
    journal_destroy(&journal);
    assert_int_equal(journal_reader_new(*state, key, 2, &reader, &fault), 0);
    assert_int_equal(next(reader, &got), 1);
    assert_int_equal(got.kind, JOURNAL_STATE);
    assert_string_equal(got.type, "cut");
    assert_int_equal(got.seq, 5);
    assert_memory_equal(got.content.bytes, "{\"from\":3,\"to\":4}",
                        got.content.size);
    assert_int_equal(next(reader, &got), 0);
    assert_int_equal(journal_reader_head(reader).seq, 5);

    assert_int_equal(file_read(head_path, 64, &note, &fault), 0);
    note.data[8] ^= 1;
    assert_int_equal(
        file_write_atomic(head_path, 0600, note.data, note.size, &fault), 0);
    assert_int_equal(journal_head_read(*state, key, &head, &fault), -EBADMSG);
}

/* A reader comes back to a record, as long as no compaction has moved it. */
static void a_marked_record_is_found_again(void **state)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    cleanup_journal journal_t *journal = open_journal(*state, 64 << 10, 0);
    journal_mark_t mark = {0};
    journal_record_t got;
    fault_t fault = {0};

    for (unsigned i = 0; i < 60; i++)
        append(journal, JOURNAL_STATE, 0, "idle", "{\"a\":\"b\"}");
    assert_int_equal(journal_reader_new(*state, key, 0, &reader, &fault), 0);
    while (next(reader, &got) == 1)
        if (got.seq == 7)
            mark = journal_reader_mark(reader);
    assert_int_equal(journal_reader_seek(reader, &mark, &fault), 0);
    assert_int_equal(next(reader, &got), 1);
    assert_int_equal(got.seq, 7);
    assert_int_equal(next(reader, &got), 1);
    assert_int_equal(got.seq, 8);
    mark.segment = 9;
    assert_int_equal(journal_reader_seek(reader, &mark, &fault), -ENOENT);
}

/* A machine that lost its power may have grown the file without filling it. */
static void a_tail_of_zeros_is_cut_off(void **state)
{
    cleanup_free char *path = segment_path(*state, 1);
    journal_options_t options = {0, 0};
    uint64_t torn = 0;
    fault_t fault = {0};

    journal_t *journal = open_journal(*state, 0, 0);
    append(journal, JOURNAL_STATE, 0, "idle", "{}");
    uint64_t size = journal_bytes(journal);
    journal_destroy(&journal);
    assert_int_equal(truncate(path, (off_t) size + 1000), 0);
    assert_int_equal(
        journal_open(*state, key, &options, &journal, &torn, &fault), 0);
    assert_int_equal(torn, 1000);
    append(journal, JOURNAL_STATE, 0, "idle", "{}");
    assert_int_equal(count_records(*state, 0), 2);
    journal_destroy(&journal);
}

/* Reads to the end or to the damage. */
static int read_result(const char *folder, const uint8_t *with)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    fault_t fault = {0};
    int result = journal_reader_new(folder, with, 0, &reader, &fault);

    if (result < 0)
        return result;
    while ((result = journal_reader_next(reader, &record, &fault)) > 0)
        continue;
    return result;
}

static void a_changed_byte_is_found(void **state)
{
    cleanup_free char *path = segment_path(*state, 1);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state, 0, 0);
    fault_t fault = {0};

    for (unsigned i = 0; i < 3; i++)
        append(journal, JOURNAL_EVENT, 1, "stream", "{\"text\":\"hello\"}");
    journal_destroy(&journal);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    assert_int_equal(read_result(*state, key), 0);
    for (size_t at = 0; at < whole.size; at++) {
        whole.data[at] ^= 1;
        assert_int_equal(
            file_write_atomic(path, 0600, whole.data, whole.size, &fault), 0);
        assert_int_equal(read_result(*state, key), -EBADMSG);
        assert_int_equal(
            journal_open(*state, key, NULL, &journal, NULL, &fault), -EBADMSG);
        whole.data[at] ^= 1;
    }
}

static void another_key_reads_nothing(void **state)
{
    journal_t *journal = open_journal(*state, 0, 0);
    append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_destroy(&journal);
    assert_int_equal(read_result(*state, NULL), -EBADMSG);
}

static void a_removed_record_or_segment_is_found(void **state)
{
    cleanup_free char *first = segment_path(*state, 1);
    cleanup_free char *second = segment_path(*state, 2);
    journal_t *journal = open_journal(*state, 64 << 10, 0);
    struct stat there;

    for (unsigned i = 0; i < 200; i++)
        append(journal, JOURNAL_STATE, 0, "idle", "{\"why\":\"a test\"}");
    uint64_t record =
        ENTRY_HEADER_SIZE + strlen("{\"msg_id\":\"x\"}{\"why\":\"a test\"}");
    journal_destroy(&journal);
    assert_int_equal(stat(first, &there), 0);
    assert_int_equal(truncate(first, there.st_size - (off_t) record), 0);
    assert_int_equal(read_result(*state, key), -EBADMSG);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(read_result(*state, key), -EBADMSG);
}

static unsigned count_blobs(const char *folder)
{
    cleanup_free char *path = mem_format("%s/blobs", folder);
    DIR *blobs = opendir(path);
    unsigned count = 0;

    if (!blobs)
        return 0;
    for (struct dirent *file = readdir(blobs); file; file = readdir(blobs))
        count += file->d_name[0] != '.';
    closedir(blobs);
    return count;
}

static void big_parts_are_spilled(void **state)
{
    cleanup_buffer buffer_t big = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state, 0, 1000);
    journal_record_t got;
    fault_t fault = {0};

    for (unsigned i = 0; i < 1000; i++)
        buffer_format(&big, "%u,", i);
    journal_part_t buffers[] = {{big.data, 999}, {big.data, 1000}};
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .type = "display_data",
        .content = {big.data, big.size},
        .buffers = buffers,
        .buffer_count = 2,
    };
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    assert_int_equal(count_blobs(*state), 2);
    uint64_t bytes = journal_bytes(journal);
    journal_destroy(&journal);
    journal = open_journal(*state, 0, 1000);
    assert_int_equal(journal_bytes(journal), bytes);
    journal_destroy(&journal);

    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(next(reader, &got), 1);
        assert_int_equal(got.content.size, big.size);
        assert_memory_equal(got.content.bytes, big.data, big.size);
        assert_int_equal(got.buffers[0].size, 999);
        assert_int_equal(got.buffers[1].size, 1000);
        assert_memory_equal(got.buffers[1].bytes, big.data, 1000);
    }
}

static void a_changed_blob_is_found(void **state)
{
    cleanup_free char *path = mem_format("%s/blobs", (char *) *state);
    cleanup_free char *text = mem_new(2000);
    journal_t *journal = open_journal(*state, 0, 1000);
    fault_t fault = {0};

    assert_int_equal(try_append(journal, JOURNAL_EVENT, 1, "display_data", text,
                                2000, &fault),
                     0);
    journal_destroy(&journal);
    DIR *blobs = opendir(path);
    assert_non_null(blobs);
    for (struct dirent *file = readdir(blobs); file; file = readdir(blobs)) {
        if (file->d_name[0] == '.')
            continue;
        int fd = openat(dirfd(blobs), file->d_name, O_WRONLY);
        assert_int_equal(pwrite(fd, "x", 1, 1000), 1);
        close(fd);
    }
    closedir(blobs);
    assert_int_equal(read_result(*state, key), -EBADMSG);
}

/* What a session's journal looks like, cell by cell. */
static void append_cell(journal_t *journal, uint64_t request,
                        const char *output)
{
    append(journal, JOURNAL_REQUEST, request, "execute_request",
           "{\"code\":\"print(1)\"}");
    append(journal, JOURNAL_EVENT, request, "status",
           "{\"execution_state\":\"busy\"}");
    append(journal, JOURNAL_EVENT, request, "stream", output);
    append(journal, JOURNAL_EVENT, request, "stream", output);
    append(journal, JOURNAL_REPLY, request, "execute_reply",
           "{\"status\":\"ok\"}");
}

static void the_oldest_outputs_give_way(void **state)
{
    enum {
        BOUND = 128 << 10,
        CELLS = 100
    };
    cleanup_free char *output = mem_new(1500);
    unsigned seen[6] = {0};
    uint64_t gone = 0;
    journal_record_t got;

    memset(output, ' ', 1499);
    memcpy(output, "\"", 1);
    output[1498] = '"';
    journal_t *journal = open_journal(*state, BOUND, 0);
    for (unsigned i = 1; i <= CELLS; i++) {
        append_cell(journal, i, output);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    uint64_t bytes = journal_bytes(journal);
    journal_destroy(&journal);
    journal = open_journal(*state, BOUND, 0);
    assert_int_equal(journal_bytes(journal), bytes);
    assert_int_equal(journal_last_seq(journal), 5 * CELLS);
    journal_destroy(&journal);

    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    uint64_t last = 0;
    while (next(reader, &got)) {
        assert_true(got.seq > last);
        last = got.seq;
        seen[got.kind]++;
        unsigned long long records = 0;
        if (got.kind != JOURNAL_GAP)
            continue;
        cleanup_free char *content =
            mem_copy(got.content.bytes, got.content.size);
        assert_int_equal(sscanf(content, "{\"records\":%llu,", &records), 1);
        assert_true(got.request > 0);
        gone += records;
    }
    assert_int_equal(last, 5 * CELLS);
    assert_int_equal(seen[JOURNAL_REQUEST], CELLS);
    assert_int_equal(seen[JOURNAL_REPLY], CELLS);
    assert_true(seen[JOURNAL_GAP] > 0);
    assert_int_equal(seen[JOURNAL_EVENT] + gone, 3 * CELLS);
}

static void requests_alone_stay_within_the_bound(void **state)
{
    enum {
        BOUND = 64 << 10,
        REQUESTS = 1000
    };
    cleanup_free char *code = mem_new(300);
    unsigned long long gone = 0;
    uint64_t kept = 0;
    journal_record_t got;

    memset(code, 'x', 299);
    journal_t *journal = open_journal(*state, BOUND, 0);
    for (unsigned i = 1; i <= REQUESTS; i++) {
        append(journal, JOURNAL_REQUEST, i, "execute_request", code);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    journal_destroy(&journal);
    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    while (next(reader, &got)) {
        unsigned long long records = 1;
        if (got.kind == JOURNAL_GAP) {
            cleanup_free char *content =
                mem_copy(got.content.bytes, got.content.size);
            assert_int_equal(sscanf(content, "{\"records\":%llu,", &records),
                             1);
            gone += records;
        } else {
            kept++;
        }
    }
    assert_int_equal(gone + kept, REQUESTS);
    assert_true(gone > 0);
}

static void blobs_go_with_their_records(void **state)
{
    enum {
        BOUND = 256 << 10,
        SIZE = 20000
    };
    cleanup_free char *output = mem_new(SIZE);
    journal_t *journal = open_journal(*state, BOUND, 1000);
    fault_t fault = {0};

    for (unsigned i = 0; i < 100; i++) {
        memset(output, (int) ('0' + i), SIZE);
        assert_int_equal(try_append(journal, JOURNAL_EVENT, i, "display_data",
                                    output, SIZE, &fault),
                         0);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    unsigned left = count_blobs(*state);
    assert_true(left > 0 && left <= BOUND / SIZE);
    journal_destroy(&journal);
    assert_int_equal(read_result(*state, key), 0);
}

/* The reader stands in a segment that is rewritten under it. */
static void a_reader_survives_a_compaction(void **state)
{
    enum {
        BOUND = 256 << 10,
        SIZE = 20000
    };
    cleanup_free char *output = mem_new(SIZE);
    journal_t *journal = open_journal(*state, BOUND, 1000);
    cleanup_journal_reader journal_reader_t *reader = open_reader(*state, 0);
    journal_record_t got = {0};
    uint64_t last = 0;
    fault_t fault = {0};

    for (unsigned i = 0; i < 100; i++) {
        memset(output, (int) ('0' + i), SIZE);
        assert_int_equal(try_append(journal, JOURNAL_EVENT, i, "display_data",
                                    output, SIZE, &fault),
                         0);
        if (i % 25 != 24)
            continue;
        assert_int_equal(next(reader, &got), 1);
        assert_true(got.seq > last);
        last = got.seq;
    }
    while (next(reader, &got)) {
        assert_true(got.seq > last);
        last = got.seq;
    }
    assert_int_equal(last, 100);
    journal_destroy(&journal);
}

/* A limit on the size of files stands for a full disk: both end a write in
 * the middle of a record. */
static void a_full_disk_loses_nothing(void **state)
{
    struct rlimit old;
    struct rlimit small;
    cleanup_free char *output = mem_new(30000);
    journal_t *journal = open_journal(*state, 0, 0);
    fault_t fault = {0};

    memset(output, 'x', 29999);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 40000;
    append(journal, JOURNAL_REQUEST, 1, "execute_request", "{}");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    append(journal, JOURNAL_EVENT, 1, "stream", output);
    uint64_t bytes = journal_bytes(journal);
    assert_int_equal(
        try_append(journal, JOURNAL_EVENT, 1, "stream", output, 29999, &fault),
        -EFBIG);
    assert_int_equal(journal_bytes(journal), bytes);
    assert_int_equal(count_records(*state, 0), 2);
    append(journal, JOURNAL_EVENT, 1, "stream", "{\"text\":\"small\"}");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    append(journal, JOURNAL_EVENT, 1, "stream", output);
    assert_int_equal(journal_last_seq(journal), 4);
    assert_int_equal(count_records(*state, 0), 4);
    journal_destroy(&journal);
    journal = open_journal(*state, 0, 0);
    assert_int_equal(journal_last_seq(journal), 4);
    journal_destroy(&journal);
}

static void a_blob_that_does_not_fit_adds_nothing(void **state)
{
    struct rlimit old;
    struct rlimit small;
    cleanup_free char *output = mem_new(30000);
    journal_t *journal = open_journal(*state, 0, 1000);
    fault_t fault = {0};

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int result = try_append(journal, JOURNAL_EVENT, 1, "display_data", output,
                            30000, &fault);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(result, -EFBIG);
    assert_int_equal(count_blobs(*state), 0);
    append(journal, JOURNAL_EVENT, 1, "stream", "{}");
    assert_int_equal(count_records(*state, 0), 1);
    journal_destroy(&journal);
}

static void an_unwritable_folder_is_a_fault(void **state)
{
    cleanup_free char *path = mem_format("%s/file", (char *) *state);
    cleanup_free char *folder = mem_format("%s/journal", path);
    journal_t *journal = NULL;
    fault_t fault = {0};

    assert_int_equal(file_write_atomic(path, 0600, "", 0, &fault), 0);
    assert_true(journal_open(folder, key, NULL, &journal, NULL, &fault) < 0);
    assert_null(journal);
    assert_non_null(strstr(fault.text, folder));
}

static void a_record_too_big_is_refused(void **state)
{
    cleanup_journal journal_t *journal = open_journal(*state, 0, 0);
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .content = {"", (size_t) ENTRY_BODY_MAX + 1},
    };
    fault_t fault = {0};

    assert_int_equal(journal_append(journal, &record, &fault), -EMSGSIZE);
    assert_int_equal(journal_last_seq(journal), 0);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(reads_what_was_appended),
        with_folder(a_reader_follows_the_writer),
        with_folder(a_reader_starts_behind_any_record),
        with_folder(holds_no_file_while_it_rests),
        with_folder(is_not_continued_when_it_was_changed_at_rest),
        with_folder(a_second_writer_is_refused),
        with_folder(a_torn_tail_is_cut_off),
        with_folder(a_cut_that_the_head_knows_is_told),
        with_folder(a_marked_record_is_found_again),
        with_folder(a_tail_of_zeros_is_cut_off),
        with_folder(a_changed_byte_is_found),
        with_folder(another_key_reads_nothing),
        with_folder(a_removed_record_or_segment_is_found),
        with_folder(big_parts_are_spilled),
        with_folder(a_changed_blob_is_found),
        with_folder(the_oldest_outputs_give_way),
        with_folder(requests_alone_stay_within_the_bound),
        with_folder(blobs_go_with_their_records),
        with_folder(a_reader_survives_a_compaction),
        with_folder(a_full_disk_loses_nothing),
        with_folder(a_blob_that_does_not_fit_adds_nothing),
        with_folder(an_unwritable_folder_is_a_fault),
        with_folder(a_record_too_big_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
