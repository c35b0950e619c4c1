/* A journal that was torn, cut or changed: valid records are read, the rest is
 * reported. */
#include "tests/lib/journals.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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
    cleanup_free char *path = journals_segment_path(*state, 1);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    journal_options_t options = {0, 0};
    size_t ends[5] = {0};
    fault_t fault = {0};

    journal_t *journal = journals_open(*state, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        ends[i] = journal_bytes(journal);
        journals_append(journal, JOURNAL_EVENT, 1, "stream",
                        "{\"text\":\"hello\"}");
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
        assert_int_equal(journals_count(*state, 0), good);
        assert_int_equal(journal_open(*state, journals_key, &options, &journal,
                                      &torn, &fault),
                         0);
        assert_int_equal(torn, cut < ends[0] ? cut : cut - ends[good]);
        assert_int_equal(journal_last_seq(journal), good);
        journals_append(journal, JOURNAL_EVENT, 1, "stream",
                        "{\"text\":\"again\"}");
        assert_int_equal(journals_count(*state, 0), good + 1);
        journal_destroy(&journal);
    }
}

/* Records that the head names and the log lacks are reported by a record, and
 * numbers that clients may have seen are not used again. */
static void a_cut_that_the_head_reveals_is_reported(void **state)
{
    cleanup_free char *path = journals_segment_path(*state, 1);
    cleanup_free char *head_path = mem_format("%s/head", (char *) *state);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    cleanup_buffer buffer_t note = BUFFER_EMPTY;
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t got;
    journal_head_t head;
    size_t two = 0;
    fault_t fault = {0};

    journal_t *journal = journals_open(*state, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        journals_append(journal, JOURNAL_EVENT, 1, "stream",
                        "{\"text\":\"hello\"}");
        two = i == 1 ? journal_bytes(journal) : two;
    }
    journal_destroy(&journal);
    assert_int_equal(journal_head_read(*state, journals_key, &head, &fault), 0);
    assert_int_equal(head.seq, 4);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    assert_int_equal(file_write_atomic(path, 0600, whole.data, two, &fault), 0);

    journal = journals_open(*state, 0, 0);
    assert_int_equal(journal_last_seq(journal), 5);
    journal_destroy(&journal);
    assert_int_equal(
        journal_reader_new(*state, journals_key, 2, &reader, &fault), 0);
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(got.kind, JOURNAL_STATE);
    assert_string_equal(got.type, "cut");
    assert_int_equal(got.seq, 5);
    assert_memory_equal(got.content.bytes, "{\"from\":3,\"to\":4}",
                        got.content.size);
    assert_int_equal(journals_next(reader, &got), 0);
    assert_int_equal(journal_reader_head(reader).seq, 5);

    assert_int_equal(file_read(head_path, 64, &note, &fault), 0);
    note.data[8] ^= 1;
    assert_int_equal(
        file_write_atomic(head_path, 0600, note.data, note.size, &fault), 0);
    assert_int_equal(journal_head_read(*state, journals_key, &head, &fault),
                     -EBADMSG);
}

/* A machine that lost its power may have grown the file without filling it. */
static void a_tail_of_zeros_is_cut_off(void **state)
{
    cleanup_free char *path = journals_segment_path(*state, 1);
    journal_options_t options = {0, 0};
    uint64_t torn = 0;
    fault_t fault = {0};

    journal_t *journal = journals_open(*state, 0, 0);
    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    uint64_t size = journal_bytes(journal);
    journal_destroy(&journal);
    assert_int_equal(truncate(path, (off_t) size + 1000), 0);
    assert_int_equal(
        journal_open(*state, journals_key, &options, &journal, &torn, &fault),
        0);
    assert_int_equal(torn, 1000);
    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    assert_int_equal(journals_count(*state, 0), 2);
    journal_destroy(&journal);
}

static void a_changed_byte_is_found(void **state)
{
    cleanup_free char *path = journals_segment_path(*state, 1);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    journal_t *journal = journals_open(*state, 0, 0);
    fault_t fault = {0};

    for (unsigned i = 0; i < 3; i++)
        journals_append(journal, JOURNAL_EVENT, 1, "stream",
                        "{\"text\":\"hello\"}");
    journal_destroy(&journal);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    assert_int_equal(journals_result(*state, journals_key), 0);
    for (size_t at = 0; at < whole.size; at++) {
        whole.data[at] ^= 1;
        assert_int_equal(
            file_write_atomic(path, 0600, whole.data, whole.size, &fault), 0);
        assert_int_equal(journals_result(*state, journals_key), -EBADMSG);
        assert_int_equal(
            journal_open(*state, journals_key, NULL, &journal, NULL, &fault),
            -EBADMSG);
        whole.data[at] ^= 1;
    }
}

static void the_wrong_key_reads_no_record(void **state)
{
    journal_t *journal = journals_open(*state, 0, 0);
    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_destroy(&journal);
    assert_int_equal(journals_result(*state, NULL), -EBADMSG);
}

/* A session's folder that was copied below another gateway's state folder. */
static void the_wrong_key_is_a_named_reason(void **state)
{
    static const uint8_t other[32] = "the key of another state folder";
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_t *journal = journals_open(*state, 0, 0);
    journal_record_t record;
    fault_t fault = {0};
    uint64_t torn = 0;
    int r;

    journals_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_destroy(&journal);
    r = journal_reader_new(*state, other, 0, &reader, &fault);
    if (r == 0)
        r = journal_reader_next(reader, &record, &fault);
    assert_int_equal(r, -EBADMSG);
    assert_non_null(strstr(fault.text, "with another journal key"));
    fault = (fault_t){0};
    assert_int_equal(journal_open(*state, other, NULL, &journal, &torn, &fault),
                     -EBADMSG);
    assert_non_null(strstr(fault.text, "with another journal key"));
}

static void a_removed_record_or_segment_is_found(void **state)
{
    cleanup_free char *first = journals_segment_path(*state, 1);
    cleanup_free char *second = journals_segment_path(*state, 2);
    journal_t *journal = journals_open(*state, 64 << 10, 0);
    struct stat there;

    for (unsigned i = 0; i < 200; i++)
        journals_append(journal, JOURNAL_STATE, 0, "idle",
                        "{\"why\":\"a test\"}");
    uint64_t record =
        RECORD_HEADER_SIZE + strlen("{\"msg_id\":\"x\"}{\"why\":\"a test\"}");
    journal_destroy(&journal);
    assert_int_equal(stat(first, &there), 0);
    assert_int_equal(truncate(first, there.st_size - (off_t) record), 0);
    assert_int_equal(journals_result(*state, journals_key), -EBADMSG);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(journals_result(*state, journals_key), -EBADMSG);
}

static void a_changed_blob_is_found(void **state)
{
    cleanup_free char *path = mem_format("%s/blobs", (char *) *state);
    cleanup_free char *text = mem_new(2000);
    journal_t *journal = journals_open(*state, 0, 1000);
    fault_t fault = {0};

    assert_int_equal(journals_try(journal, JOURNAL_EVENT, 1, "display_data",
                                  (bytes_t){text, 2000}, &fault),
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
    assert_int_equal(journals_result(*state, journals_key), -EBADMSG);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, journals_make_folder,                \
                                    journals_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(a_torn_tail_is_cut_off),
        with_folder(a_cut_that_the_head_reveals_is_reported),
        with_folder(a_tail_of_zeros_is_cut_off),
        with_folder(a_changed_byte_is_found),
        with_folder(the_wrong_key_reads_no_record),
        with_folder(the_wrong_key_is_a_named_reason),
        with_folder(a_removed_record_or_segment_is_found),
        with_folder(a_changed_blob_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
