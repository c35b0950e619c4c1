/* The session actor: how a session begins, afresh or from what an earlier
 * gateway left, what its timers and its kernel's process do, and its end. The
 * loop is the test's: it does what one test has to do, and is over. */
#include "gateway/session/actor/actor.h"

#include "gateway/session/core/announce.h"
#include "gateway/session/processes/process_control.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define LISTENS   "listen stdin; listen iopub; listen hb"
#define ENDS      "goodbye removed; unbind"

typedef void turn_t(session_t *self);

/* What is outside of the actor, and what it gave away. */
static struct {
    turn_t *turn; /* of the loop; NULL: nothing happens */
    session_t *session;
    timers_handler_t *const *handlers;
    const kernel_link_ops_t *ops;
    bool is_bound_already; /* the ports are not free */
    bool keeps_awake;      /* a process beside the kernel does */
} rig;

static session_spec_t *spec; /* of the session; the actor takes it */

static void has(const char *part, const char *text)
{
    assert_non_null(text);
    assert_non_null(strstr(text, part));
}

static void lacks(const char *part, const char *text)
{
    assert_null(strstr(text, part));
}

/* --- Outside --- */

int __wrap_channels_new(connection_file_t *connection,
                        const channel_place_t *place, channels_t **ret_channels,
                        fault_t *fault);
void __wrap_channels_destroy(channels_t **self_p);
void __wrap_channels_watch(channels_t *self, channels_watch_t *watch,
                           void *arg);
void __wrap_channels_greet(channels_t *self, channels_greet_t *greet,
                           void *arg);
void __wrap_frontends_say_goodbye(frontends_t *self, const char *reason,
                                  const char *sentence);
timers_t *__wrap_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg);
timers_t *__real_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg);
kernel_link_t *__wrap_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg);
kernel_link_t *__real_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg);
void __wrap_notify_listen(notify_t *self, zloop_t *loop,
                          zloop_reader_fn *handler, void *arg);
bool __wrap_process_control_keeps_awake(const session_t *self);
int __wrap_zloop_start(zloop_t *self);
void *__wrap_zsock_resolve(void *self);
/* With sanitizers the linker also wraps what libczmq asks of libzmq. */
__attribute__((visibility("default"))) int
__wrap_zmq_poll(zmq_pollitem_t *items, int count, long timeout);

int __wrap_channels_new(connection_file_t *connection,
                        const channel_place_t *place, channels_t **ret_channels,
                        fault_t *fault)
{
    (void) connection;
    if (rig.is_bound_already)
        return fault_set(fault, EADDRINUSE, "port 5 is taken");
    deeds_note("bind %s", place->name);
    *ret_channels = (channels_t *) &fake_outside;
    return 0;
}

void __wrap_channels_destroy(channels_t **self_p)
{
    if (*self_p)
        deeds_note("unbind");
    *self_p = NULL;
}

void __wrap_channels_watch(channels_t *self, channels_watch_t *watch, void *arg)
{
    (void) self;
    (void) watch;
    (void) arg;
}

void __wrap_channels_greet(channels_t *self, channels_greet_t *greet, void *arg)
{
    (void) self;
    (void) greet;
    (void) arg;
}

void __wrap_frontends_say_goodbye(frontends_t *self, const char *reason,
                                  const char *sentence)
{
    (void) self;
    (void) sentence;
    deeds_note("goodbye %s", reason);
}

timers_t *__wrap_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg)
{
    rig.handlers = handlers;
    return __real_timers_new(loop, handlers, arg);
}

kernel_link_t *__wrap_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg)
{
    rig.ops = ops;
    return __real_kernel_link_new(loop, ops, arg);
}

void __wrap_notify_listen(notify_t *self, zloop_t *loop,
                          zloop_reader_fn *handler, void *arg)
{
    (void) self;
    (void) loop;
    (void) handler;
    rig.session = arg;
    deeds_note("listen registry");
}

bool __wrap_process_control_keeps_awake(const session_t *self)
{
    (void) self;
    return rig.keeps_awake;
}

int __wrap_zloop_start(zloop_t *self)
{
    (void) self;
    deeds_note("loop");
    if (rig.turn)
        rig.turn(rig.session);
    return 0;
}

void *__wrap_zsock_resolve(void *self)
{
    return self;
}

int __wrap_zmq_poll(zmq_pollitem_t *items, int count, long timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(items->events, ZMQ_POLLIN);
    deeds_note("wait %ld ms", timeout);
    return 0;
}

/* --- The session --- */

static int begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    memset(&rig, 0, sizeof rig);
    spec = fake_session_leave(*state);
    spec->is_adopted = false;
    fake_outside.command = session_command_new(SESSION_LAUNCHING, 0);
    fake_outside.command->launching.status_fd = -1;
    return 0;
}

/* A session of an earlier gateway, whose kernel was ready. `type`: what its
 * journal has as well; or NULL. */
static int begin_after(void **state, const char *type, const char *content)
{
    if (fake_session_begin_recorded(state) < 0)
        return -1;
    memset(&rig, 0, sizeof rig);
    if (type)
        fake_session_note(*state, type, 0, content);
    spec = fake_session_leave(*state);
    fake_outside.is_adoptable = true;
    return 0;
}

static int begin_left(void **state)
{
    return begin_after(state, NULL, NULL);
}

/* It was to end the kernel. */
static int begin_leaving(void **state)
{
    return begin_after(state, "leaving", "{\"restart\":false}");
}

static int begin_restarting(void **state)
{
    return begin_after(state, "restart", "{}");
}

static int end(void **state)
{
    session_command_destroy(&fake_outside.command);
    session_spec_destroy(&spec);
    return fake_session_end(state);
}

/* Runs the actor; its loop has this one turn. */
static void run(turn_t *turn)
{
    rig.turn = turn;
    session_actor(NULL, take_ptr(spec));
}

static void expire(session_t *self, timer_name_t name)
{
    rig.handlers[name](self);
}

static bool has_state(const char *folder, const char *text)
{
    cleanup_free char *path = mem_format("%s/session.json", folder);
    json_auto_t *json = json_load_file(path, 0, NULL);
    cleanup_free char *all = json_dumps(json, JSON_COMPACT);

    assert_non_null(all);
    return strstr(all, text) != NULL;
}

/* --- A fresh session --- */

static void a_session_begins_with_its_launch(void **state)
{
    (void) state;
    run(NULL);
    DID("wait 20 ms; bind s1; iopub starting; " LISTENS
        "; listen shell; listen control; listen registry; kernel HELLO 0; "
        "loop; " ENDS);
    has("\"profile\":\"python\"", deeds_content("journal launch"));
}

static void is_on_disk(session_t *self)
{
    assert_int_equal(access(self->spec->connection_file, R_OK), 0);
    assert_true(has_state(self->spec->state_folder, "\"python\""));
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
    run(is_on_disk);
}

static void only_a_launch_waits_for_its_fork(void **state)
{
    (void) state;
    session_command_destroy(&fake_outside.command);
    fake_outside.command = session_command_new(SESSION_TOUCH, 0);
    run(NULL);
    lacks("wait", deeds_take());
}

static void a_line_that_is_closed_ends_the_session(void **state)
{
    (void) state;
    session_command_destroy(&fake_outside.command);
    run(NULL);
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
    run(drain);
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
    run(start);
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
    run(is_broken);
    DID("goodbye removed");
}

static void without_a_journal_there_is_no_session(void **state)
{
    cleanup_free char *journal = mem_format("%s/journal", spec->state_folder);
    cleanup_free char *aside = mem_format("%s/aside", spec->state_folder);
    FILE *file;

    (void) state;
    assert_int_equal(rename(journal, aside), 0);
    file = fopen(journal, "we"); /* where its folder would be */
    assert_non_null(file);
    (void) fclose(file);
    run(is_broken);
}

static void without_a_connection_file_there_is_no_session(void **state)
{
    (void) state;
    free(spec->connection_file);
    spec->connection_file = mem_text("/nonexistent/kernel.json");
    run(is_broken);
    assert_string_equal(deeds_content("journal launch"), "");
}

static void a_launch_that_is_not_recorded_does_not_begin(void **state)
{
    (void) state;
    fake_outside.is_journal_lost = true;
    run(is_broken);
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
    run(is_taken_over);
    DID(ENDS);
}

static void has_kernel_session_of_its_own(session_t *self)
{
    assert_true(publisher_kernel_session(self->publisher)[0] != '\0');
}

static void a_kernel_session_that_is_not_known_is_made(void **state)
{
    (void) state;
    run(has_kernel_session_of_its_own);
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
    run(is_lost);
}

static void a_kernel_whose_process_is_gone_is_lost(void **state)
{
    (void) state;
    fake_outside.is_adoptable = false;
    run(is_lost);
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
    run(is_being_ended);
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
    run(is_killed);
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
    run(awaits_ready);
}

static void is_restarted(session_t *self)
{
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

static void a_seed_that_was_interrupted_begins_anew(void **state)
{
    (void) state;
    spec->seed.is_running = true;
    run(is_restarted);
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
    run(lacks_a_wall);
}

static void is_tombstone(session_t *self)
{
    assert_true(session_state_is(self->state, PHASE_GONE));
    assert_true(session_state_is_held(self->state));
    assert_true(timers_is_running(self->timers, TIMER_TOMBSTONE));
    assert_null(session_kernel(self));
    expire(self, TIMER_TOMBSTONE);
    has("loop; REMOVED", deeds_take());
}

static void a_tombstone_stays_one(void **state)
{
    (void) state;
    snprintf(spec->end.reason, sizeof spec->end.reason, "idle");
    spec->end.ended_us = fake_outside.now_ms * 1000;
    run(is_tombstone);
}

static void is_abandoned(session_t *self)
{
    has("kill; BROKEN", deeds_take());
    assert_string_equal(self->spec->end.reason, "lost");
    has("could not be taken over: port 5", self->spec->end.detail);
    assert_int_equal(self->spec->end.ended_us, fake_outside.now_ms * 1000);
    assert_int_equal(kernel_pid(session_kernel(self)), 4711);
    assert_true(has_state(self->spec->state_folder, "\"lost\""));
}

static void a_session_that_cannot_be_taken_over_is_lost(void **state)
{
    (void) state;
    rig.is_bound_already = true;
    free(spec->end.detail);
    spec->end.detail = NULL;
    run(is_abandoned);
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
    run(is_abandoned_without_a_kernel);
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
    run(has_its_own_end);
}

/* --- Timers --- */

static void is_idle_too_long(session_t *self)
{
    fake_session_ready(self);
    expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_IDLE_TIMEOUT);
    has("idle for 5 s", self->cause.detail);
}

static void a_session_without_requests_ends(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    run(is_idle_too_long);
}

/* A session in use has its full time again. */
static void is_in_use(session_t *self)
{
    fake_outside.now_ms += 5000;
    fake_outside.delay_ms = 0;
    expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(self->clocks.asked_us, fake_outside.now_ms * 1000);
    assert_int_equal(fake_outside.delay_ms, 5000);
}

static void is_in_use_by_requests(session_t *self)
{
    is_in_use(self); /* it starts */
    fake_session_ready(self);
    fake_session_run(self);
    is_in_use(self);
    fake_session_request(self, "next", "execute_request");
    assert_int_equal(request_queue_size(self->requests), 1);
    session_state_step(self->state, STATE_ON_END);
    assert_true(session_state_is(self->state, PHASE_IDLE));
    is_in_use(self);
}

static void a_session_with_requests_does_not_end(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    run(is_in_use_by_requests);
}

static void is_in_use_by_a_process(session_t *self)
{
    fake_session_ready(self);
    rig.keeps_awake = true;
    is_in_use(self);
}

static void a_session_with_a_process_does_not_end(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    run(is_in_use_by_a_process);
}

static void is_kept_by_its_output(session_t *self)
{
    fake_session_ready(self);
    fake_outside.now_ms += 4000;
    self->clocks.output_us = fake_outside.now_ms * 1000;
    fake_outside.now_ms += 1000;
    expire(self, TIMER_IDLE);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    assert_int_equal(fake_outside.delay_ms, 4000);
    fake_outside.now_ms += 9000;
    self->clocks.output_us = fake_outside.now_ms * 1000;
    expire(self, TIMER_IDLE);
    has("longer than its output alone may keep it", self->cause.detail);
    has("8 s", self->cause.detail);
}

static void output_alone_keeps_a_session_for_a_while(void **state)
{
    (void) state;
    spec->times.idle_timeout_ms = 5000;
    spec->times.output_timeout_ms = 8000;
    run(is_kept_by_its_output);
}

static void is_over(session_t *self)
{
    expire(self, TIMER_LIFETIME);
    assert_int_equal(self->cause.reason, END_REASON_LIFETIME);
    has("its lifetime of 9 s was over", self->cause.detail);
}

static void a_session_has_a_lifetime(void **state)
{
    (void) state;
    spec->times.lifetime_ms = 9000;
    run(is_over);
}

/* --- The kernel's process --- */

static void speaks(session_t *self)
{
    fake_session_ready(self);
    fake_session_run(self);
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}", "{}");
    rig.ops->on_input(self);
    has("shell execute_reply ok", deeds_take());
    fake_outside.end = (kernel_end_t){.is_known = true, .code = 3};
    rig.ops->on_end(self);
    has("GONE", deeds_take());
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void the_kernel_is_heard_until_its_end(void **state)
{
    (void) state;
    run(speaks);
}

static void is_silent(session_t *self)
{
    rig.ops->on_silent(self); /* the zygote's answer says why */
    assert_true(session_state_is(self->state, PHASE_STARTING));
    fake_session_ready(self);
    rig.ops->on_silent(self);
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void a_silent_pid_1_is_an_end_once_it_was_launched(void **state)
{
    (void) state;
    run(is_silent);
}

static void is_silent_after_another_gateway(session_t *self)
{
    session_state_step(self->state, STATE_ON_RELEASE);
    rig.ops->on_silent(self);
    assert_true(session_state_is(self->state, PHASE_GONE));
}

static void a_silent_pid_1_of_another_gateway_is_an_end(void **state)
{
    (void) state;
    fake_outside.is_adoptable = false;
    run(is_silent_after_another_gateway);
}

static void has_failed(session_t *self)
{
    rig.ops->on_status(self);
    assert_int_equal(self->cause.reason, END_REASON_LAUNCH);
    assert_string_equal(self->cause.detail, "no such wall");
}

static void a_launch_reports_its_fault(void **state)
{
    fault_t fault;
    int fds[2];

    (void) state;
    assert_int_equal(pipe(fds), 0);
    memset(&fault, 0, sizeof fault);
    (void) fault_set(&fault, EPERM, "no such wall");
    assert_int_equal(write(fds[1], &fault, sizeof fault), sizeof fault);
    close(fds[1]);
    fake_outside.command->launching.status_fd = fds[0];
    run(has_failed);
}

#define FRESH(name)   cmocka_unit_test_setup_teardown(name, begin, end)
#define LEFT(name)    cmocka_unit_test_setup_teardown(name, begin_left, end)
#define LEAVING(name) cmocka_unit_test_setup_teardown(name, begin_leaving, end)
#define RESTARTING(name)                                                       \
    cmocka_unit_test_setup_teardown(name, begin_restarting, end)

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
        FRESH(a_session_without_requests_ends),
        FRESH(a_session_with_requests_does_not_end),
        FRESH(a_session_with_a_process_does_not_end),
        FRESH(output_alone_keeps_a_session_for_a_while),
        FRESH(a_session_has_a_lifetime),
        FRESH(the_kernel_is_heard_until_its_end),
        FRESH(a_silent_pid_1_is_an_end_once_it_was_launched),
        LEFT(a_silent_pid_1_of_another_gateway_is_an_end),
        FRESH(a_launch_reports_its_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
