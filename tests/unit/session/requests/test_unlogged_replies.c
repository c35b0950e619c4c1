#include "base/buffer.h"
#include "gateway/session/requests/unlogged_replies.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A journal that fails so often before it takes a note. */
typedef struct {
    int failures, calls;
    char note[256];
} journal_fake_t;

static char folder[64];

static int begin(void **state)
{
    (void) state;
    snprintf(folder, sizeof folder, "/tmp/test-unlogged-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    char path[80];

    (void) state;
    snprintf(path, sizeof path, "%s/reserve", folder);
    unlink(path);
    return rmdir(folder);
}

static off_t reserved(void)
{
    struct stat seen;
    char path[80];

    snprintf(path, sizeof path, "%s/reserve", folder);
    return stat(path, &seen) == 0 ? seen.st_size : -1;
}

static int note(void *arg, const char *content, fault_t *fault)
{
    journal_fake_t *journal = arg;

    journal->calls++;
    if (journal->failures-- > 0)
        return fault_set(fault, ENOSPC, "full");
    snprintf(journal->note, sizeof journal->note, "%s", content);
    return 0;
}

static void numbers_become_ranges(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new(folder);
    journal_fake_t journal = {0};
    fault_t fault;

    (void) state;
    unlogged_replies_add(self, 4);
    unlogged_replies_add(self, 5);
    unlogged_replies_add(self, 6);
    unlogged_replies_add(self, 8);
    unlogged_replies_add(self, 3);
    assert_int_equal(unlogged_replies_count(self), 3);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault), 0);
    assert_string_equal(journal.note, "{\"requests\":[[4,6],[8,8],[3,3]]}");
    assert_int_equal(unlogged_replies_count(self), 0);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault), 0);
    assert_int_equal(journal.calls, 1);
}

static void the_reserved_file_makes_room_for_a_note(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new(folder);
    journal_fake_t journal = {.failures = 1};
    fault_t fault;

    (void) state;
    assert_int_equal(unlogged_replies_reserve(self, &fault), 0);
    assert_int_equal(reserved(), 16 << 10);
    unlogged_replies_add(self, 1);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault), 0);
    assert_int_equal(journal.calls, 2);
    assert_string_equal(journal.note, "{\"requests\":[[1,1]]}");
    /* And is there for the next time. */
    assert_int_equal(reserved(), 16 << 10);
}

static void the_file_stays_where_it_is_not_needed(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new(folder);
    journal_fake_t journal = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(unlogged_replies_reserve(self, &fault), 0);
    unlogged_replies_add(self, 1);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault), 0);
    assert_int_equal(journal.calls, 1);
    assert_int_equal(reserved(), 16 << 10);
}

static void without_the_file_one_attempt_is_made(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new(folder);
    journal_fake_t journal = {.failures = 1};
    fault_t fault;

    (void) state;
    unlogged_replies_add(self, 1);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault),
                     -ENOSPC);
    assert_int_equal(journal.calls, 1);
    assert_int_equal(unlogged_replies_count(self), 1);
}

static void an_entry_that_could_not_be_written_stays(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new(folder);
    journal_fake_t journal = {.failures = 2};
    fault_t fault;

    (void) state;
    (void) unlogged_replies_reserve(self, &fault);
    unlogged_replies_add(self, 1);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault),
                     -ENOSPC);
    assert_int_equal(journal.calls, 2);
    assert_int_equal(reserved(), -1);
    unlogged_replies_add(self, 2);
    assert_int_equal(unlogged_replies_pay(self, note, &journal, &fault), 0);
    assert_string_equal(journal.note, "{\"requests\":[[1,2]]}");
    assert_int_equal(reserved(), 16 << 10);
}

static void a_folder_that_is_gone_has_no_file(void **state)
{
    cleanup_unlogged_replies unlogged_replies_t *self =
        unlogged_replies_new("/nowhere/at/all");
    fault_t fault;

    (void) state;
    assert_int_equal(unlogged_replies_reserve(self, &fault), -ENOENT);
    unlogged_replies_destroy(&self);
    assert_null(self);
    unlogged_replies_destroy(&self);
}

static void add_range(void *arg, uint64_t first, uint64_t last)
{
    buffer_format(arg, "%u-%u ", (unsigned) first, (unsigned) last);
}

static void read_text(const char *content, const char *expected)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    buffer_text(&out, "");
    unlogged_replies_read(text_bytes(content), add_range, &out);
    assert_string_equal(out.data ? (const char *) out.data : "", expected);
}

static void reads_what_it_has_written(void **state)
{
    (void) state;
    read_text("{\"requests\":[[4,6],[8,8]]}", "4-6 8-8 ");
    read_text("{\"requests\":[]}", "");
    read_text("{\"requests\":[[4],[],7,[\"a\",2],[1,\"b\"],[1,2]]}", "1-2 ");
    read_text("{\"requests\":", "");
    read_text("{}", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(numbers_become_ranges),
        TEST(the_reserved_file_makes_room_for_a_note),
        TEST(the_file_stays_where_it_is_not_needed),
        TEST(without_the_file_one_attempt_is_made),
        TEST(an_entry_that_could_not_be_written_stays),
        TEST(a_folder_that_is_gone_has_no_file),
        TEST(reads_what_it_has_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
