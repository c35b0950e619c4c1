/* The take-over of a session from its journal: the queue, the request that the
 * kernel has, the messages that are sent once more, and the refusals. */
#include "gateway/session/actor/recovery.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/processes/process.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "notebooks/journal/reader.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static int readable = -1; /* records until the damage; -1: there is none */

int __wrap_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault);
int __real_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault);

int __wrap_journal_reader_next(journal_reader_t *self,
                               journal_record_t *ret_record, fault_t *fault)
{
    if (readable == 0)
        return fault_set(fault, EBADMSG, "damaged");
    if (readable > 0)
        readable--;
    return __real_journal_reader_next(self, ret_record, fault);
}

static void a_request_without_a_reply_runs(void **state)
{
    session_t *self = *state;
    uint64_t number;

    fake_session_request(self, "m1", "execute_request");
    number = fake_running(self);
    fake_session_request(self, "m2", "complete_request");
    fake_session_request(self, "m3", "execute_request");
    fake_outside.now_ms += 1000;
    fake_session_take_over(self);
    assert_int_equal(fake_running(self), number);
    assert_true(session_state_is(self->state, PHASE_BUSY));
    assert_int_equal(request_queue_running(self->requests)->progress,
                     REQUEST_STARTED);
    assert_int_equal(request_queue_running(self->requests)->begun_us,
                     (fake_outside.now_ms - 1000) * 1000);
    assert_int_equal(request_queue_size(self->requests), 2);
    assert_true(request_queue_knows_id(self->requests, "m1"));
    assert_false(request_queue_knows_id(self->requests, "m4"));
    assert_int_equal(kernel_link_seq(self->link), 1);
    assert_true(self->info.size > 0);
}

static void ask(session_t *self, const char *question)
{
    fake_kernel_says(FRAME_INPUT_REQUEST, fake_running(self), question);
    kernel_events_read(self);
}

/* Later events of the kernel change nothing. */
static void a_cell_began_with_its_first_event(void **state)
{
    session_t *self = *state;
    int64_t begun_us = fake_outside.now_ms * 1000;

    fake_session_request(self, "m1", "execute_request");
    fake_outside.now_ms += 1000;
    ask(self, "{\"prompt\":\"\",\"password\":false}");
    fake_session_take_over(self);
    assert_int_equal(request_queue_running(self->requests)->begun_us, begun_us);
}

/* The answer can come to this gateway. */
static void a_line_is_still_asked_for(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    ask(self, "{\"prompt\":\"\",\"password\":false}");
    fake_session_take_over(self);
    assert_int_equal(request_queue_input(self->requests), REQUEST_QUEUE_TEXT);
}

static void a_secret_is_still_asked_for(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    ask(self, "{\"prompt\":\"\",\"password\":true}");
    fake_session_take_over(self);
    assert_int_equal(request_queue_input(self->requests),
                     REQUEST_QUEUE_PASSWORD);
    fake_session_note(self, "input_reply", 0,
                      "{\"request\":1,\"password\":true}");
    fake_session_take_over(self);
    assert_int_equal(request_queue_input(self->requests),
                     REQUEST_QUEUE_NO_INPUT);
}

static void a_count_goes_on(void **state)
{
    session_t *self = *state;
    int64_t count;

    fake_session_request(self, "m1", "execute_request");
    fake_session_reply(self);
    count = request_queue_next_count(self->requests);
    fake_session_take_over(self);
    assert_int_equal(request_queue_next_count(self->requests), count);
    assert_int_equal(fake_running(self), 0);
    assert_true(session_state_is(self->state, PHASE_IDLE));
}

static void replies_of_the_last_second_go_out_again(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_reply(self);
    fake_outside.now_ms += 1001;
    fake_session_request(self, "m2", "complete_request");
    fake_session_reply(self);
    fake_session_take_over(self);
    recovery_repeat(self);
    DID("shell complete_reply ok; iopub idle");
    recovery_repeat(self);
    DID("");
}

static void replies_of_a_second_ago_go_out_again_in_their_order(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_reply(self);
    fake_outside.now_ms += 1000;
    fake_session_request(self, "m2", "complete_request");
    fake_session_reply(self);
    fake_session_take_over(self);
    recovery_repeat(self);
    DID("shell execute_reply ok; iopub idle; shell complete_reply ok; "
        "iopub idle");
}

static void a_kernel_that_was_not_ready_runs_nothing(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_note(self, "restart", 0, "{}");
    fake_session_take_over(self);
    assert_int_equal(fake_running(self), 0);
    assert_int_equal(request_queue_size(self->requests), 1);
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
    assert_int_equal(self->info.size, 0);
    assert_int_equal(kernel_link_seq(self->link), 0);
}

static void a_revival_that_is_not_done_has_no_kernel(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "reviving", 0, "{}");
    fake_session_take_over(self);
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_int_equal(self->info.size, 0);
}

static void a_note_changes_nothing_about_the_kernel(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "note", 0, "{\"text\":\"n\"}");
    fake_session_take_over(self);
    assert_true(session_state_is(self->state, PHASE_IDLE));
    assert_true(self->info.size > 0);
}

static void a_launch_that_is_not_done_is_no_restart(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "restart", 0, "{}");
    fake_session_note(self, "launch", 0, "{}");
    fake_session_take_over(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
}

static void a_kernel_that_is_ready_is_no_restart(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "restart", 0, "{}");
    fake_session_note(self, "ready", 1, "{}");
    fake_session_take_over(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
    fake_session_note(self, "restart", 0, "{}");
    fake_session_note(self, "ready", 1, "{}");
    self->spec->process.pid = 0; /* the gateway was killed before it knew it */
    fake_session_take_over(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

static void an_end_that_was_asked_for_goes_on(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_note(self, "leaving", 0, "{\"restart\":false}");
    fake_session_take_over(self);
    assert_true(recovery_is_leaving(self->recovery));
    assert_int_equal(session_state_sequel(self->state), SEQUEL_NONE);
    assert_int_equal(fake_running(self), 0);
}

static void requests_for_a_restarted_kernel_fail(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    fake_session_request(self, "m2", "execute_request");
    fake_session_note(self, "leaving", 0, "{\"restart\":true}");
    session_state_step(self->state, STATE_ON_STOP);
    fake_session_request(self, "m3", "execute_request");
    fake_session_take_over(self);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
    self->cause = (end_cause_t){.reason = END_REASON_DELETED};
    recovery_refuse_old(self);
    DID("iopub error; shell execute_reply error; iopub idle; "
        "iopub busy; iopub error; shell execute_reply error; iopub idle");
    assert_int_equal(request_queue_size(self->requests), 1);
}

static void replies_that_were_noted_late_count(void **state)
{
    session_t *self = *state;
    uint64_t number;

    fake_session_request(self, "m1", "execute_request");
    number = fake_running(self);
    fake_session_request(self, "m2", "execute_request");
    fake_session_request(self, "m3", "execute_request");
    {
        cleanup_free char *text = mem_format("{\"requests\":[[%llu,%llu]]}",
                                             (unsigned long long) number,
                                             (unsigned long long) number + 1);
        fake_session_note(self, "answered", 0, text);
    }
    fake_session_take_over(self);
    assert_int_equal(fake_running(self), number + 2);
    assert_int_equal(request_queue_size(self->requests), 0);
}

/* The gateway that finds no kernel has to record the end of that one. */
static void a_kernel_whose_end_is_not_recorded_is_missed(void **state)
{
    session_t *self = *state;

    fake_session_take_over(self);
    assert_true(recovery_misses_end(self->recovery));
    fake_session_note(self, "gone", 0, "{}");
    fake_session_take_over(self);
    assert_false(recovery_misses_end(self->recovery));
    fake_session_note(self, "ready", 1, "{}");
    fake_session_note(self, "launch", 0, "{}");
    fake_session_take_over(self);
    assert_false(recovery_misses_end(self->recovery));
}

/* The records up to the damage count. What follows may be a kernel. */
static void a_damaged_journal_is_read_as_far_as_it_goes(void **state)
{
    session_t *self = *state;
    uint64_t number;

    fake_session_request(self, "m1", "execute_request");
    number = fake_running(self);
    readable = 3; /* launch, ready, the request */
    fake_session_take_over(self);
    readable = -1;
    assert_int_equal(fake_running(self), number);
    fake_session_note(self, "gone", 0, "{}");
    readable = 1;
    fake_session_take_over(self);
    readable = -1;
    assert_true(recovery_misses_end(self->recovery));
}

#define PROCESS(number)                                                        \
    "{\"process\":" number ",\"argv\":[\"ls\"],\"cwd\":\"/\",\"who\":\"me\"}"

/* A kernel writes what is in the record of its start. */
static void processes_are_known_by_their_own_records(void **state)
{
    session_t *self = *state;

    fake_session_note(self, "process", 0, PROCESS("5"));
    fake_session_note(self, "ready", 1, PROCESS("6"));
    fake_session_take_over(self);
    assert_non_null(processes_find(self->processes, 5));
    assert_null(processes_find(self->processes, 6));
}

static void a_report_of_a_revival_waits_for_a_reply(void **state)
{
    static const request_t cell = {.frame_type = FRAME_EXECUTE};
    session_t *self = *state;
    cleanup_buffer buffer_t members = BUFFER_EMPTY;

    fake_session_note(self, "reviving", 0, "{\"is_complete\":false}");
    fake_session_note(self, "revived", 0, "{\"is_complete\":true}");
    fake_session_note(self, "ready", 1, "{}");
    fake_session_take_over(self);
    revive_write(self->start.revival, &cell, &members);
    assert_string_equal(members.data, "\"revived\":{\"is_complete\":true}");
}

static void requests_to_a_gone_session_are_answered(void **state)
{
    session_t *self = *state;

    fake_session_request(self, "m1", "execute_request");
    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "memory");
    self->spec->end.detail = mem_text("too much");
    fake_session_take_over(self);
    assert_int_equal(fake_running(self), 0);
    recovery_refuse(self);
    DID("iopub error; shell execute_reply error; iopub idle");
    HAS("SessionGone", "execute_reply");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_recorded,         \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_without_a_reply_runs),
        TEST(a_cell_began_with_its_first_event),
        TEST(a_line_is_still_asked_for),
        TEST(a_secret_is_still_asked_for),
        TEST(a_count_goes_on),
        TEST(replies_of_the_last_second_go_out_again),
        TEST(replies_of_a_second_ago_go_out_again_in_their_order),
        TEST(a_kernel_that_was_not_ready_runs_nothing),
        TEST(a_revival_that_is_not_done_has_no_kernel),
        TEST(a_note_changes_nothing_about_the_kernel),
        TEST(a_launch_that_is_not_done_is_no_restart),
        TEST(a_kernel_that_is_ready_is_no_restart),
        TEST(an_end_that_was_asked_for_goes_on),
        TEST(requests_for_a_restarted_kernel_fail),
        TEST(replies_that_were_noted_late_count),
        TEST(a_kernel_whose_end_is_not_recorded_is_missed),
        TEST(a_damaged_journal_is_read_as_far_as_it_goes),
        TEST(processes_are_known_by_their_own_records),
        TEST(a_report_of_a_revival_waits_for_a_reply),
        TEST(requests_to_a_gone_session_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
