/* Requests that the gateway answers by itself: their replies, and whether they
 * wait for their turn or for the kernel. */
#include "gateway/session/core/local_replies.h"

#include "gateway/session/actor/control.h"
#include "gateway/session/actor/receive.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define SAID(text, of) assert_string_equal(deeds_content(of), text)

static void ask(session_t *self, const char *type, const char *content)
{
    fake_client_sends(CHANNEL_CONTROL, "m1", type, content);
    receive_on_control(NULL, NULL, self);
}

static void says_where_its_ports_are(void **state)
{
    session_t *self = *state;

    for (int i = 0; i < 5; i++)
        self->spec->connection.ports[i] = 0;
    self->spec->connection.ports[CHANNEL_SHELL] = 1;
    self->spec->connection.ports[CHANNEL_IOPUB] = 2;
    self->spec->connection.ports[CHANNEL_STDIN] = 3;
    self->spec->connection.ports[CHANNEL_HB] = 4;
    self->spec->connection.ports[CHANNEL_CONTROL] = 5;
    ask(self, "connect_request", "{}");
    DID("iopub busy; control connect_reply ok; iopub idle");
    SAID("{\"status\":\"ok\",\"shell_port\":1,\"iopub_port\":2,"
         "\"stdin_port\":3,\"hb_port\":4,\"control_port\":5}",
         "connect_reply");
}

/* Clients that see {} know that there is no debugger. */
static void has_no_debugger(void **state)
{
    ask(*state, "debug_request", "{\"command\":\"initialize\"}");
    DID("iopub busy; control debug_reply; iopub idle");
    SAID("{}", "debug_reply");
}

static void an_unknown_request_gets_the_frame_alone(void **state)
{
    ask(*state, "unheard_request", "{}");
    DID("iopub busy; iopub idle");
}

static void a_shutdown_is_answered_and_published(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    ask(self, "shutdown_request", "{\"restart\":true}");
    SAID("{\"status\":\"ok\",\"restart\":true}", "shutdown_reply");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
    DID("iopub busy; control shutdown_reply ok; iopub shutdown_reply; "
        "iopub error; shell execute_reply error; iopub idle; kill; iopub idle");
}

static void tell(session_t *self, const char *why)
{
    session_command_t *command =
        session_command_new_text(SESSION_NO_START, 0, why);

    control_take(self, &command);
}

/* The kernel goes on with what it does. */
static void a_restart_that_would_only_end_the_kernel_is_refused(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    tell(self, "packages are made");
    tell(self, "there are none");
    ask(self, "shutdown_request", "{\"restart\":true}");
    DID("iopub busy; control shutdown_reply error; iopub idle");
    SAID("{\"status\":\"error\",\"ename\":\"SessionNotStarted\","
         "\"evalue\":\"there are none\","
         "\"traceback\":[\"SessionNotStarted: there are none\"]}",
         "shutdown_reply");
    assert_true(session_state_is(self->state, PHASE_BUSY));
    tell(self, "");
    ask(self, "shutdown_request", "{\"restart\":true}");
    assert_int_equal(session_state_sequel(self->state), SEQUEL_RESTART);
}

/* It needs no other kernel, or its client starts one. */
static void an_end_is_not_refused(void **state)
{
    session_t *self = *state;

    tell(self, "packages are made");
    self->spec->is_external = true;
    ask(self, "shutdown_request", "{\"restart\":true}");
    SAID("{\"status\":\"ok\",\"restart\":true}", "shutdown_reply");
    self->spec->is_external = false;
    ask(self, "shutdown_request", "{\"restart\":false}");
    SAID("{\"status\":\"ok\",\"restart\":false}", "shutdown_reply");
}

static void an_interrupt_reaches_a_running_cell(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    ask(self, "interrupt_request", "{}");
    SAID("{\"status\":\"ok\"}", "interrupt_reply");
    DID("iopub busy; command I; kernel MARK; control interrupt_reply ok; "
        "iopub idle");
}

/* Returns true if such a request on that channel waits in the queue. */
static bool waits(const session_t *self, const char *type, channel_t channel)
{
    const bytes_t none = {"{}", 2};
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"msg_type\":\"%s\"}", type);
    message_t *message = message_new(text_bytes(header), none, none, none);
    request_t request = {.message = message, .channel = channel};
    bool is_waiting = local_replies_wait(self, &request);

    message_destroy(&message);
    return is_waiting;
}

static void on_shell_the_order_is_kept(void **state)
{
    session_t *self = *state;

    assert_true(waits(self, "kernel_info_request", CHANNEL_SHELL));
    assert_true(waits(self, "connect_request", CHANNEL_SHELL));
    assert_false(waits(self, "interrupt_request", CHANNEL_SHELL));
    assert_false(waits(self, "shutdown_request", CHANNEL_SHELL));
    assert_false(waits(self, "debug_request", CHANNEL_SHELL));
    assert_false(waits(self, "unheard_request", CHANNEL_SHELL));
}

static void on_control_only_the_kernels_description_waits(void **state)
{
    session_t *self = *state;

    buffer_clear(&self->info);
    assert_true(waits(self, "kernel_info_request", CHANNEL_CONTROL));
    assert_false(waits(self, "connect_request", CHANNEL_CONTROL));
    buffer_text(&self->info, "{}");
    assert_false(waits(self, "kernel_info_request", CHANNEL_CONTROL));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_where_its_ports_are),
        TEST(has_no_debugger),
        TEST(an_unknown_request_gets_the_frame_alone),
        TEST(a_shutdown_is_answered_and_published),
        TEST(a_restart_that_would_only_end_the_kernel_is_refused),
        TEST(an_end_is_not_refused),
        TEST(an_interrupt_reaches_a_running_cell),
        TEST(on_shell_the_order_is_kept),
        TEST(on_control_only_the_kernels_description_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
