/* Requests of a journal are found without reading it from its beginning: its
 * first record is damaged, so a reader that goes there gets an error. */
#include "tests/lib/journals.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/journal/index.h"

#include <string.h>

static bool finds(journal_index_t *self, const char *folder, uint64_t number)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record = {0};

    return journal_index_find_request(self, folder, journals_key, number,
                                      &reader, &record)
           && record.request == number && record.kind == JOURNAL_REQUEST;
}

static void damage(const char *folder, const char *text)
{
    cleanup_free char *path = journals_segment_path(folder, 1);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    fault_t fault = {0};

    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    uint8_t *at = memmem(whole.data, whole.size, text, strlen(text));
    assert_non_null(at);
    *at ^= 1;
    assert_int_equal(
        file_write_atomic(path, 0600, whole.data, whole.size, &fault), 0);
}

static void a_request_that_was_found_is_not_searched_again(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    journal_index_t positions = {0}, others = {0};

    journals_append(journal, JOURNAL_EVENT, 0, "stream", "{\"t\":\"first\"}");
    journals_append(journal, JOURNAL_REQUEST, 7, "execute_request", "{}");
    journals_append(journal, JOURNAL_EVENT, 7, "stream", "{}");
    assert_true(finds(&positions, *state, 7));
    damage(*state, "first");
    assert_true(finds(&positions, *state, 7));
    assert_false(finds(&others, *state, 7));
}

static void a_missing_reply_is_remembered(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    journal_index_t positions = {0}, others = {0};

    journals_append(journal, JOURNAL_EVENT, 7, "stream", "{}");
    assert_false(finds(&positions, *state, 7));
    /* Never so in a session's journal; it shows who reads. */
    journals_append(journal, JOURNAL_REQUEST, 7, "execute_request", "{}");
    assert_false(finds(&positions, *state, 7));
    assert_true(finds(&others, *state, 7));
}

/* It may be mended, or have been a matter of descriptors. */
static void an_unreadable_index_is_rebuilt(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    journal_index_t positions = {0};

    journals_append(journal, JOURNAL_EVENT, 0, "stream", "{\"t\":\"first\"}");
    journals_append(journal, JOURNAL_REQUEST, 7, "execute_request", "{}");
    damage(*state, "first");
    assert_false(finds(&positions, *state, 7));
    damage(*state, "girst"); /* the same bit once more: as it was */
    assert_true(finds(&positions, *state, 7));
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, journals_make_folder,                \
                                    journals_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(a_request_that_was_found_is_not_searched_again),
        with_folder(a_missing_reply_is_remembered),
        with_folder(an_unreadable_index_is_rebuilt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
