/* Messages from clients: a session queues them, answers at once, defers them,
 * or refuses them with a reason. */
#include "gateway/session/actor/receive.h"

#include "gateway/session/actor/control.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/lifecycle/holder.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static bool holder_ended;
static bool has_command;

bool __wrap_holder_has_ended(const holder_t *self);
bool __wrap_notify_has_command(notify_t *self);

bool __wrap_holder_has_ended(const holder_t *self)
{
    (void) self;
    return holder_ended;
}

bool __wrap_notify_has_command(notify_t *self)
{
    (void) self;
    return has_command;
}

static void request(session_t *self, const char *id, const char *type,
                    const char *content)
{
    fake_client_sends(CHANNEL_SHELL, id, type, content);
    receive_on_shell(NULL, NULL, self);
}

static void send_control(session_t *self, const char *id, const char *type,
                         const char *content)
{
    fake_client_sends(CHANNEL_CONTROL, id, type, content);
    receive_on_control(NULL, NULL, self);
}

/* A cell that runs. */
static void run(session_t *self)
{
    request(self, "cell", "execute_request", "{\"code\":\"input()\"}");
    (void) deeds_take();
}

static void reply(session_t *self)
{
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}", "");
    kernel_events_read(self);
}

static void a_request_with_a_flaw_is_refused(void **state)
{
    session_t *self = *state;

    request(self, "m1", "execute_request", "{\"code\":7}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
    HAS("BadRequest", "execute_reply");
}

static void more_requests_than_may_wait_are_refused(void **state)
{
    session_t *self = *state;

    self->spec->limits.requests = 1;
    run(self);
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID("");
    request(self, "m2", "execute_request", "{\"code\":\"2\"}");
    DID("LIMIT requests; audit limit refused by gateway; iopub busy; "
        "iopub error; shell execute_reply error; iopub idle");
    HAS("1 requests wait already", "execute_reply");
    HAS("limits/requests of profile python", "execute_reply");
    assert_int_equal(request_queue_size(self->requests), 1);
    /* The audit log has the first of a row. */
    request(self, "m3", "execute_request", "{\"code\":\"3\"}");
    DID("LIMIT requests; iopub busy; iopub error; "
        "shell execute_reply error; iopub idle");
}

static void more_bytes_than_may_wait_are_refused(void **state)
{
    session_t *self = *state;

    self->spec->limits.requests_bytes = 1;
    run(self);
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID(""); /* one may have any size */
    request(self, "m2", "execute_request", "{\"code\":\"2\"}");
    DID("LIMIT requests_bytes; audit limit refused by gateway; iopub busy; "
        "iopub error; shell execute_reply error; iopub idle");
    HAS("bytes of requests wait already", "execute_reply");
    assert_int_equal(request_queue_size(self->requests), 1);
}

static void a_request_without_memory_is_refused(void **state)
{
    session_t *self = *state;
    cleanup_memory_budget memory_budget_t *budget =
        memory_budget_new(300 << 10);
    cleanup_free char *content = mem_format("{\"code\":\"%0500000d\"}", 0);

    held_memory_destroy(&self->limits.memory);
    self->limits.memory = held_memory_new(budget, 1000);
    request(self, "m1", "execute_request", content);
    DID("LIMIT message_memory; audit limit refused by gateway; iopub busy; "
        "iopub error; shell execute_reply error; iopub idle");
    HAS("gateway/message_memory", "execute_reply");
    assert_int_equal(request_queue_size(self->requests), 0);
    assert_int_equal(journal_last_seq(self->journal), 2); /* error and reply */
    held_memory_destroy(&self->limits.memory);
    self->limits.memory = held_memory_new(NULL, 1000);
}

static void a_used_msg_id_is_answered_from_the_journal(void **state)
{
    session_t *self = *state;

    run(self);
    fake_kernel_says(FRAME_STREAM, fake_running(self),
                     "{\"name\":\"stdout\",\"text\":\"hi\"}");
    reply(self);
    (void) deeds_take();
    run(self);
    request(self, "cell", "execute_request", "{\"code\":\"input()\"}");
    DID("iopub busy; iopub execute_input; iopub stream; "
        "shell execute_reply ok; iopub idle");
    request(self, "cell", "execute_request", "{\"code\":\"other\"}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
    HAS("the same msg_id", "execute_reply");
}

static void a_repeated_msg_id_is_queued_once(void **state)
{
    session_t *self = *state;

    run(self);
    request(self, "cell", "execute_request", "{\"code\":\"input()\"}");
    DID("");
    assert_int_equal(request_queue_size(self->requests), 0);
    request(self, "cell", "execute_request", "{\"code\":\"other\"}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
}

/* Its reply could not be written, or was given up. */
static void a_used_msg_id_without_a_reply_is_not_run_again(void **state)
{
    session_t *self = *state;

    run(self);
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}", "");
    request_queue_note_id(self->requests, "lost");
    reply(self);
    (void) deeds_take();
    request(self, "lost", "execute_request", "{\"code\":\"1\"}");
    DID("iopub busy; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
}

static void a_note_comes_before_its_cell(void **state)
{
    session_t *self = *state;

    fake_client_sends_with(CHANNEL_SHELL, "m1", "execute_request",
                           "{\"code\":\"1\"}",
                           "{\"hearth\":{\"note\":\"why\"}}");
    receive_on_shell(NULL, NULL, self);
    assert_non_null(strstr(deeds_take(), "kernel EXECUTE"));
    assert_int_equal(journal_last_seq(self->journal), 3);
    fake_client_sends_with(CHANNEL_SHELL, "m2", "execute_request",
                           "{\"code\":\"1\"}", "{\"hearth\":{\"note\":7}}");
    (void) deeds_take();
    receive_on_shell(NULL, NULL, self);
    HAS("hearth.note", "execute_reply");
}

/* Such as the note of a fetch, which was answered after it. */
static void a_command_comes_before_later_requests(void **state)
{
    session_t *self = *state;

    has_command = true;
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    fake_frontend_sends(CHANNEL_SHELL, "m2", "execute_request",
                        "{\"code\":\"2\"}");
    receive_on_frontend(NULL, NULL, self);
    receive_take_more(self);
    receive_after_command(self); /* another one is there */
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 0);
    has_command = false;
    fake_outside.command = session_command_new(SESSION_SHOW, 5);
    control_on_pipe(NULL, NULL, self);
    assert_true(request_queue_runs_cell(self->requests));
    has_command = true;
    receive_on_frontend(NULL, NULL, self);
    assert_int_equal(request_queue_size(self->requests), 0);
    receive_take_all(self); /* a cell has failed, and aborts it */
    assert_int_equal(request_queue_size(self->requests), 1);
    send_control(self, "m3", "kernel_info_request", "{}"); /* does not wait */
    HAS("\"status\":\"ok\"", "kernel_info_reply");
    send_control(self, "m4", "execute_request", "{\"code\":\"1\"}");
    assert_int_equal(request_queue_size(self->requests), 1);
    has_command = false;
}

static void others_have_their_turn_after_64_requests(void **state)
{
    session_t *self = *state;

    run(self);
    for (int i = 0; i < 65; i++) {
        cleanup_free char *id = mem_format("m%d", i);

        fake_client_sends(CHANNEL_SHELL, id, "complete_request",
                          "{\"code\":\"\",\"cursor_pos\":0}");
    }
    self->spec->limits.requests = 100;
    receive_on_shell(NULL, NULL, self);
    assert_int_equal(request_queue_size(self->requests), 64);
    receive_on_shell(NULL, NULL, self);
    assert_int_equal(request_queue_size(self->requests), 65);
}

static void a_frontends_request_may_be_the_one_that_waits(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = true;
    has_command = true;
    fake_frontend_sends(CHANNEL_SHELL, "m1", "execute_request",
                        "{\"code\":\"1\"}");
    receive_take_more(self);
    has_command = false;
    assert_int_equal(request_queue_size(self->requests), 0);
    receive_after_command(self);
    assert_true(request_queue_runs_cell(self->requests));
}

static void a_session_that_is_gone_says_why(void **state)
{
    session_t *self = *state;

    snprintf(self->spec->end.reason, sizeof self->spec->end.reason, "deleted");
    self->spec->end.detail = mem_text("ended on request");
    session_state_step(self->state, STATE_ON_EXIT);
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
    HAS("SessionGone", "execute_reply");
    HAS("ended on request", "execute_reply");
    request(self, "m2", "execute_request", "{\"code\":\"1\",\"silent\":true}");
    DID("iopub busy; shell execute_reply error; iopub idle");
    send_control(self, "m3", "kernel_info_request", "{}");
    DID("iopub busy; control kernel_info_reply error; iopub idle");
}

/* --- Answers that the gateway gives --- */

static void kernel_info_waits_for_its_turn(void **state)
{
    session_t *self = *state;

    request(self, "m1", "kernel_info_request", "{}");
    DID("iopub busy; shell kernel_info_reply ok; iopub idle");
    run(self);
    request(self, "m2", "kernel_info_request", "{}");
    DID("");
    send_control(self, "m3", "kernel_info_request", "{}");
    DID("iopub busy; control kernel_info_reply ok; iopub idle");
    reply(self);
    DID("shell execute_reply ok; iopub idle; audit cell_end ok by client=me; "
        "iopub busy; shell kernel_info_reply ok; iopub idle");
}

static void kernel_info_is_answered_at_once_when_the_queue_is_full(void **state)
{
    session_t *self = *state;

    self->spec->limits.requests = 0;
    run(self);
    self->spec->limits.requests = 1;
    run(self);
    request(self, "m1", "execute_request", "{\"code\":\"1\"}");
    request(self, "m2", "kernel_info_request", "{}");
    assert_non_null(strstr(deeds_take(), "shell kernel_info_reply ok"));
    buffer_clear(&self->info);
    request(self, "m3", "kernel_info_request", "{}");
    assert_non_null(strstr(deeds_take(), "shell kernel_info_reply error"));
}

static void a_held_session_ends_before_the_next_request(void **state)
{
    session_t *self = *state;

    self->spec->holder.pid = 7;
    holder_ended = true;
    request(self, "m1", "execute_request", "{\"code\":\"x\"}");
    holder_ended = false;
    /* It is not sent to the kernel. */
    DID("kill");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_string_equal(self->cause.detail, "its process, pid 7, has ended");
    termination_finish(self);
    HAS("its process, pid 7, has ended", "execute_reply");
    holder_ended = true;
    request(self, "m2", "kernel_info_request", "{}");
    holder_ended = false;
    HAS("its process, pid 7, has ended", "kernel_info_reply");
}

/* A client takes any reply for the sign that the next kernel is there. */
static void kernel_info_is_for_the_next_kernel(void **state)
{
    session_t *self = *state;

    self->spec->is_external = true;
    holder_ended = true;
    request(self, "m1", "kernel_info_request", "{}");
    send_control(self, "m2", "kernel_info_request", "{}");
    DID("kill");
    termination_finish(self);
    (void) deeds_take();
    request(self, "m3", "kernel_info_request", "{}");
    DID("");
    request(self, "m4", "execute_request", "{\"code\":\"1\"}");
    holder_ended = false;
    HAS("SessionGone", "execute_reply");
}

static void the_ports_are_said(void **state)
{
    session_t *self = *state;

    for (int i = 0; i < CHANNEL_COUNT; i++)
        self->spec->connection.ports[i] = 5000 + i;
    request(self, "m1", "connect_request", "{}");
    DID("iopub busy; shell connect_reply ok; iopub idle");
    {
        cleanup_free char *shell = mem_format(
            "\"shell_port\":%d", self->spec->connection.ports[CHANNEL_SHELL]);
        HAS(shell, "connect_reply");
    }
}

static void debug_requests_are_refused(void **state)
{
    session_t *self = *state;

    send_control(self, "m1", "debug_request", "{}");
    DID("iopub busy; control debug_reply; iopub idle");
    assert_string_equal(deeds_content("debug_reply"), "{}");
}

static void an_unknown_request_has_no_reply(void **state)
{
    session_t *self = *state;

    request(self, "m1", "dance_request", "{}");
    DID("iopub busy; iopub idle");
}

static void an_interrupt_reaches_a_running_cell(void **state)
{
    session_t *self = *state;

    send_control(self, "m1", "interrupt_request", "{}");
    DID("iopub busy; control interrupt_reply ok; iopub idle");
    run(self);
    send_control(self, "m2", "interrupt_request", "{}");
    DID("iopub busy; command I; kernel MARK; control interrupt_reply ok; "
        "iopub idle");
}

static void an_end_is_said_to_all(void **state)
{
    session_t *self = *state;

    send_control(self, "m1", "shutdown_request", "{\"restart\":true}");
    DID("iopub busy; control shutdown_reply ok; iopub shutdown_reply; "
        "kernel SHUTDOWN; iopub idle");
    HAS("\"restart\":true", "shutdown_reply");
    HAS("{\"restart\":true}", "SHUTDOWN");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_with_a_flaw_is_refused),
        TEST(more_requests_than_may_wait_are_refused),
        TEST(more_bytes_than_may_wait_are_refused),
        TEST(a_request_without_memory_is_refused),
        TEST(a_used_msg_id_is_answered_from_the_journal),
        TEST(a_repeated_msg_id_is_queued_once),
        TEST(a_used_msg_id_without_a_reply_is_not_run_again),
        TEST(a_note_comes_before_its_cell),
        TEST(a_command_comes_before_later_requests),
        TEST(others_have_their_turn_after_64_requests),
        TEST(a_frontends_request_may_be_the_one_that_waits),
        TEST(a_session_that_is_gone_says_why),
        TEST(kernel_info_waits_for_its_turn),
        TEST(kernel_info_is_answered_at_once_when_the_queue_is_full),
        TEST(a_held_session_ends_before_the_next_request),
        TEST(kernel_info_is_for_the_next_kernel),
        TEST(the_ports_are_said),
        TEST(debug_requests_are_refused),
        TEST(an_unknown_request_has_no_reply),
        TEST(an_interrupt_reaches_a_running_cell),
        TEST(an_end_is_said_to_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
