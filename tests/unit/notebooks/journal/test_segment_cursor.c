/* The records of one segment file in turn, while it grows and is mended. */
#include "tests/lib/journals.h"

#include "base/fd.h"
#include "notebooks/journal/segment_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define cleanup_cursor CLEANUP(segment_cursor_clear)

static void append(const char *folder, unsigned count)
{
    journal_t *journal = journals_open(folder, 0, 0);

    for (unsigned i = 0; i < count; i++)
        journals_append(journal, JOURNAL_EVENT, 1, "stream",
                        "{\"text\":\"hello\"}");
    journal_destroy(&journal);
}

/* Opens the folder's first segment. */
static void enter(segment_cursor_t *cursor, const char *folder)
{
    cleanup_free char *path = journals_segment_path(folder, 1);
    cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t bytes[SEGMENT_HEADER_SIZE];
    segment_header_t header;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), sizeof bytes);
    segment_cursor_init(cursor, folder, journals_key);
    assert_int_equal(segment_header_decode(bytes, &cursor->key, &header), 0);
    segment_cursor_enter(cursor, &fd, &header);
}

static void assert_next(segment_cursor_t *cursor, uint64_t seq)
{
    stored_record_t entry;
    fault_t fault;

    assert_int_equal(segment_cursor_next(cursor, &entry, &fault), 1);
    assert_int_equal(entry.record.seq, seq);
    assert_int_equal(cursor->seq, seq);
}

static void assert_end(segment_cursor_t *cursor)
{
    stored_record_t entry;
    fault_t fault;

    assert_int_equal(segment_cursor_next(cursor, &entry, &fault), 0);
}

/* Changes the byte at this offset; twice leaves it as it was. */
static void turn_byte(const segment_cursor_t *cursor, uint64_t at)
{
    uint8_t byte;

    assert_int_equal(pread(cursor->fd, &byte, 1, (off_t) at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(cursor->fd, &byte, 1, (off_t) at), 1);
}

static void reads_what_is_appended_meanwhile(void **state)
{
    cleanup_cursor segment_cursor_t cursor;

    append(*state, 2);
    enter(&cursor, *state);
    assert_int_equal(cursor.seq, 0);
    assert_next(&cursor, 1);
    assert_next(&cursor, 2);
    assert_end(&cursor);
    append(*state, 1);
    assert_next(&cursor, 3);
    assert_end(&cursor);
}

static void goes_back_to_a_mark(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    journal_mark_t mark;

    append(*state, 3);
    enter(&cursor, *state);
    assert_next(&cursor, 1);
    assert_next(&cursor, 2);
    mark = cursor.mark;
    assert_int_equal(mark.segment, 1);
    assert_int_equal(mark.seq, 1);
    assert_next(&cursor, 3);
    segment_cursor_seek(&cursor, &mark);
    assert_next(&cursor, 2);
    assert_next(&cursor, 3);
}

/* The bytes of the second record are read together with the first one. */
static void reads_again_what_was_being_replaced(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    uint64_t size;

    append(*state, 2);
    enter(&cursor, *state);
    size = (uint64_t) lseek(cursor.fd, 0, SEEK_END);
    turn_byte(&cursor, size - 1);
    assert_next(&cursor, 1);
    turn_byte(&cursor, size - 1);
    assert_next(&cursor, 2);
}

static void waits_for_the_rest_of_a_record(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    uint8_t bytes[64];
    off_t size;

    append(*state, 2);
    enter(&cursor, *state);
    size = lseek(cursor.fd, 0, SEEK_END);
    assert_int_equal(pread(cursor.fd, bytes, 8, size - 8), 8);
    assert_int_equal(ftruncate(cursor.fd, size - 8), 0);
    assert_next(&cursor, 1);
    assert_end(&cursor);
    assert_end(&cursor);
    assert_int_equal(pwrite(cursor.fd, bytes, 8, size - 8), 8);
    assert_next(&cursor, 2);
}

static void says_where_a_segment_is_damaged(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    cleanup_free char *sentence = NULL;
    stored_record_t entry;
    fault_t fault;

    append(*state, 2);
    enter(&cursor, *state);
    turn_byte(&cursor, (uint64_t) lseek(cursor.fd, 0, SEEK_END) - 1);
    assert_next(&cursor, 1);
    sentence =
        mem_format("%s: segment 1 is damaged at byte %llu, after record "
                   "1: not what was written",
                   (const char *) *state, (unsigned long long) cursor.at);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(segment_cursor_next(&cursor, &entry, &fault),
                         -EBADMSG);
        assert_string_equal(fault.text, sentence);
    }
}

static void says_that_a_segment_cannot_be_read(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    cleanup_free char *path = journals_segment_path(*state, 1);
    stored_record_t entry;
    fault_t fault;

    append(*state, 1);
    enter(&cursor, *state);
    close(cursor.fd);
    cursor.fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(cursor.fd >= 0);
    assert_int_equal(segment_cursor_next(&cursor, &entry, &fault), -EBADF);
    assert_non_null(strstr(fault.text, "Bad file descriptor"));
}

static void reads_records_larger_than_it_reads_ahead(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    static char text[100000];
    journal_t *journal = journals_open(*state, 0, 0);

    memset(text, ' ', sizeof text - 1);
    text[0] = '"';
    text[sizeof text - 2] = '"';
    for (int i = 0; i < 3; i++)
        journals_append(journal, JOURNAL_EVENT, 1, "stream", text);
    journal_destroy(&journal);
    enter(&cursor, *state);
    for (uint64_t seq = 1; seq <= 3; seq++)
        assert_next(&cursor, seq);
    assert_end(&cursor);
}

static int check_end(const segment_cursor_t *cursor, const uint8_t *previous)
{
    segment_header_t next = {0};
    fault_t fault;

    memcpy(next.previous, previous, SEGMENT_HASH_SIZE);
    return segment_cursor_check_end(cursor, &next, &fault);
}

static void knows_the_segment_after_it(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    static const uint8_t other[SEGMENT_HASH_SIZE] = {1};

    append(*state, 1);
    enter(&cursor, *state);
    /* A record is left. */
    assert_int_equal(check_end(&cursor, cursor.chain), -EBADMSG);
    assert_next(&cursor, 1);
    assert_int_equal(check_end(&cursor, cursor.chain), 0);
    assert_int_equal(check_end(&cursor, other), -EBADMSG);
}

/* The one after a compacted segment was chained to it when it was whole. */
static void knows_the_segment_after_a_compacted_one(void **state)
{
    cleanup_cursor segment_cursor_t cursor;
    static const uint8_t whole[SEGMENT_HASH_SIZE] = {1};

    append(*state, 1);
    enter(&cursor, *state);
    assert_next(&cursor, 1);
    cursor.header.stage = SEGMENT_COMPACTED;
    memcpy(cursor.header.original, whole, sizeof whole);
    assert_int_equal(check_end(&cursor, whole), -EBADMSG);
    memcpy(cursor.header.end, cursor.chain, sizeof cursor.chain);
    assert_int_equal(check_end(&cursor, whole), 0);
    assert_int_equal(check_end(&cursor, cursor.chain), -EBADMSG);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, journals_make_folder,                \
                                    journals_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(reads_what_is_appended_meanwhile),
        with_folder(goes_back_to_a_mark),
        with_folder(reads_again_what_was_being_replaced),
        with_folder(waits_for_the_rest_of_a_record),
        with_folder(says_where_a_segment_is_damaged),
        with_folder(says_that_a_segment_cannot_be_read),
        with_folder(reads_records_larger_than_it_reads_ahead),
        with_folder(knows_the_segment_after_it),
        with_folder(knows_the_segment_after_a_compacted_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
