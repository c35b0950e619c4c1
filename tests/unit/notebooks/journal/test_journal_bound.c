/* A journal at its bound: the oldest gives way, and a reader goes on. */
#include "tests/lib/journals.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Appends a cell like those in a session's journal. */
static void append_cell(journal_t *journal, uint64_t request,
                        const char *output)
{
    journals_append(journal, JOURNAL_REQUEST, request, "execute_request",
                    "{\"code\":\"print(1)\"}");
    journals_append(journal, JOURNAL_EVENT, request, "status",
                    "{\"execution_state\":\"busy\"}");
    journals_append(journal, JOURNAL_EVENT, request, "stream", output);
    journals_append(journal, JOURNAL_EVENT, request, "stream", output);
    journals_append(journal, JOURNAL_REPLY, request, "execute_reply",
                    "{\"status\":\"ok\"}");
}

static void the_oldest_outputs_are_removed_first(void **state)
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
    journal_t *journal = journals_open(*state, BOUND, 0);
    for (unsigned i = 1; i <= CELLS; i++) {
        append_cell(journal, i, output);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    uint64_t bytes = journal_bytes(journal);
    journal_destroy(&journal);
    journal = journals_open(*state, BOUND, 0);
    assert_int_equal(journal_bytes(journal), bytes);
    assert_int_equal(journal_last_seq(journal), 5 * CELLS);
    journal_destroy(&journal);

    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    uint64_t last = 0;
    while (journals_next(reader, &got)) {
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
    journal_t *journal = journals_open(*state, BOUND, 0);
    for (unsigned i = 1; i <= REQUESTS; i++) {
        journals_append(journal, JOURNAL_REQUEST, i, "execute_request", code);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    journal_destroy(&journal);
    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    while (journals_next(reader, &got)) {
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

/* Code in a kernel can say these without end. */
static void what_a_kernel_says_stays_within_the_bound(void **state)
{
    static const char *const types[] = {"marked",  "struck",   "looked",
                                        "yielded", "awaiting", "dropped"};
    enum {
        BOUND = 128 << 10,
        RECORDS = 500,
        TYPES = sizeof types / sizeof *types
    };
    journal_t *journal = journals_open(*state, BOUND, 0);
    uint64_t lasting = 0;
    journal_record_t got;

    journals_append(journal, JOURNAL_STATE, 0, "ready", "{}");
    for (unsigned i = 0; i < TYPES * RECORDS; i++) {
        journals_append(journal, JOURNAL_STATE, 0, types[i % TYPES], "{}");
        assert_true(journal_bytes(journal) <= BOUND);
    }
    journal_destroy(&journal);
    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    while (journals_next(reader, &got))
        lasting += strcmp(got.type, "ready") == 0;
    assert_int_equal(lasting, 1);
}

static void blobs_go_with_their_records(void **state)
{
    enum {
        BOUND = 256 << 10,
        SIZE = 20000
    };
    cleanup_free char *output = mem_new(SIZE);
    journal_t *journal = journals_open(*state, BOUND, 1000);
    fault_t fault = {0};

    for (unsigned i = 0; i < 100; i++) {
        memset(output, (int) ('0' + i), SIZE);
        assert_int_equal(journals_try(journal, JOURNAL_EVENT, i, "display_data",
                                      (bytes_t){output, SIZE}, &fault),
                         0);
        assert_true(journal_bytes(journal) <= BOUND);
    }
    unsigned left = journals_count_blobs(*state);
    assert_true(left > 0 && left <= BOUND / SIZE);
    journal_destroy(&journal);
    assert_int_equal(journals_result(*state, journals_key), 0);
}

/* The reader is in a segment that is rewritten meanwhile. */
static void a_reader_survives_a_compaction(void **state)
{
    enum {
        BOUND = 256 << 10,
        SIZE = 20000
    };
    cleanup_free char *output = mem_new(SIZE);
    journal_t *journal = journals_open(*state, BOUND, 1000);
    cleanup_journal_reader journal_reader_t *reader = journals_read(*state, 0);
    journal_record_t got = {0};
    uint64_t last = 0;
    fault_t fault = {0};

    for (unsigned i = 0; i < 100; i++) {
        memset(output, (int) ('0' + i), SIZE);
        assert_int_equal(journals_try(journal, JOURNAL_EVENT, i, "display_data",
                                      (bytes_t){output, SIZE}, &fault),
                         0);
        if (i % 25 != 24)
            continue;
        assert_int_equal(journals_next(reader, &got), 1);
        assert_true(got.seq > last);
        last = got.seq;
    }
    while (journals_next(reader, &got)) {
        assert_true(got.seq > last);
        last = got.seq;
    }
    assert_int_equal(last, 100);
    journal_destroy(&journal);
}

/* A reader comes back to a record, as long as no compaction has moved it. */
static void a_marked_record_is_found_again(void **state)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    cleanup_journal journal_t *journal = journals_open(*state, 64 << 10, 0);
    journal_mark_t mark = {0};
    journal_record_t got;
    fault_t fault = {0};

    for (unsigned i = 0; i < 60; i++)
        journals_append(journal, JOURNAL_STATE, 0, "idle", "{\"a\":\"b\"}");
    assert_int_equal(
        journal_reader_new(*state, journals_key, 0, &reader, &fault), 0);
    while (journals_next(reader, &got) == 1)
        if (got.seq == 7)
            mark = journal_reader_mark(reader);
    assert_int_equal(journal_reader_seek(reader, &mark, &fault), 0);
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(got.seq, 7);
    assert_int_equal(journals_next(reader, &got), 1);
    assert_int_equal(got.seq, 8);
    mark.segment = 9;
    assert_int_equal(journal_reader_seek(reader, &mark, &fault), -ENOENT);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, journals_make_folder,                \
                                    journals_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(the_oldest_outputs_are_removed_first),
        with_folder(requests_alone_stay_within_the_bound),
        with_folder(what_a_kernel_says_stays_within_the_bound),
        with_folder(blobs_go_with_their_records),
        with_folder(a_reader_survives_a_compaction),
        with_folder(a_marked_record_is_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
