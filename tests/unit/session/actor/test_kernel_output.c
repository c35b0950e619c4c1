/* Output of a kernel, frame by frame: text that waits for more, publishing and
 * counting, dropped frames, and records that the journal refuses. The effects
 * of other frames are in tests/unit/session/actor/test_kernel_events.c. */
#include "gateway/session/actor/kernel_output.h"

#include "gateway/session/core/escalation.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/output_batch.h"
#include "gateway/session/kernel/stream_merge.h"
#include "gateway/session/limits/output_limit.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static const char out_text[] = "{\"name\":\"stdout\",\"text\":\"ab\"}";
static const char err_text[] = "{\"name\":\"stderr\",\"text\":\"cd\"}";
static const char interrupted[] =
    "{\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\",\"traceback\":[\"t\"]}";

static frame_t frame_of(const session_t *self, uint16_t type, uint64_t seq,
                        const char *content)
{
    return (frame_t){.type = type,
                     .request = fake_running(self),
                     .seq = seq,
                     .content = text_bytes(content)};
}

static kernel_permissions_content_t read_content(const char *text)
{
    kernel_permissions_content_t content = {0};
    fault_t fault;

    assert_int_equal(jspan_check(text, strlen(text), &content.object, &fault),
                     0);
    content.stream.name = jspan_member(content.object, "name");
    content.stream.text = jspan_member(content.object, "text");
    return content;
}

static int print(session_t *self, uint64_t seq, const char *text)
{
    frame_t frame = frame_of(self, FRAME_STREAM, seq, text);
    kernel_permissions_content_t content = read_content(text);
    fault_t fault;

    return kernel_output_stream(self, &frame, &content.stream, &fault);
}

static int drop(session_t *self, uint64_t seq, const char *text)
{
    frame_t frame = frame_of(self, FRAME_STREAM, seq, text);
    fault_t fault;

    return kernel_output_drop(self, &frame, &fault);
}

static int flush(session_t *self)
{
    fault_t fault;

    return kernel_output_flush(self, &fault);
}

/* Returns true if a frame of that type is past the limit of its cell. */
static bool is_past(session_t *self, uint16_t type, const char *text)
{
    frame_t frame = frame_of(self, type, 9, text);
    kernel_permissions_content_t content = read_content(text);

    return kernel_output_is_past_limit(self, &frame,
                                       output_limit_weight(&frame), &content);
}

static int publish(session_t *self, const frame_t *frame)
{
    kernel_permissions_content_t content =
        read_content((const char *) frame->content.bytes);
    fault_t fault;

    return kernel_output_publish(self, frame, &content, &fault);
}

/* --- Text that waits --- */

static void text_waits_for_more(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    assert_int_equal(print(self, 2, out_text), 0);
    DID("");
    assert_int_equal(kernel_link_seq(self->link), 0);
    assert_int_equal(flush(self), 0);
    DID("iopub stream");
    HAS("\"text\":\"abab\"}", "stream");
    assert_int_equal(kernel_link_seq(self->link), 2);
    assert_int_equal(output_limit_cell_bytes(self->limits.output),
                     strlen("{\"name\":\"stdout\",\"text\":\"abab\"}"));
    assert_int_equal(flush(self), 0);
    DID("");
}

static void text_of_another_stream_waits_anew(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    assert_int_equal(print(self, 2, err_text), 0);
    DID("iopub stream");
    HAS("\"text\":\"ab\"}", "stream");
    assert_int_equal(kernel_link_seq(self->link), 1);
    assert_int_equal(flush(self), 0);
    HAS("\"text\":\"cd\"}", "stream");
}

static void text_that_is_not_journaled_waits_on(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    fake_outside.is_journal_lost = true;
    assert_int_equal(print(self, 2, err_text), -ENOSPC);
    assert_int_equal(flush(self), -ENOSPC);
    DID("");
    assert_int_equal(kernel_link_seq(self->link), 0);
    assert_true(stream_merge_is_open(self->outputs.merge));
    assert_int_equal(stream_merge_seq(self->outputs.merge), 1);
}

static void the_next_event_has_the_next_number(void **state)
{
    session_t *self = *state;

    assert_int_equal(kernel_output_next_seq(self), 1);
    kernel_output_count(self, 4, 1, false);
    assert_int_equal(kernel_output_next_seq(self), 5);
    assert_int_equal(print(self, 5, out_text), 0);
    assert_int_equal(kernel_output_next_seq(self), 6);
    fake_session_run(self);
    assert_int_equal(drop(self, 6, out_text), 0);
    assert_int_equal(kernel_output_next_seq(self), 7);
    assert_int_equal(flush(self), 0);
    assert_int_equal(kernel_output_next_seq(self), 7);
}

/* --- What counts --- */

static void output_is_noted(void **state)
{
    session_t *self = *state;

    kernel_output_count(self, 3, 100, false);
    assert_int_equal(kernel_link_seq(self->link), 3);
    assert_int_equal(self->clocks.output_us, 0);
    assert_int_equal(output_limit_cell_bytes(self->limits.output), 0);
    kernel_output_count(self, 4, 100, true);
    assert_int_equal(kernel_link_seq(self->link), 4);
    assert_int_equal(self->clocks.output_us, fake_outside.now_ms * 1000);
    assert_int_equal(output_limit_cell_bytes(self->limits.output), 100);
}

static void output_of_a_session_ends_it_once(void **state)
{
    session_t *self = *state;

    self->spec->limits.session_output = 100;
    kernel_output_count(self, 1, 100, true);
    DID("");
    kernel_output_count(self, 2, 1, true);
    assert_int_equal(self->cause.reason, END_REASON_OUTPUT);
    assert_non_null(strstr(self->cause.detail, "the session gave 101 bytes"));
    DID("audit limit output by kernel; LIMIT output; kill");
    kernel_output_count(self, 3, 1, true);
    DID("");
}

static void output_between_cells_has_the_limit_of_a_cell(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_output = 10;
    fake_session_run(self);
    kernel_output_count(self, 0, 11, true);
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    fake_session_reply(self);
    kernel_output_count(self, 2, 11, true);
    assert_int_equal(self->cause.reason, END_REASON_OUTPUT);
}

/* --- The limit of a cell --- */

static void a_cell_has_a_limit(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_output = 58;
    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    assert_false(is_past(self, FRAME_STREAM, out_text));
    assert_int_equal(print(self, 2, out_text), 0);
    /* As many bytes wait as come: 29. */
    assert_false(is_past(self, FRAME_STREAM, out_text));
    self->spec->limits.cell_output = 57;
    assert_true(is_past(self, FRAME_STREAM, out_text));
    session_state_step(self->state, STATE_ON_STOP);
    self->cause.reason = END_REASON_LOST;
    assert_false(is_past(self, FRAME_STREAM, out_text));
}

static void output_without_a_cell_is_not_past_its_limit(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_output = 1;
    assert_false(is_past(self, FRAME_STREAM, out_text));
    fake_session_run(self);
    assert_true(is_past(self, FRAME_STREAM, out_text));
}

static void text_that_joins_is_no_message_more(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 1;
    fake_session_run(self);
    assert_false(is_past(self, FRAME_STREAM, out_text));
    assert_false(is_past(self, FRAME_DISPLAY, "{}"));
    assert_int_equal(print(self, 1, out_text), 0);
    assert_false(is_past(self, FRAME_STREAM, out_text));
    assert_true(is_past(self, FRAME_STREAM, err_text));
    assert_true(is_past(self, FRAME_DISPLAY, out_text));
    self->spec->limits.cell_messages = 2;
    assert_false(is_past(self, FRAME_STREAM, err_text));
    assert_false(is_past(self, FRAME_DISPLAY, out_text));
}

static void what_is_dropped_interrupts_the_cell_once(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 1;
    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    assert_true(is_past(self, FRAME_STREAM, err_text));
    assert_int_equal(drop(self, 2, err_text), 0);
    DID("iopub stream; iopub stream; LIMIT output; "
        "audit limit refused by kernel; command I; kernel MARK");
    HAS("at most 1 are permitted", "stream");
    HAS(": it is interrupted, and its further output is left out", "stream");
    HAS("\"max\":1", "limit");
    assert_int_equal(drop(self, 3, err_text), 0);
    DID("");
    assert_int_equal(kernel_link_seq(self->link), 1);
}

static void what_was_dropped_is_journaled_as_a_count(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(drop(self, 1, out_text), 0);
    assert_int_equal(drop(self, 2, out_text), 0);
    assert_string_equal(deeds_content("journal dropped"), "");
    assert_int_equal(flush(self), 0);
    assert_string_equal(deeds_content("journal dropped"),
                        "{\"bytes\":58,\"messages\":2}");
    assert_int_equal(kernel_link_seq(self->link), 2);
    assert_int_equal(drop(self, 3, out_text), 0);
    assert_int_equal(print(self, 4, out_text), 0);
    assert_string_equal(deeds_content("journal dropped"),
                        "{\"bytes\":87,\"messages\":3}");
    assert_int_equal(kernel_link_seq(self->link), 3);
    assert_true(stream_merge_is_open(self->outputs.merge));
}

static void what_is_not_journaled_is_not_dropped(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    fake_outside.is_journal_lost = true;
    assert_int_equal(drop(self, 2, out_text), -ENOSPC);
    assert_int_equal(output_limit_dropped_seq(self->limits.output), 0);
    fake_outside.is_journal_lost = false;
    assert_int_equal(drop(self, 2, out_text), 0);
    fake_outside.is_journal_lost = true;
    assert_int_equal(flush(self), -ENOSPC);
    assert_int_equal(print(self, 3, out_text), -ENOSPC);
    assert_int_equal(output_limit_dropped_seq(self->limits.output), 2);
    assert_int_equal(kernel_link_seq(self->link), 1);
    assert_false(stream_merge_is_open(self->outputs.merge));
}

/* --- Messages that wait --- */

static int show(session_t *self, uint64_t seq, const char *content)
{
    frame_t frame = frame_of(self, FRAME_DISPLAY, seq, content);
    fault_t fault;

    assert_true(output_batch_permits(&frame));
    return kernel_output_add(self, &frame, &fault);
}

static void displays_wait_for_more(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(show(self, 1, "{\"a\":1}"), 0);
    assert_int_equal(show(self, 2, "{\"b\":12}"), 0);
    DID("");
    assert_int_equal(kernel_link_seq(self->link), 0);
    assert_int_equal(kernel_output_next_seq(self), 3);
    assert_int_equal(flush(self), 0);
    DID("iopub display_data; iopub display_data");
    HAS("{\"b\":12}", "display_data");
    assert_int_equal(kernel_link_seq(self->link), 2);
    assert_int_equal(journal_last_kernel_seq(self->journal), 2);
    assert_int_equal(output_limit_cell_bytes(self->limits.output), 7 + 8);
    assert_int_equal(self->clocks.output_us, fake_outside.now_ms * 1000);
    assert_int_equal(flush(self), 0);
    DID("");
}

static void text_and_displays_keep_their_order(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(show(self, 1, "{}"), 0);
    assert_int_equal(print(self, 2, out_text), 0);
    DID("");
    assert_int_equal(kernel_output_next_seq(self), 3);
    assert_int_equal(show(self, 3, "{}"), 0);
    DID("iopub display_data; iopub stream");
    assert_int_equal(show(self, 4, "{}"), 0);
    assert_int_equal(drop(self, 5, err_text), 0);
    DID("iopub display_data; iopub display_data; iopub stream; LIMIT output; "
        "audit limit refused by kernel; command I; kernel MARK");
    assert_int_equal(show(self, 6, "{}"), 0);
    assert_int_equal(kernel_link_seq(self->link), 5);
    assert_int_equal(output_batch_count(self->outputs.batch), 1);
}

static void what_does_not_fit_comes_after_the_others(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    for (uint64_t seq = 1; seq <= OUTPUT_BATCH_MAX; seq++)
        assert_int_equal(show(self, seq, "{}"), 0);
    DID("");
    assert_int_equal(show(self, OUTPUT_BATCH_MAX + 1, "{}"), 0);
    assert_int_equal(kernel_link_seq(self->link), OUTPUT_BATCH_MAX);
    assert_int_equal(output_batch_count(self->outputs.batch), 1);
}

static void bytes_that_wait_count_for_the_limit(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_output = 13;
    fake_session_run(self);
    assert_int_equal(show(self, 1, "{\"a\":1}"), 0);
    assert_false(is_past(self, FRAME_DISPLAY, "{\"\":1}"));
    assert_true(is_past(self, FRAME_DISPLAY, "{\"a\":1}"));
}

static void messages_that_wait_count_for_the_limit(void **state)
{
    session_t *self = *state;

    self->spec->limits.cell_messages = 2;
    fake_session_run(self);
    assert_int_equal(show(self, 1, "{}"), 0);
    assert_false(is_past(self, FRAME_DISPLAY, "{}"));
    assert_int_equal(show(self, 2, "{}"), 0);
    assert_true(is_past(self, FRAME_DISPLAY, "{}"));
}

static void what_the_journal_has_not_waits_on(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(show(self, 1, "{}"), 0);
    assert_int_equal(show(self, 2, "{\"b\":1}"), 0);
    assert_int_equal(print(self, 3, out_text), 0);
    fake_outside.records_max = 1;
    assert_int_equal(flush(self), -ENOSPC);
    DID("iopub display_data");
    assert_int_equal(kernel_link_seq(self->link), 1);
    assert_int_equal(kernel_output_next_seq(self), 4);
    fake_outside.records_max = 0;
    assert_int_equal(flush(self), 0);
    DID("iopub display_data; iopub stream");
    HAS("{\"b\":1}", "display_data");
    assert_int_equal(kernel_link_seq(self->link), 3);
}

static void what_is_to_come_again_is_forgotten(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    assert_int_equal(show(self, 1, "{}"), 0);
    assert_int_equal(print(self, 2, out_text), 0);
    kernel_output_forget(self);
    assert_int_equal(kernel_output_next_seq(self), 1);
    assert_int_equal(flush(self), 0);
    DID("");
}

/* --- Messages --- */

static void a_message_is_published_as_it_is(void **state)
{
    static const char data[] = "{\"data\":{\"text/plain\":\"1\"}}";
    session_t *self = *state;
    frame_t frame;

    fake_session_run(self);
    frame = frame_of(self, FRAME_DISPLAY, 1, data);
    assert_int_equal(publish(self, &frame), 0);
    DID("iopub display_data");
    assert_string_equal(deeds_content("display_data"), data);
    fake_outside.is_journal_lost = true;
    assert_int_equal(publish(self, &frame), -ENOSPC);
    DID("");
}

static void an_interrupt_by_a_limit_is_its_error(void **state)
{
    session_t *self = *state;
    frame_t frame;

    fake_session_run(self);
    frame = frame_of(self, FRAME_ERROR, 1, interrupted);
    assert_int_equal(publish(self, &frame), 0);
    assert_string_equal(deeds_content("error"), interrupted);
    escalation_begin_for_limit(self, CELL_LIMIT_TIME);
    assert_int_equal(publish(self, &frame), 0);
    assert_string_equal(deeds_content("error"),
                        "{\"ename\":\"TimeLimitExceeded\",\"evalue\":\"the "
                        "cell ran past its time "
                        "limit and was interrupted\",\"traceback\":[\"t\"]}");
}

static void the_error_of_the_output_limit_names_it(void **state)
{
    session_t *self = *state;
    frame_t frame;

    self->spec->limits.cell_messages = 1;
    fake_session_run(self);
    assert_int_equal(print(self, 1, out_text), 0);
    assert_true(is_past(self, FRAME_STREAM, err_text));
    assert_int_equal(drop(self, 2, err_text), 0);
    frame = frame_of(self, FRAME_ERROR, 3, interrupted);
    assert_int_equal(publish(self, &frame), 0);
    HAS("\"ename\":\"OutputLimitExceeded\",\"evalue\":\"the cell gave ",
        "error");
    HAS("and was interrupted\"", "error");
}

static void other_errors_are_passed_on(void **state)
{
    static const char other[] =
        "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[]}";
    session_t *self = *state;
    frame_t frame;

    fake_session_run(self);
    escalation_begin_for_limit(self, CELL_LIMIT_TIME);
    frame = frame_of(self, FRAME_ERROR, 1, other);
    assert_int_equal(publish(self, &frame), 0);
    assert_string_equal(deeds_content("error"), other);
    frame = frame_of(self, FRAME_ERROR, 2, interrupted);
    frame.request++;
    assert_int_equal(publish(self, &frame), 0);
    assert_string_equal(deeds_content("error"), interrupted);
    frame = frame_of(self, FRAME_DISPLAY, 3, interrupted);
    assert_int_equal(publish(self, &frame), 0);
    assert_string_equal(deeds_content("display_data"), interrupted);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_waits_for_more),
        TEST(text_of_another_stream_waits_anew),
        TEST(text_that_is_not_journaled_waits_on),
        TEST(the_next_event_has_the_next_number),
        TEST(output_is_noted),
        TEST(output_of_a_session_ends_it_once),
        TEST(output_between_cells_has_the_limit_of_a_cell),
        TEST(a_cell_has_a_limit),
        TEST(output_without_a_cell_is_not_past_its_limit),
        TEST(text_that_joins_is_no_message_more),
        TEST(what_is_dropped_interrupts_the_cell_once),
        TEST(what_was_dropped_is_journaled_as_a_count),
        TEST(what_is_not_journaled_is_not_dropped),
        TEST(displays_wait_for_more),
        TEST(text_and_displays_keep_their_order),
        TEST(what_does_not_fit_comes_after_the_others),
        TEST(bytes_that_wait_count_for_the_limit),
        TEST(messages_that_wait_count_for_the_limit),
        TEST(what_the_journal_has_not_waits_on),
        TEST(what_is_to_come_again_is_forgotten),
        TEST(a_message_is_published_as_it_is),
        TEST(an_interrupt_by_a_limit_is_its_error),
        TEST(the_error_of_the_output_limit_names_it),
        TEST(other_errors_are_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
