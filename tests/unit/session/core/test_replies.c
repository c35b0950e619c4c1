/* Replies in place of the kernel's: their receivers, their content, and the
 * note for the next gateway when the journal cannot take them. */
#include "gateway/session/core/replies.h"

#include "gateway/session/actor/receive.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/unlogged_replies.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))
#define NOT(text, of) assert_null(strstr(deeds_content(of), text))

static void request(session_t *self, const char *type, const char *content)
{
    static int number;
    cleanup_free char *id = mem_format("m%d", ++number);

    fake_client_sends(CHANNEL_SHELL, id, type, content);
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
}

static void cell(session_t *self)
{
    request(self, "execute_request", "{\"code\":\"1\"}");
}

static request_t *running(session_t *self)
{
    return request_queue_running(self->requests);
}

static bool is_trying(const session_t *self)
{
    return timers_is_running(self->timers, TIMER_UNLOGGED);
}

static void a_request_is_busy_once(void **state)
{
    session_t *self = *state;

    cell(self);
    running(self)->progress = REQUEST_WAITING;
    replies_announce(self, running(self));
    replies_announce(self, running(self));
    DID("iopub busy");
    assert_int_equal(running(self)->progress, REQUEST_STARTED);
}

static void a_cell_fails_on_every_channel_once(void **state)
{
    session_t *self = *state;
    uint64_t seq;

    cell(self);
    request_queue_set_next_count(self->requests, 7);
    seq = journal_last_seq(self->journal);
    replies_fail(self, running(self), "Name", "what \"it\" was");
    DID("iopub error; shell execute_reply error; iopub idle");
    HAS("{\"ename\":\"Name\",\"evalue\":\"what \\\"it\\\" was\"", "error");
    HAS("\"ename\":\"Name\"", "execute_reply");
    HAS("\"execution_count\":6", "execute_reply");
    assert_int_equal(running(self)->progress, REQUEST_ANSWERED);
    assert_true(running(self)->is_journaled);
    assert_int_equal(journal_last_seq(self->journal), seq + 2);
    replies_fail(self, running(self), "Name", "again");
    DID("");
}

static void what_is_no_cell_has_a_reply_alone(void **state)
{
    session_t *self = *state;

    request(self, "complete_request", "{\"code\":\"1\",\"cursor_pos\":0}");
    replies_fail(self, running(self), "Name", "no");
    DID("shell complete_reply error; iopub idle");
    NOT("execution_count", "complete_reply");
}

static void a_silent_cell_has_a_reply_alone(void **state)
{
    session_t *self = *state;

    request(self, "execute_request", "{\"code\":\"1\",\"silent\":true}");
    replies_fail(self, running(self), "Name", "no");
    DID("shell execute_reply error; iopub idle");
}

/* --- A journal that cannot be written --- */

static void a_client_is_answered_all_the_same(void **state)
{
    session_t *self = *state;

    cell(self);
    fake_outside.is_journal_lost = true;
    replies_fail(self, running(self), "Name", "no");
    DID("iopub error; shell execute_reply error; iopub idle");
    HAS("\"ename\":\"Name\"", "error");
    assert_false(running(self)->is_journaled);
    /* Who asks for one reply alone keeps the books. */
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
}

static void what_is_not_journaled_is_noted_later(void **state)
{
    session_t *self = *state;
    uint64_t first;
    cleanup_free char *note = NULL;

    cell(self);
    cell(self);
    first = fake_running(self);
    fake_outside.is_journal_lost = true;
    replies_fail_all(self, "Name", "no");
    DID("iopub error; shell execute_reply error; iopub idle; "
        "iopub busy; iopub error; shell execute_reply error; iopub idle");
    assert_int_equal(unlogged_replies_count(self->unlogged), 1);
    assert_true(is_trying(self));
    assert_int_equal(fake_outside.delay_ms, 500);
    timers_stop(self->timers, TIMER_UNLOGGED);
    replies_on_unlogged(self);
    assert_true(is_trying(self));
    fake_outside.is_journal_lost = false;
    replies_on_unlogged(self);
    assert_false(is_trying(self));
    note =
        mem_format("{\"requests\":[[%llu,%llu]]}", (unsigned long long) first,
                   (unsigned long long) first + 1);
    HAS(note, "journal answered");
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
}

static void aborted_cells_are_noted_too(void **state)
{
    session_t *self = *state;

    cell(self);
    cell(self);
    fake_outside.is_journal_lost = true;
    replies_abort_cells(self);
    DID("iopub busy; shell execute_reply aborted; iopub idle");
    assert_int_equal(unlogged_replies_count(self->unlogged), 1);
    assert_true(is_trying(self));
}

/* --- Many requests --- */

static void all_fail_that_came_until_then(void **state)
{
    session_t *self = *state;
    uint64_t first;

    cell(self);
    cell(self);
    cell(self);
    first = fake_running(self);
    replies_fail_until(self, first + 1, "Name", "no");
    DID("iopub error; shell execute_reply error; iopub idle; "
        "iopub busy; iopub error; shell execute_reply error; iopub idle");
    assert_null(running(self));
    assert_int_equal(request_queue_size(self->requests), 1);
    replies_fail_all(self, "Name", "no");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
    assert_int_equal(request_queue_size(self->requests), 0);
    assert_false(is_trying(self));
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
    replies_fail_all(self, "Name", "no");
    DID("");
}

static void all_that_wait_fail_in_their_own_way(void **state)
{
    session_t *self = *state;

    cell(self);
    request(self, "complete_request", "{\"code\":\"\",\"cursor_pos\":0}");
    request(self, "execute_request", "{\"code\":\"3\",\"silent\":true}");
    replies_fail_all(self, "KernelDied", "it died");
    DID("iopub error; shell execute_reply error; iopub idle; "
        "iopub busy; shell complete_reply error; iopub idle; "
        "iopub busy; shell execute_reply error; iopub idle");
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
    assert_null(running(self));
}

static void one_that_waits_is_aborted(void **state)
{
    session_t *self = *state;
    uint64_t number;

    cell(self);
    number = fake_running(self);
    cell(self);
    cell(self);
    request_queue_set_next_count(self->requests, 4);
    replies_abort(self, number); /* it runs */
    DID("");
    replies_abort(self, number + 2);
    DID("iopub busy; shell execute_reply aborted; iopub idle");
    HAS("\"execution_count\":3", "execute_reply");
    assert_int_equal(request_queue_size(self->requests), 1);
    assert_int_equal(request_queue_first(self->requests)->number, number + 1);
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
}

static void cells_that_wait_are_aborted_and_others_are_not(void **state)
{
    session_t *self = *state;

    cell(self);
    cell(self);
    request(self, "complete_request", "{\"code\":\"1\",\"cursor_pos\":0}");
    cell(self);
    replies_abort_cells(self);
    DID("iopub busy; shell execute_reply aborted; iopub idle; "
        "iopub busy; shell execute_reply aborted; iopub idle");
    assert_int_equal(request_queue_size(self->requests), 1);
    assert_non_null(running(self));
    assert_int_equal(unlogged_replies_count(self->unlogged), 0);
}

/* --- What they say --- */

static void the_error_names_the_end_of_the_kernel(void **state)
{
    static const struct {
        end_reason_t reason;
        const char *ename;
    } ends[] = {
        {END_REASON_WALL, "TimeLimitExceeded"},
        {END_REASON_DELETED, "SessionGone"},
        {END_REASON_IDLE_TIMEOUT, "SessionGone"},
        {END_REASON_LIFETIME, "SessionGone"},
        {END_REASON_MEMORY, "KernelDied"},
        {END_REASON_SIGNAL, "KernelDied"},
    };
    session_t *self = *state;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        cleanup_free char *ename =
            mem_format("\"ename\":\"%s\"", ends[i].ename);

        self->cause =
            (end_cause_t){.reason = ends[i].reason, .detail = "a detail"};
        cell(self);
        replies_fail_for_end(self, UINT64_MAX);
        HAS(ename, "execute_reply");
        HAS(end_reason_name(ends[i].reason), "execute_reply");
        HAS(": a detail; its variables are lost", "execute_reply");
        HAS("`hearth session revive s1`", "execute_reply");
    }
}

static void a_restart_promises_a_fresh_kernel(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_WANT_RESTART);
    assert_true(stop_wants_relaunch(self));
    self->cause =
        (end_cause_t){.reason = END_REASON_DELETED, .detail = "restarted"};
    cell(self);
    replies_fail_for_end(self, fake_running(self) - 1);
    HAS("\"ename\":\"KernelDied\"", "execute_reply");
    HAS("restarted; its variables are lost; a fresh kernel takes over",
        "execute_reply");
    NOT("revive", "execute_reply");
    self->cause.reason = END_REASON_WALL;
    cell(self);
    replies_fail_for_end(self, UINT64_MAX);
    HAS("\"ename\":\"TimeLimitExceeded\"", "execute_reply");
}

static void requests_to_a_tombstone_learn_since_when(void **state)
{
    session_t *self = *state;
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "memory");
    self->spec->end.detail = mem_text("too much");
    self->spec->end.ended_us = INT64_C(1700000000000000);
    replies_write_gone(self, &name, &sentence);
    assert_string_equal(name, "SessionGone");
    assert_non_null(strstr((const char *) sentence.data,
                           "session s1 is gone since 2023-11-14T22:13:20"));
    assert_non_null(strstr((const char *) sentence.data, "too much"));
}

static void a_cell_learns_which_limit_it_has_reached(void **state)
{
    session_t *self = *state;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    static const frame_t said = {.type = FRAME_STREAM};

    cell(self);
    request_queue_set_next_count(self->requests, 3);
    self->spec->times.cell_limit_ms = 2500;
    assert_int_equal(replies_cell_limit(self, running(self)), 2500);
    (void) interrupt_start_for_limit(self->interrupt, CELL_LIMIT_TIME, 0);
    assert_string_equal(replies_limit_error(self), "TimeLimitExceeded");
    replies_write_limit(self, running(self), &out);
    assert_non_null(strstr((const char *) out.data,
                           "\"evalue\":\"the cell ran past its time limit of "
                           "2.5 s and was interrupted"));
    assert_non_null(strstr((const char *) out.data, "\"execution_count\":2"));
    running(self)->time_limit_ms = 1000;
    assert_int_equal(replies_cell_limit(self, running(self)), 1000);
    interrupt_end(self->interrupt);
    (void) output_limit_drop(self->limits.output, &said);
    (void) interrupt_start_for_limit(self->interrupt, CELL_LIMIT_OUTPUT, 0);
    assert_string_equal(replies_limit_error(self), "OutputLimitExceeded");
    buffer_clear(&out);
    replies_write_limit(self, running(self), &out);
    assert_non_null(strstr((const char *) out.data, "print less of it"));
}

static void remarks_are_on_standard_error(void **state)
{
    session_t *self = *state;
    uint64_t seq;

    cell(self);
    running(self)->time_limit_ms = 1500;
    seq = journal_last_seq(self->journal);
    assert_true(replies_remark(self, running(self), "a remark"));
    DID("iopub stream");
    HAS("{\"name\":\"stderr\",\"text\":\"[hearth: a remark]\\n\"}", "stream");
    assert_int_equal(journal_last_seq(self->journal), seq + 1);
    replies_remark_limit(self, running(self));
    HAS("its time limit of 1.5 s and was interrupted, which it caught]",
        "stream");
    (void) deeds_take();
    replies_remark_limit(self, running(self)); /* is said once */
    /* One that cannot be journaled is left out. */
    fake_outside.is_journal_lost = true;
    assert_false(replies_remark(self, running(self), "another"));
    DID("");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_busy_once),
        TEST(a_cell_fails_on_every_channel_once),
        TEST(what_is_no_cell_has_a_reply_alone),
        TEST(a_silent_cell_has_a_reply_alone),
        TEST(a_client_is_answered_all_the_same),
        TEST(what_is_not_journaled_is_noted_later),
        TEST(aborted_cells_are_noted_too),
        TEST(all_fail_that_came_until_then),
        TEST(all_that_wait_fail_in_their_own_way),
        TEST(one_that_waits_is_aborted),
        TEST(cells_that_wait_are_aborted_and_others_are_not),
        TEST(the_error_names_the_end_of_the_kernel),
        TEST(a_restart_promises_a_fresh_kernel),
        TEST(requests_to_a_tombstone_learn_since_when),
        TEST(a_cell_learns_which_limit_it_has_reached),
        TEST(remarks_are_on_standard_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
