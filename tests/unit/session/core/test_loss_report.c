/* How a session reports a loss: with which cells, in which records, and what a
 * next gateway knows of it. */
#include "gateway/session/core/loss_report.h"

#include "base/fd.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/request_queue.h"
#include "notebooks/journal/head.h"
#include "tests/lib/loss_steps.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>
#include <unistd.h>

static void the_next_cell_has_the_loss(void **state)
{
    session_t *self = *state;
    uint64_t seq;

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    seq = loss_steps_find(self, "execute_input",
                          "{\"hearth\":{\"lost\":{\"cause\":\"a "
                          "limit\"");
    assert_true(seq > 0);
    assert_int_equal(
        loss_steps_find(self, "execute_input", "\"names\":[\"df\"]"), seq);
    /* The reader is noted afterwards, by a digest. */
    assert_int_equal(loss_steps_find(self, "loss_reported", "{\"reader\":\""),
                     seq + 1);
    assert_int_equal(loss_steps_find(self, "loss_reported", "exec"), 0);
    assert_false(loss_steps_is_due(self));
    fake_session_reply(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    assert_int_equal(loss_steps_find(self, "execute_input", "\"lost\""), seq);
}

/* A reader gets the names that are not there when its cell begins. */
static void a_variable_that_was_made_again_is_not_gone(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = loss_steps_reader_request();
    cleanup_buffer buffer_t before = BUFFER_EMPTY, after = BUFFER_EMPTY;

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    assert_true(loss_report_write(self, request, &before));
    buffer_text(&before, "");
    assert_non_null(strstr((char *) before.data, "\"names\":[\"df\"]"));
    loss_steps_make_variable(self);
    assert_true(loss_report_write(self, request, &after));
    buffer_text(&after, "");
    assert_non_null(strstr((char *) after.data, "\"names\":[]"));
    assert_null(strstr((char *) after.data, "\"more\""));
}

static void a_cell_of_another_client_has_no_loss(void **state)
{
    session_t *self = *state;

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    loss_steps_cell(self, "{}");
    assert_int_equal(loss_steps_find(self, "execute_input", "\"lost\""), 0);
    assert_true(loss_steps_is_due(self));
}

static void a_client_is_noted_only_with_a_loss(void **state)
{
    session_t *self = *state;

    loss_steps_cell(self, LOSS_STEPS_READER);
    assert_int_equal(loss_steps_find(self, "loss_reported", "{\"reader\":\""),
                     0);
}

/* The journal could not take the event. */
static void a_loss_that_was_not_sent_is_repeated(void **state)
{
    session_t *self = *state;
    cleanup_buffer buffer_t first = BUFFER_EMPTY, again = BUFFER_EMPTY;

    loss_steps_cell(self, LOSS_STEPS_READER);
    loss_steps_lose(self);
    assert_true(
        loss_report_write(self, request_queue_running(self->requests), &first));
    assert_true(
        loss_report_write(self, request_queue_running(self->requests), &again));
    assert_int_equal(first.size, again.size);
    loss_report_note(self, request_queue_running(self->requests));
    assert_false(
        loss_report_write(self, request_queue_running(self->requests), &again));
    assert_int_equal(first.size, again.size);
}

static void the_next_gateway_knows_who_has_it(void **state)
{
    session_t *self = *state;

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    fake_session_take_over(self);
    assert_true(loss_steps_is_due(self));
    loss_steps_cell(self, LOSS_STEPS_READER);
    fake_session_take_over(self);
    assert_false(loss_steps_is_due(self));
}

static void publish_input(session_t *self, bytes_t metadata)
{
    publisher_event_t event = {.type = "execute_input",
                               .request = fake_running(self),
                               .metadata = metadata,
                               .content = text_bytes("{}")};
    fault_t fault;

    assert_int_equal(publisher_event(self->publisher, &event, &fault), 0);
}

/* The gateway was killed after the event. */
static void an_event_alone_says_who_has_it(void **state)
{
    session_t *self = *state;
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;

    loss_steps_cell(self, LOSS_STEPS_READER);
    loss_steps_lose(self);
    assert_true(loss_report_write(self, request_queue_running(self->requests),
                                  &metadata));
    publish_input(self, buffer_bytes(&metadata));
    assert_true(loss_steps_is_due(self));
    fake_session_take_over(self);
    assert_false(loss_steps_is_due(self));
}

/* A compaction has removed the event. */
static void a_note_alone_says_who_has_it(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = loss_steps_reader_request();

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    loss_report_note(self, request);
    fake_session_take_over(self);
    assert_false(loss_steps_is_due(self));
}

static void a_reader_in_another_state_does_not_have_it(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = loss_steps_reader_request();
    cleanup_free char *content = NULL;
    char reader[LOSS_READERS_NAME_SIZE];

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    assert_true(loss_readers_name(request, reader));
    content = mem_format("{\"reader\":\"%s\"}", reader);
    fake_session_note(self, "file", 0, content);
    fake_session_take_over(self);
    assert_true(loss_steps_is_due(self));
}

static void a_member_of_that_name_elsewhere_is_no_loss(void **state)
{
    session_t *self = *state;

    loss_steps_cell(self, LOSS_STEPS_READER);
    loss_steps_lose(self);
    publish_input(self, text_bytes("{\"other\":{\"lost\":{}}}"));
    publish_input(self, text_bytes("{\"hearth\":{\"lost\":true}}"));
    fake_session_take_over(self);
    assert_true(loss_steps_is_due(self));
}

static void a_client_that_asks_gets_the_loss_until_it_has_it(void **state)
{
    session_t *self = *state;
    json_auto_t *none = NULL, *loss = NULL, *again = NULL, *other = NULL;
    uint64_t seq;

    loss_steps_make_variable(self);
    none = loss_report_model(self, "http/a");
    assert_null(none);
    loss_steps_lose(self);
    loss = loss_report_model(self, "http/a");
    assert_non_null(loss);
    assert_int_equal(json_array_size(json_object_get(loss, "names")), 1);
    seq = (uint64_t) json_integer_value(json_object_get(loss, "seq"));
    assert_int_not_equal(seq, 0);
    again = loss_report_model(self, "http/a");
    assert_true(json_equal(loss, again));
    /* It has got another one, which is not the last. */
    loss_report_deliver(self, "http/a", seq - 1);
    other = loss_report_model(self, "http/a");
    assert_non_null(other);
    loss_report_deliver(self, "http/a", seq);
    assert_null(loss_report_model(self, "http/a"));
    assert_int_not_equal(
        loss_steps_find(self, "loss_reported", "{\"reader\":\""), 0);
    fake_session_take_over(self);
    assert_null(loss_report_model(self, "http/a"));
    json_auto_t *of_b = loss_report_model(self, "http/b");
    assert_non_null(of_b);
}

/* A client is the same reader by its cells and by its questions. */
static void a_client_that_asks_is_the_reader_of_its_cells(void **state)
{
    session_t *self = *state;
    json_auto_t *loss = NULL;

    loss_steps_make_variable(self);
    loss_steps_lose(self);
    assert_true(loss_steps_is_due(self));
    loss = loss_report_model(self, "key");
    loss_report_deliver(
        self, "key",
        (uint64_t) json_integer_value(json_object_get(loss, "seq")));
    assert_false(loss_steps_is_due(self));
}

/* Its journal takes no more notes, so this gateway alone knows who has it. */
static void a_client_gets_the_loss_of_a_session_that_is_gone(void **state)
{
    session_t *self = *state;
    json_auto_t *loss = NULL;

    loss_steps_make_variable(self);
    fake_session_note(self, "gone", 0, "{\"detail\":\"a limit\"}");
    session_state_step(self->state, STATE_ON_STOP);
    session_state_step(self->state, STATE_ON_EXIT);
    assert_true(session_state_is(self->state, PHASE_GONE));
    loss = loss_report_model(self, "http/a");
    assert_non_null(loss);
    loss_report_deliver(
        self, "http/a",
        (uint64_t) json_integer_value(json_object_get(loss, "seq")));
    assert_null(loss_report_model(self, "http/a"));
    assert_int_equal(loss_steps_find(self, "loss_reported", "reader"), 0);
}

static void a_cell_that_fails_by_it_has_the_loss(void **state)
{
    session_t *self = *state;
    static const char reply[] =
        "{\"hearth\":{\"lost\":{\"cause\":\"it died, in cell 1\"";

    loss_steps_make_variable(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    end_cause_set(&self->cause, END_REASON_SIGNAL, "it died");
    replies_fail_for_end(self, UINT64_MAX);
    assert_true(loss_steps_find(self, "execute_reply", reply) > 0);
    assert_int_equal(
        loss_steps_find(self, "execute_reply", "\"names\":[\"df\"]"),
        loss_steps_find(self, "execute_reply", reply));
    assert_null(loss_notice_foreseen(self->losses, ""));
    loss_steps_lose(self);
    assert_false(loss_steps_is_due(self));
    assert_true(loss_steps_find(self, "loss_reported", "{\"reader\":\"") > 0);
    /* The next gateway finds the reply, too, should it find no more. */
    fake_session_take_over(self);
    assert_false(loss_steps_is_due(self));
}

/* The gateway was killed before the loss was in the journal. */
static void a_reply_alone_says_who_has_it(void **state)
{
    session_t *self = *state;

    loss_steps_make_variable(self);
    loss_steps_cell(self, LOSS_STEPS_READER);
    end_cause_set(&self->cause, END_REASON_SIGNAL, "it died");
    replies_fail_for_end(self, UINT64_MAX);
    assert_true(loss_steps_find(self, "execute_reply", "\"lost\"") > 0);
    fake_session_take_over(self);
    loss_steps_lose(self);
    assert_false(loss_steps_is_due(self));
}

/* Returns the loss that requests up to that number will fail with. */
static const char *foresee(session_t *self, uint64_t last, const char *ename)
{
    static char said[1000];
    json_auto_t *loss = NULL;
    cleanup_free char *text = NULL;

    loss_report_forget(self);
    loss_report_foresee(self, last, ename);
    loss = loss_notice_foreseen(self->losses, "");
    text = loss ? json_dumps(loss, JSON_COMPACT) : NULL;
    snprintf(said, sizeof said, "%s", text ? text : "");
    return said;
}

static void a_loss_is_foreseen_for_its_readers(void **state)
{
    session_t *self = *state;
    uint64_t last;

    loss_steps_make_variable(self);
    end_cause_set(&self->cause, END_REASON_SIGNAL, "it died");
    assert_string_equal(foresee(self, UINT64_MAX, "KernelDied"), "");
    loss_steps_cell(self, "{}");
    assert_string_equal(foresee(self, UINT64_MAX, "KernelDied"), "");
    loss_steps_cell(self, LOSS_STEPS_READER); /* waits */
    last = request_queue_first(self->requests)->number;
    assert_string_equal(foresee(self, last - 1, "KernelDied"), "");
    assert_non_null(strstr(foresee(self, last, "KernelDied"),
                           "{\"cause\":\"it died, in cell 1\""));
    assert_non_null(strstr(foresee(self, last, "KernelRestarted"),
                           "{\"cause\":\"it died\""));
    loss_report_forget(self);
}

static void an_answered_cell_is_no_reader(void **state)
{
    session_t *self = *state;
    request_t *request;

    loss_steps_make_variable(self);
    end_cause_set(&self->cause, END_REASON_SIGNAL, "it died");
    loss_steps_cell(self, LOSS_STEPS_READER);
    assert_string_not_equal(foresee(self, 0, "KernelDied"), "");
    request = request_queue_finish(self->requests);
    request->progress = REQUEST_ANSWERED;
    request_queue_start(self->requests, &request);
    assert_string_equal(foresee(self, 0, "KernelDied"), "");
}

/* The launch of a fresh kernel failed, and another one follows. */
static void the_end_of_a_kernel_that_was_not_ready_is_no_loss(void **state)
{
    session_t *self = *state;

    loss_steps_cell(self, LOSS_STEPS_READER);
    fake_session_note(self, "restart", 0, "{\"detail\":\"a limit\"}");
    loss_report_note(self, request_queue_running(self->requests));
    buffer_clear(&self->info);
    end_cause_set(&self->cause, END_REASON_LAUNCH, "no kernel");
    replies_fail_for_end(self, UINT64_MAX);
    assert_int_equal(loss_steps_find(self, "execute_reply", "\"lost\""), 0);
    fake_session_note(self, "restart", 0, "{\"detail\":\"no kernel\"}");
    assert_false(loss_steps_is_due(self));
    fake_session_take_over(self);
    assert_false(loss_steps_is_due(self));
}

/* As long as the client that revives the session lives, a loss is not final. */
static void a_loss_that_is_being_mended_says_so(void **state)
{
    session_t *self = *state;
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_fd int held_fd = journal_hold(folder);
    uint64_t seq;

    assert_true(held_fd >= 0);
    loss_steps_make_variable(self);
    fake_session_note(self, "gone", 0, "{\"detail\":\"idle\"}");
    fake_session_note(self, "reviving", 0, "{}");
    fake_session_note(self, "ready", 0, "{}");
    loss_steps_cell(self, LOSS_STEPS_READER);
    seq = loss_steps_find(self, "execute_input",
                          "\"names\":[\"df\"],\"reviving\":true");
    assert_true(seq > 0);
    fake_session_reply(self);
    assert_int_equal(loss_steps_find(self, "loss_reported", "reader"), 0);
    assert_true(loss_steps_is_due(self));
    /* Nor does the next gateway take it for reported. */
    fake_session_take_over(self);
    assert_true(loss_steps_is_due(self));
    close(take_fd(&held_fd));
    loss_steps_assert_reported(self, "\"names\":[\"df\"]}");
    /* Once it is reported it is no part of the next loss, also not for the
     * next gateway. */
    cleanup_request request_t *request = loss_steps_reader_request();
    loss_report_note(self, request);
    fake_session_take_over(self);
    loss_steps_lose(self);
    loss_steps_assert_reported(self, "{\"cause\":\"a limit\"");
    loss_steps_assert_reported(self, "\"names\":[]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name)                                                                \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_recorded,         \
                                    fake_session_end)
        X(the_next_cell_has_the_loss),
        X(a_variable_that_was_made_again_is_not_gone),
        X(a_cell_of_another_client_has_no_loss),
        X(a_client_is_noted_only_with_a_loss),
        X(a_loss_that_was_not_sent_is_repeated),
        X(the_next_gateway_knows_who_has_it),
        X(an_event_alone_says_who_has_it),
        X(a_note_alone_says_who_has_it),
        X(a_reader_in_another_state_does_not_have_it),
        X(a_member_of_that_name_elsewhere_is_no_loss),
        X(a_client_that_asks_gets_the_loss_until_it_has_it),
        X(a_client_that_asks_is_the_reader_of_its_cells),
        X(a_client_gets_the_loss_of_a_session_that_is_gone),
        X(a_cell_that_fails_by_it_has_the_loss),
        X(a_reply_alone_says_who_has_it),
        X(a_loss_is_foreseen_for_its_readers),
        X(an_answered_cell_is_no_reader),
        X(the_end_of_a_kernel_that_was_not_ready_is_no_loss),
        X(a_loss_that_is_being_mended_says_so),
#undef X
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
