/* Output from a kernel: it is merged, bounded and published. */
#include "gateway/session/actor/kernel_events.h"

#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/kernel_output.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static const char stdout_text[] = "{\"name\":\"stdout\",\"text\":\"hello\"}";
static const char stderr_text[] = "{\"name\":\"stderr\",\"text\":\"hello\"}";
static const char interrupted[] =
    "{\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\",\"traceback\":[\"t\"]}";

static void says(const session_t *self, uint16_t type, const char *content)
{
    fake_kernel_says(type, fake_running(self), content);
}

static void pieces_of_a_stream_become_one_message(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_STREAM, stdout_text);
    kernel_events_read(self);
    DID("iopub stream");
    HAS("{\"name\":\"stdout\",\"text\":\"hellohello\"}", "stream");
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_STREAM, stderr_text);
    says(self, FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}");
    says(self, FRAME_STREAM, stdout_text);
    kernel_events_read(self);
    DID("iopub stream; iopub stream; iopub display_data; iopub stream");
    assert_int_equal(kernel_link_seq(self->link), 6);
}

/* At the end an invalid event comes, and one after it. */
static void messages_are_published_as_they_came(void **state)
{
    static const char display[] = "{\"data\":{},\"metadata\":{}}";
    session_t *self = *state;

    fake_session_run(self);
    says(self, FRAME_DISPLAY, display);
    says(self, FRAME_CLEAR, "{\"wait\":true}");
    says(self, FRAME_DISPLAY, display);
    says(self, FRAME_ERROR, interrupted);
    says(self, FRAME_DISPLAY, display);
    kernel_events_read(self);
    DID("iopub display_data; iopub clear_output; iopub display_data; "
        "iopub error; iopub display_data");
    says(self, FRAME_DISPLAY, display);
    says(self, FRAME_DISPLAY, display);
    says(self, FRAME_DISPLAY, "no JSON");
    says(self, FRAME_DISPLAY, display);
    kernel_events_read(self);
    DID("iopub display_data; iopub display_data; "
        "audit protocol protocol by kernel; kill");
    assert_int_equal(self->cause.reason, END_REASON_PROTOCOL);
}

/* The journal takes none of them. */
static void nothing_waits_after_an_invalid_event(void **state)
{
    static const char display[] = "{\"data\":{},\"metadata\":{}}";
    session_t *self = *state;

    fake_session_run(self);
    says(self, FRAME_DISPLAY, display);
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_DISPLAY, "no JSON");
    fake_outside.is_journal_lost = true;
    kernel_events_read(self);
    DID("audit protocol protocol by kernel; kill");
    assert_int_equal(kernel_output_next_seq(self), 1);
}

static void output_past_the_limit_is_dropped(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 1;
    fake_session_run(self);
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_STREAM, stdout_text); /* joins the one before */
    says(self, FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}");
    says(self, FRAME_STREAM, stderr_text);
    kernel_events_read(self);
    DID("iopub stream; iopub stream; LIMIT output; "
        "audit limit refused by kernel; command I; kernel MARK");
    HAS("its further output is left out", "stream");
    says(self, FRAME_ERROR, interrupted);
    kernel_events_read(self);
    DID("iopub error");
    HAS("\"ename\":\"OutputLimitExceeded\"", "error");
    HAS(" and was interrupted\",\"traceback\":[\"t\"]}", "error");
    assert_int_equal(kernel_link_seq(self->link), 5);
}

static void output_up_to_the_limit_is_passed_on(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 2;
    fake_session_run(self);
    says(self, FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}");
    says(self, FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}");
    kernel_events_read(self);
    DID("iopub display_data; iopub display_data");
}

static void pieces_that_join_are_one_message_of_the_limit(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 1;
    fake_session_run(self);
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_STREAM, stdout_text);
    kernel_events_read(self);
    DID("iopub stream");
    HAS("hellohello", "stream");
}

/* A thread says it, which no interrupt reaches. */
static void output_between_cells_past_the_limit_ends_the_kernel(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 1;
    says(self, FRAME_STREAM, stdout_text);
    says(self, FRAME_STREAM, stderr_text);
    says(self, FRAME_STREAM, stdout_text);
    kernel_events_read(self);
    DID("iopub stream; iopub stream; audit limit output by kernel; "
        "LIMIT output; kill; iopub stream");
}

static void another_error_is_passed_on_unchanged(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    says(self, FRAME_ERROR, interrupted);
    kernel_events_read(self);
    HAS("KeyboardInterrupt", "error");
    (void) deeds_take();
    dispatch_on_cell_limit(self);
    says(self, FRAME_ERROR,
         "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[]}");
    says(self, FRAME_ERROR, interrupted);
    kernel_events_read(self);
    DID("command I; kernel MARK; iopub error; iopub error");
    HAS("the cell ran past its time limit and was interrupted", "error");
}

static void output_that_ends_a_session(void **state)
{
    session_t *self = *state;

    self->spec->limits.session_output = 4;
    says(self, FRAME_STREAM, stdout_text);
    kernel_events_read(self);
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_int_equal(self->cause.reason, END_REASON_OUTPUT);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_of_a_stream_become_one_message),
        TEST(messages_are_published_as_they_came),
        TEST(nothing_waits_after_an_invalid_event),
        TEST(output_past_the_limit_is_dropped),
        TEST(output_up_to_the_limit_is_passed_on),
        TEST(pieces_that_join_are_one_message_of_the_limit),
        TEST(output_between_cells_past_the_limit_ends_the_kernel),
        TEST(another_error_is_passed_on_unchanged),
        TEST(output_that_ends_a_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
