/* A loss is known by the records as the session writes them. What a next
 * gateway knows if it can read the journal in part. */
#include "gateway/session/core/loss_report.h"

#include "gateway/session/core/replies.h"
#include "notebooks/journal/reader.h"
#include "tests/lib/loss_steps.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

int __wrap_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t after, journal_reader_t **ret_reader,
                              fault_t *fault);
int __real_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t after, journal_reader_t **ret_reader,
                              fault_t *fault);

static int readings; /* of a journal from its beginning */

int __wrap_journal_reader_new(const char *folder, const uint8_t *key,
                              uint64_t after, journal_reader_t **ret_reader,
                              fault_t *fault)
{
    readings++;
    return __real_journal_reader_new(folder, key, after, ret_reader, fault);
}

int __wrap_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault);
int __real_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault);

static int readable = -1; /* records until the damage; -1: there is none */

int __wrap_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault)
{
    if (readable == 0)
        return fault_set(fault, EBADMSG, "damaged");
    if (readable > 0)
        readable--;
    return __real_journal_reader_next(self, ret_record, fault);
}

static void take_over_until(session_t *self, int records)
{
    readable = records;
    fake_session_take_over(self);
    readable = -1;
}

/* A session takes each record when it is written. */
static void a_loss_reads_no_journal(void **state)
{
    session_t *self = *state;

    readings = 0;
    loss_steps_make_variable(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    fake_session_reply(self);
    loss_steps_lose(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    fake_session_reply(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    end_cause_set(&self->cause, END_REASON_SIGNAL, "it died");
    replies_fail_for_end(self, UINT64_MAX);
    assert_int_equal(readings, 0);
    assert_true(loss_steps_find(self, "execute_input", "\"names\":[\"df\"]")
                > 0);
    assert_true(loss_steps_find(self, "execute_reply", "\"lost\"") > 0);
}

static void a_take_over_reads_the_journal_once(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = loss_steps_reader_request();
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;

    loss_steps_make_variable(self);
    readings = 0;
    fake_session_take_over(self);
    assert_false(loss_report_write(self, request, &metadata));
    loss_steps_lose(self);
    assert_true(loss_report_write(self, request, &metadata));
    buffer_text(&metadata, "");
    assert_non_null(strstr((char *) metadata.data, "\"names\":[\"df\"]"));
    assert_int_equal(readings, 1);
}

static void a_loss_after_a_damage_says_that_names_are_not_known(void **state)
{
    session_t *self = *state;

    loss_steps_make_variable(self);
    take_over_until(self, 0);
    assert_false(loss_steps_is_due(self));
    loss_steps_lose(self);
    loss_steps_assert_reported(self, "\"names\":[],\"incomplete\":true}");
    cleanup_request request_t *request = loss_steps_reader_request();
    loss_report_note(self, request);
    /* The next kernel's names are all known. */
    loss_steps_make_variable(self);
    loss_steps_lose(self);
    loss_steps_assert_reported(self, "\"names\":[]}");
}

/* Whether it was reported, and made again, is in what cannot be read. */
static void a_loss_before_a_damage_has_no_names(void **state)
{
    session_t *self = *state;
    const int until_the_restart = 6; /* launch, ready, three of the cell */

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    take_over_until(self, until_the_restart);
    assert_true(loss_steps_is_due(self));
    loss_steps_assert_reported(self, "{\"cause\":\"a limit\"");
    loss_steps_assert_reported(self, "\"names\":[],\"incomplete\":true}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_recorded,         \
                                    fake_session_end)
        X(a_loss_reads_no_journal),
        X(a_take_over_reads_the_journal_once),
        X(a_loss_after_a_damage_says_that_names_are_not_known),
        X(a_loss_before_a_damage_has_no_names),
#undef X
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
