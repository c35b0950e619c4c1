/* A log that shows whether it was changed. */
#include "base/fd.h"
#include "notebooks/journal/chained_log.h"
#include "notebooks/journal/log_key.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t key[LOG_KEY_SIZE] = "a key of thirty-two bytes, fixed";
static char parent[64];
static char *folder; /* a fresh one for each test */

static int make_folder(void **state)
{
    static int count;

    (void) state;
    if (!parent[0]) {
        (void) snprintf(parent, sizeof parent, "/tmp/hearth-test-log-XXXXXX");
        if (sodium_init() < 0 || !mkdtemp(parent))
            return -1;
    }
    folder = mem_format("%s/%d", parent, ++count);
    return 0;
}

static int forget_folder(void **state)
{
    (void) state;
    free(take_ptr(folder));
    return 0;
}

static int remove_all(void **state)
{
    (void) state;
    fault_t fault;

    return parent[0] ? path_remove_tree(parent, &fault) : 0;
}

static chained_log_t *open_log(uint64_t file_bytes, uint64_t files_max)
{
    chained_log_t *log = NULL;
    fault_t fault;

    assert_int_equal(
        chained_log_open(folder, key, file_bytes, files_max, &log, &fault), 0);
    return log;
}

static void append(chained_log_t *log, int from, int to)
{
    fault_t fault;

    for (int i = from; i <= to; i++) {
        cleanup_free char *members = mem_format("\"event\":\"e\",\"i\":%d", i);
        assert_int_equal(chained_log_append(log, members, &fault), 0);
    }
}

/* Writes a log with that many records besides those of its files. */
static void write_log(int records, uint64_t file_bytes, uint64_t files_max)
{
    cleanup_chained_log chained_log_t *log = open_log(file_bytes, files_max);

    append(log, 1, records);
}

static chained_log_report_t verify(void)
{
    chained_log_report_t report;
    fault_t fault;

    assert_int_equal(chained_log_read(folder, key, NULL, NULL, &report, &fault),
                     0);
    return report;
}

static char *file(int number)
{
    return mem_format("%s/%06d.log", folder, number);
}

static void read_all(int number, buffer_t *ret_content)
{
    cleanup_free char *path = file(number);
    fault_t fault;

    assert_int_equal(file_read(path, 1 << 20, ret_content, &fault), 0);
}

static void write_all(int number, const void *bytes, size_t size)
{
    cleanup_free char *path = file(number);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, bytes, size, &fault), 0);
}

static bool count_records(void *arg, const char *line, size_t size)
{
    assert_memory_equal(line + size - 2, "\"}", 2);
    return ++*(int *) arg < 3;
}

static void verifies_its_own_records(void **state)
{
    (void) state;
    chained_log_report_t report;
    fault_t fault;
    int shown = 0;

    write_log(5, 1 << 20, 4);
    assert_int_equal(
        chained_log_read(folder, key, count_records, &shown, &report, &fault),
        0);
    assert_int_equal(report.flaws, 0);
    assert_int_equal(report.records, 6);
    assert_int_equal(report.last, 6);
    assert_int_equal(shown, 3);
}

static void continues_an_existing_file(void **state)
{
    (void) state;
    write_log(3, 1 << 20, 4);
    {
        cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
        assert_string_equal(chained_log_flaw(log), "");
        append(log, 4, 5);
    }
    assert_int_equal(verify().flaws, 0);
    assert_int_equal(verify().records, 6);
    assert_int_equal(verify().files, 1);
}

static void the_wrong_key_verifies_no_record(void **state)
{
    (void) state;
    static const uint8_t other[LOG_KEY_SIZE] = "another";
    chained_log_report_t report;
    fault_t fault;

    write_log(3, 1 << 20, 4);
    assert_int_equal(
        chained_log_read(folder, other, NULL, NULL, &report, &fault), 0);
    assert_int_equal(report.records, 0);
    assert_true(report.flaws > 0);
}

static void shows_a_change_of_any_byte(void **state)
{
    (void) state;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    write_log(3, 1 << 20, 4);
    read_all(1, &content);
    for (size_t i = 0; i < content.size; i++) {
        content.data[i] ^= 1;
        write_all(1, content.data, content.size);
        assert_true(verify().flaws > 0);
        content.data[i] ^= 1;
    }
    write_all(1, content.data, content.size);
    assert_int_equal(verify().flaws, 0);
}

/* The content without its line number `line`, from 1. */
static void remove_line(int number, int line)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    uint8_t *at, *end;

    read_all(number, &content);
    at = content.data;
    for (int i = 1; i < line; i++)
        at = (uint8_t *) memchr(at, '\n',
                                (size_t) (content.data + content.size - at))
             + 1;
    end = (uint8_t *) memchr(at, '\n',
                             (size_t) (content.data + content.size - at))
          + 1;
    memmove(at, end, (size_t) (content.data + content.size - end));
    write_all(number, content.data, content.size - (size_t) (end - at));
}

static void shows_a_record_that_was_removed(void **state)
{
    (void) state;
    write_log(4, 1 << 20, 4);
    remove_line(1, 3);
    assert_true(verify().flaws > 0);
}

static void shows_that_the_last_records_were_removed(void **state)
{
    (void) state;
    write_log(4, 1 << 20, 4);
    remove_line(1, 5);
    assert_int_equal(verify().flaws, 1);
    assert_non_null(strstr(verify().text, "records at the end are missing"));
    /* And goes on to do so when more has come since. */
    {
        cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
        fault_t fault;

        assert_true(chained_log_is_damaged(log));
        assert_int_equal(
            chained_log_append(log,
                               "\"event\":\"log\",\"who\":\"audit\","
                               "\"outcome\":\"damaged\"",
                               &fault),
            0);
        append(log, 5, 6);
    }
    assert_int_equal(verify().flaws, 1);
    assert_non_null(strstr(verify().text, "found the log damaged"));
}

/* It is not taken for a file that a crash left unfinished. */
static void keeps_a_file_with_an_invalid_first_line(void **state)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_chained_log chained_log_t *log = NULL;
    cleanup_free char *head = NULL;

    (void) state;
    write_log(2, 1 << 20, 4);
    read_all(1, &content);
    content.data[0] = 'x';
    write_all(1, content.data, content.size);
    head = mem_format("%s/head", folder);
    assert_int_equal(unlink(head), 0);
    log = open_log(1 << 20, 4);
    assert_true(chained_log_is_damaged(log));
    assert_int_equal(verify().files, 2);
    assert_true(verify().flaws > 0);
}

/* The head alone is left: a log begins anew, but not as if there had been
 * none. */
static void shows_that_all_records_were_removed(void **state)
{
    cleanup_free char *path = NULL;

    (void) state;
    write_log(4, 1 << 20, 4);
    path = mem_format("%s/000001.log", folder);
    for (int is_emptied = 0; is_emptied < 2; is_emptied++) {
        if (is_emptied)
            write_all(1, "", 0);
        else
            assert_int_equal(unlink(path), 0);
        cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
        assert_true(chained_log_is_damaged(log));
        assert_non_null(strstr(chained_log_flaw(log), "missing"));
        append(log, 1, 2);
    }
}

static void truncates_a_record_torn_by_a_crash(void **state)
{
    (void) state;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    write_log(3, 1 << 20, 4);
    read_all(1, &content);
    buffer_text(&content, "{\"n\":5,\"event\":\"half");
    write_all(1, content.data, content.size);
    {
        cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
        assert_non_null(strstr(chained_log_flaw(log), "unfinished"));
        assert_false(chained_log_is_damaged(log));
        append(log, 4, 4);
    }
    assert_int_equal(verify().flaws, 0);
    assert_int_equal(verify().last, 5);
}

static void rotates_and_keeps_the_newest(void **state)
{
    (void) state;
    struct stat status;
    chained_log_report_t report;

    write_log(400, 4096, 3);
    report = verify();
    assert_int_equal(report.flaws, 0);
    assert_int_equal(report.files, 3);
    assert_true(report.first > 1);
    assert_true(report.last > 400);
    for (int i = 1; i < 100; i++) {
        cleanup_free char *path = file(i);
        if (stat(path, &status) == 0)
            assert_in_range(status.st_size, 1, 4096 + CHAINED_LOG_LINE_MAX);
    }
    {
        cleanup_chained_log chained_log_t *log = open_log(4096, 3);
        assert_string_equal(chained_log_flaw(log), "");
        append(log, 401, 500);
    }
    assert_int_equal(verify().flaws, 0);
}

static void shows_a_file_that_was_removed(void **state)
{
    (void) state;
    cleanup_free char *middle = file(2), *oldest = file(1);

    write_log(200, 4096, 100);
    assert_int_equal(verify().flaws, 0);
    assert_int_equal(rename(middle, parent), -1); /* it is there */
    {
        cleanup_buffer buffer_t content = BUFFER_EMPTY;
        read_all(2, &content);
        assert_int_equal(unlink(middle), 0);
        assert_true(verify().flaws > 0);
        write_all(2, content.data, content.size);
    }
    assert_int_equal(verify().flaws, 0);
    assert_int_equal(unlink(oldest), 0);
    assert_int_equal(verify().flaws, 1);
    assert_non_null(strstr(verify().text, "oldest records are missing"));
}

/* Writes a head that names no more than these records, without the key. */
static void forge_head(int first, int last)
{
    cleanup_free char *path = mem_format("%s/head", folder);
    cleanup_free char *text = mem_format("%020d %020d %064d\n", first, last, 0);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
}

static void shows_a_forged_head(void **state)
{
    (void) state;
    write_log(10, 1 << 20, 4);
    for (int line = 11; line > 5; line--)
        remove_line(1, line);
    for (int last = 0; last <= 5; last++) {
        forge_head(1, last);
        assert_int_equal(verify().flaws, 1);
        assert_non_null(strstr(verify().text, "head was changed"));
    }
    cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
    assert_true(chained_log_is_damaged(log));
}

/* Another file of its number does not stand for it. */
static void shows_a_file_that_another_stands_for(void **state)
{
    cleanup_free char *path = NULL, *other = NULL;

    (void) state;
    write_log(30, 600, 100);
    path = file(4);
    other = mem_format("%s/4.log", folder);
    assert_int_equal(rename(path, other), 0);
    assert_non_null(strstr(verify().text, "a file before this one is missing"));
}

/* A writer that is at work while the log is read. */
typedef struct {
    chained_log_t *log;
    int records; /* that it appends when the reader has the first one */
} writing_t;

static bool append_meanwhile(void *arg, const char *line, size_t size)
{
    writing_t *writing = arg;

    (void) line;
    (void) size;
    append(writing->log, 1, writing->records);
    writing->records = 0;
    return true;
}

static chained_log_report_t verify_beside(chained_log_t *log, int records)
{
    writing_t writing = {log, records};
    chained_log_report_t report;
    fault_t fault;

    assert_int_equal(chained_log_read(folder, key, append_meanwhile, &writing,
                                      &report, &fault),
                     0);
    return report;
}

static void records_that_come_while_it_reads_are_not_missing(void **state)
{
    (void) state;
    cleanup_chained_log chained_log_t *log = open_log(400, 100);
    chained_log_report_t report;

    append(log, 1, 5);
    report = verify_beside(log, 10);
    assert_string_equal(report.text, "");
    assert_int_equal(report.flaws, 0);
    assert_true(report.last < verify().last);
}

static void files_that_go_while_it_reads_are_not_missing(void **state)
{
    (void) state;
    cleanup_chained_log chained_log_t *log = open_log(400, 3);
    chained_log_report_t report;

    append(log, 1, 20);
    /* One of the three goes, which was read already; then all of them. */
    for (int records = 2; records < 20; records += 16) {
        report = verify_beside(log, records);
        assert_string_equal(report.text, "");
        assert_int_equal(report.flaws, 0);
    }
}

static void refuses_an_invalid_line(void **state)
{
    (void) state;
    cleanup_chained_log chained_log_t *log = open_log(1 << 20, 4);
    cleanup_free char *large = mem_new(CHAINED_LOG_LINE_MAX + 1);
    fault_t fault;

    memset(large, 'x', CHAINED_LOG_LINE_MAX);
    assert_int_equal(chained_log_append(log, large, &fault), -EMSGSIZE);
    assert_int_equal(chained_log_append(log, "\"a\":\"\n\"", &fault),
                     -EMSGSIZE);
    assert_int_equal(verify().flaws, 0);
    assert_int_equal(verify().records, 1);
}

static void a_key_is_made_once_and_for_its_owner_alone(void **state)
{
    uint8_t made[LOG_KEY_SIZE], read[LOG_KEY_SIZE] = {0};
    struct stat status;
    fault_t fault = {0};

    (void) state;
    assert_int_equal(log_key_read(folder, false, made, &fault), -ENOENT);
    assert_int_equal(log_key_read(folder, true, made, &fault), 0);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(log_key_read(folder, true, read, &fault), 0);
    assert_memory_equal(made, read, sizeof made);
    assert_int_equal(file_write_atomic(folder, 0600, made, 31, &fault), 0);
    assert_int_equal(log_key_read(folder, true, read, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "has 31 bytes, 32 are right"));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, forget_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verifies_its_own_records),
        TEST(continues_an_existing_file),
        TEST(the_wrong_key_verifies_no_record),
        TEST(shows_a_change_of_any_byte),
        TEST(shows_a_record_that_was_removed),
        TEST(shows_that_the_last_records_were_removed),
        TEST(keeps_a_file_with_an_invalid_first_line),
        TEST(shows_that_all_records_were_removed),
        TEST(truncates_a_record_torn_by_a_crash),
        TEST(rotates_and_keeps_the_newest),
        TEST(shows_a_file_that_was_removed),
        TEST(shows_a_forged_head),
        TEST(shows_a_file_that_another_stands_for),
        TEST(records_that_come_while_it_reads_are_not_missing),
        TEST(files_that_go_while_it_reads_are_not_missing),
        TEST(refuses_an_invalid_line),
        TEST(a_key_is_made_once_and_for_its_owner_alone),
    };
    return cmocka_run_group_tests(tests, NULL, remove_all);
}
