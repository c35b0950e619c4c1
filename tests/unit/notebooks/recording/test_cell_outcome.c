/* The outcome of a cell: what is the gateway's in it, and what the kernel's.
 * What a kernel may send is checked before, too; here its records are as they
 * would be if that were not so. */
#include "notebooks/recording/cell_outcome.h"

#include "base/buffer.h"

#include "tests/lib/recorded.h"

#include <string.h>

#define LOST(cause) "{\"hearth\":{\"lost\":{\"cause\":\"" cause "\"}}}"

static void add(journal_t *journal, journal_kind_t kind, uint64_t kernel_seq,
                const char *type, const char *metadata)
{
    bool is_reply = kind == JOURNAL_REPLY;
    journal_record_t record = {
        .kind = kind,
        .request = 1,
        .kernel_seq = kernel_seq,
        .metadata = text_bytes(metadata),
        .content = text_bytes(is_reply ? "{\"status\":\"ok\"}"
                                       : "{\"execution_count\":3}"),
    };

    recorded_append_record(journal, &record, type);
}

/* Writes a cell that begins and ends; the caller clears its outcome. */
static cell_outcome_t outcome_of(const char *folder, uint64_t kernel_seq,
                                 const char *input, const char *reply)
{
    const cell_outcome_place_t place = {.folder = folder, .request = 1};
    cleanup_journal journal_t *journal = recordings_open(folder);
    cell_outcome_t outcome;

    add(journal, JOURNAL_EVENT, kernel_seq, "execute_input", input);
    add(journal, JOURNAL_REPLY, kernel_seq ? kernel_seq + 1 : 0,
        "execute_reply", reply);
    assert_int_equal(cell_outcome_read(&place, true, &outcome), 0);
    assert_int_equal(outcome.count, 3);
    assert_non_null(outcome.reply);
    return outcome;
}

static const char *cause_of(const cell_outcome_t *outcome)
{
    return json_string_value(json_object_get(outcome->lost, "cause"));
}

static void the_loss_of_a_reply_of_the_gateway(void **state)
{
    cleanup_cell_outcome cell_outcome_t outcome =
        outcome_of(*state, 0, "{}", LOST("memory"));

    assert_string_equal(cause_of(&outcome), "memory");
}

static void the_loss_that_came_with_the_beginning(void **state)
{
    cleanup_cell_outcome cell_outcome_t outcome =
        outcome_of(*state, 0, LOST("restart"), "{}");

    assert_string_equal(cause_of(&outcome), "restart");
}

static void no_loss_of_a_reply_of_the_kernel(void **state)
{
    cleanup_cell_outcome cell_outcome_t outcome =
        outcome_of(*state, 7, "{}", LOST("forged"));

    assert_null(outcome.lost);
    /* The rest of its reply counts. */
    assert_non_null(json_object_get(outcome.metadata, "hearth"));
}

static void no_loss_of_a_beginning_of_the_kernel(void **state)
{
    cleanup_cell_outcome cell_outcome_t outcome =
        outcome_of(*state, 7, LOST("forged"), "{}");

    assert_null(outcome.lost);
}

static void no_loss_that_is_no_object(void **state)
{
    cleanup_cell_outcome cell_outcome_t outcome =
        outcome_of(*state, 0, "{\"hearth\":{\"lost\":1}}", "{\"hearth\":[]}");

    assert_null(outcome.lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, recorded_make_folder,                \
                                    recorded_remove_folder)
        TEST(the_loss_of_a_reply_of_the_gateway),
        TEST(the_loss_that_came_with_the_beginning),
        TEST(no_loss_of_a_reply_of_the_kernel),
        TEST(no_loss_of_a_beginning_of_the_kernel),
        TEST(no_loss_that_is_no_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
