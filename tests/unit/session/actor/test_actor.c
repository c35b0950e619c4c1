/* The session actor: how a session begins, afresh or from what an earlier
 * gateway left. */
#include "tests/unit/session/actor/actor_rig.h"

#include "gateway/session/core/announce.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"

#include <errno.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define LISTENS   "listen stdin; listen iopub; listen hb"
#define ENDS      "goodbye removed; unbind"

static void has(const char *part, const char *text)
{
    assert_non_null(text);
    assert_non_null(strstr(text, part));
}

static void lacks(const char *part, const char *text)
{
    assert_null(strstr(text, part));
}

/* --- A fresh session --- */

static void a_session_begins_with_its_launch(void **state)
{
    (void) state;
    actor_rig_run(NULL);
    DID("wait 20 ms; bind s1; iopub starting; " LISTENS
        "; listen shell; listen control; listen registry; kernel HELLO 0; "
        "loop; " ENDS);
    has("\"profile\":\"python\"", deeds_content("journal launch"));
}

static void is_on_disk(session_t *self)
{
    assert_int_equal(access(self->spec->connection_file, R_OK), 0);
    assert_true(actor_rig_has_state(self->spec->state_folder, "\"python\""));
    assert_true(timers_is_running(self->timers, TIMER_IDLE));
    assert_true(timers_is_running(self->timers, TIMER_LIFETIME));
    for (size_t i = 0; i < TIMER_COUNT; i++)
        assert_true(rig.handlers[i] != NULL);
}

static void a_fresh_session_is_on_disk_and_its_time_counts(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    spec->times.lifetime_ms = 9000;
    actor_rig_run(is_on_disk);
}

static void only_a_launch_waits_for_its_fork(void **state)
{
    (void) state;
    session_command_destroy(&fake_outside.command);
    fake_outside.command = session_command_new(SESSION_TOUCH, 0);
    actor_rig_run(NULL);
    lacks("wait", deeds_take());
}

static void a_line_that_is_closed_ends_the_session(void **state)
{
    (void) state;
    session_command_destroy(&fake_outside.command);
    actor_rig_run(NULL);
    DID("bind s1; iopub starting; " LISTENS "; listen shell; listen control; "
        "listen registry; " ENDS);
}

static void drain(session_t *self)
{
    session_state_step(self->state, STATE_ON_DRAIN);
}

static void frontends_hear_whether_the_session_is_kept(void **state)
{
    (void) state;
    actor_rig_run(drain);
    has("loop; goodbye drained; unbind", deeds_take());
}

static void start(session_t *self)
{
    (void) deeds_take();
    announce_start_soon(self);
}

static void a_start_is_in_the_audit_log_before_the_end(void **state)
{
    (void) state;
    actor_rig_run(start);
    has("goodbye removed; audit session_start ok", deeds_take());
}

/* --- A session that cannot begin --- */

static void is_broken(session_t *self)
{
    has("BROKEN", deeds_take());
    assert_int_equal(session_state_service(self->state), SERVICE_BROKEN);
    assert_string_equal(self->spec->end.reason, "");
}

static void without_ports_there_is_no_session(void **state)
{
    (void) state;
    rig.is_bound_already = true;
    session_command_destroy(&fake_outside.command);
    fake_outside.command = session_command_new(SESSION_TOUCH, 0);
    actor_rig_run(is_broken);
    DID("goodbye removed");
}

static void leave_no_place_for_a_journal(void)
{
    cleanup_free char *journal = mem_format("%s/journal", spec->state_folder);
    cleanup_free char *aside = mem_format("%s/aside", spec->state_folder);
    FILE *file;

    assert_int_equal(rename(journal, aside), 0);
    file = fopen(journal, "we"); /* where its folder would be */
    assert_non_null(file);
    (void) fclose(file);
}

static void without_a_journal_there_is_no_session(void **state)
{
    (void) state;
    leave_no_place_for_a_journal();
    actor_rig_run(is_broken);
}

static void is_known_as_pooled(session_t *self)
{
    is_broken(self);
    assert_true(
        actor_rig_has_state(self->spec->state_folder, "\"pooled\":true"));
}

/* So that the next gateway removes it, whenever this one is killed. */
static void
a_member_of_the_pool_is_known_as_one_before_its_journal(void **state)
{
    (void) state;
    spec->is_pooled = true;
    leave_no_place_for_a_journal();
    actor_rig_run(is_known_as_pooled);
}

static void without_a_connection_file_there_is_no_session(void **state)
{
    (void) state;
    free(spec->connection_file);
    spec->connection_file = mem_text("/nonexistent/kernel.json");
    actor_rig_run(is_broken);
    assert_string_equal(deeds_content("journal launch"), "");
}

static void a_launch_that_is_not_recorded_does_not_begin(void **state)
{
    (void) state;
    fake_outside.is_journal_lost = true;
    actor_rig_run(is_broken);
    lacks("iopub starting", deeds_take());
}

/* --- A session of an earlier gateway --- */

static void is_taken_over(session_t *self)
{
    DID("bind s1; " LISTENS "; listen registry; loop");
    assert_true(session_state_is(self->state, PHASE_IDLE));
    assert_true(session_state_is_held(self->state));
    assert_true(kernel_link_has_process(self->link));
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
    assert_string_equal(publisher_kernel_session(self->publisher), "old");
    assert_true(timers_is_running(self->timers, TIMER_LIFETIME));
    assert_false(timers_is_running(self->timers, TIMER_READY));
}

static void a_kernel_that_lives_is_taken_over(void **state)
{
    (void) state;
    snprintf(spec->kernel_session, sizeof spec->kernel_session, "old");
    spec->times.lifetime_ms = 9000;
    actor_rig_run(is_taken_over);
    DID(ENDS);
}

static void has_kernel_session_of_its_own(session_t *self)
{
    assert_true(publisher_kernel_session(self->publisher)[0] != '\0');
}

static void a_kernel_session_that_is_not_known_is_made(void **state)
{
    (void) state;
    actor_rig_run(has_kernel_session_of_its_own);
}

static void is_lost(session_t *self)
{
    assert_false(kernel_link_has_process(self->link));
    assert_true(timers_is_running(self->timers, TIMER_STOP));
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_true(session_state_is_held(self->state));
}

static void a_kernel_whose_pid_1_is_gone_is_lost(void **state)
{
    (void) state;
    fake_outside.is_connectable = false;
    actor_rig_run(is_lost);
}

static void a_kernel_whose_process_is_gone_is_lost(void **state)
{
    (void) state;
    fake_outside.is_adoptable = false;
    actor_rig_run(is_lost);
}

static void is_being_ended(session_t *self)
{
    lacks("kill", deeds_take());
    assert_int_equal(self->cause.reason, END_REASON_DELETED);
    assert_true(timers_is_running(self->timers, TIMER_STOP));
}

static void the_end_of_a_lost_kernel_was_requested(void **state)
{
    (void) state;
    fake_outside.is_connectable = false;
    actor_rig_run(is_being_ended);
}

static void is_killed(session_t *self)
{
    has("kill", deeds_take());
    assert_int_equal(self->cause.reason, END_REASON_DELETED);
    assert_true(session_state_is(self->state, PHASE_STOPPING));
}

static void the_end_of_a_kernel_goes_on(void **state)
{
    (void) state;
    actor_rig_run(is_killed);
}

static void awaits_ready(session_t *self)
{
    assert_true(session_state_is(self->state, PHASE_STARTING));
    assert_true(timers_is_running(self->timers, TIMER_READY));
    assert_int_equal(session_state_sequel(self->state), SEQUEL_BY_PROFILE);
}

static void a_kernel_that_starts_is_awaited(void **state)
{
    (void) state;
    actor_rig_run(awaits_ready);
}

static void is_restarted(session_t *self)
{
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

static void a_seed_that_was_interrupted_begins_anew(void **state)
{
    (void) state;
    spec->seed.is_running = true;
    actor_rig_run(is_restarted);
}

static void lacks_a_wall(session_t *self)
{
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
}

static void a_kernel_that_is_taken_over_is_looked_at(void **state)
{
    (void) state;
    spec->process.has_ids = true;
    fake_outside.sandbox = -EPROTO;
    actor_rig_run(lacks_a_wall);
}

static void is_tombstone(session_t *self)
{
    assert_true(session_state_is(self->state, PHASE_GONE));
    assert_true(session_state_is_held(self->state));
    assert_true(timers_is_running(self->timers, TIMER_TOMBSTONE));
    assert_null(session_kernel(self));
    actor_rig_expire(self, TIMER_TOMBSTONE);
    has("loop; REMOVED", deeds_take());
}

static void a_tombstone_stays_one(void **state)
{
    (void) state;
    snprintf(spec->end.reason, sizeof spec->end.reason, "idle");
    spec->end.ended_us = fake_outside.now_ms * 1000;
    actor_rig_run(is_tombstone);
}

static void is_abandoned(session_t *self)
{
    has("kill; BROKEN", deeds_take());
    assert_string_equal(self->spec->end.reason, "lost");
    has("could not be taken over: port 5", self->spec->end.detail);
    assert_int_equal(self->spec->end.ended_us, fake_outside.now_ms * 1000);
    assert_int_equal(kernel_pid(session_kernel(self)), 4711);
    assert_true(actor_rig_has_state(self->spec->state_folder, "\"lost\""));
}

static void a_session_that_cannot_be_taken_over_is_lost(void **state)
{
    (void) state;
    rig.is_bound_already = true;
    free(spec->end.detail);
    spec->end.detail = NULL;
    actor_rig_run(is_abandoned);
}

static void is_abandoned_without_a_kernel(session_t *self)
{
    DID("BROKEN; listen registry; loop");
    assert_string_equal(self->spec->end.reason, "lost");
}

static void a_kernel_that_is_gone_needs_no_end(void **state)
{
    (void) state;
    rig.is_bound_already = true;
    fake_outside.is_connectable = false;
    actor_rig_run(is_abandoned_without_a_kernel);
}

static void has_its_own_end(session_t *self)
{
    DID("BROKEN; listen registry; loop");
    assert_string_equal(self->spec->end.reason, "idle");
}

static void a_tombstone_keeps_its_reason(void **state)
{
    (void) state;
    rig.is_bound_already = true;
    snprintf(spec->end.reason, sizeof spec->end.reason, "idle");
    actor_rig_run(has_its_own_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(a_session_begins_with_its_launch),
        FRESH(a_fresh_session_is_on_disk_and_its_time_counts),
        FRESH(only_a_launch_waits_for_its_fork),
        FRESH(a_line_that_is_closed_ends_the_session),
        FRESH(frontends_hear_whether_the_session_is_kept),
        FRESH(a_start_is_in_the_audit_log_before_the_end),
        FRESH(without_ports_there_is_no_session),
        FRESH(without_a_journal_there_is_no_session),
        FRESH(a_member_of_the_pool_is_known_as_one_before_its_journal),
        FRESH(without_a_connection_file_there_is_no_session),
        FRESH(a_launch_that_is_not_recorded_does_not_begin),
        LEFT(a_kernel_that_lives_is_taken_over),
        LEFT(a_kernel_session_that_is_not_known_is_made),
        LEFT(a_kernel_whose_pid_1_is_gone_is_lost),
        LEFT(a_kernel_whose_process_is_gone_is_lost),
        LEAVING(the_end_of_a_lost_kernel_was_requested),
        LEAVING(the_end_of_a_kernel_goes_on),
        RESTARTING(a_kernel_that_starts_is_awaited),
        LEFT(a_seed_that_was_interrupted_begins_anew),
        LEFT(a_kernel_that_is_taken_over_is_looked_at),
        LEFT(a_tombstone_stays_one),
        LEFT(a_session_that_cannot_be_taken_over_is_lost),
        LEFT(a_kernel_that_is_gone_needs_no_end),
        LEFT(a_tombstone_keeps_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
