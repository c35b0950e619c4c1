/* What a cell's messages mean for the caller that waits for its end. The
 * gateway is the test's, and time passes when the test says so. */
#include "gateway/cli/client/pending_cell.h"

#include "base/buffer.h"
#include "notebooks/json/member.h"
#include "tests/lib/test.h"

#include <string.h>

static int64_t now_ms;
static gateway_exit_t status; /* of the gateway's answer */
static const char *state;     /* of the session in it */

int64_t __wrap_clock_monotonic_ms(void);
gateway_exit_t __wrap_management_client_ask(management_client_t *self,
                                            const char *verb, json_t *content,
                                            json_t **ret_reply);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

gateway_exit_t __wrap_management_client_ask(management_client_t *self,
                                            const char *verb, json_t *content,
                                            json_t **ret_reply)
{
    json_auto_t *owned = content;

    (void) self;
    assert_string_equal(verb, "session_show");
    assert_string_equal(member_text(owned, "id"), "s");
    if (status == GATEWAY_EXIT_OK)
        *ret_reply = json_pack("{s:{s:s}}", "session", "state", state);
    return status;
}

static int begin(void **state_p)
{
    static pending_cell_t cell;

    now_ms = 1000;
    pending_cell_begin(&cell, "mine");
    *state_p = &cell;
    return 0;
}

static int end(void **state_p)
{
    pending_cell_clear(*state_p);
    return 0;
}

/* Has a message of that type heard, 1 ms later; `parent` is its request. */
static pending_cell_event_t hear(pending_cell_t *self, channel_t channel,
                                 const char *parent, const char *type,
                                 const char *content)
{
    cleanup_free char *header = mem_format("{\"msg_type\":\"%s\"}", type);
    cleanup_free char *cause = mem_format("{\"msg_id\":\"%s\"}", parent);
    cleanup_message message_t *message =
        message_new(text_bytes(header), text_bytes(cause),
                    text_bytes("{\"hearth\":{\"n\":1}}"), text_bytes(content));
    json_auto_t *read = NULL;
    pending_cell_event_t what;

    now_ms++;
    what = pending_cell_hear(self, channel, message, &read);
    assert_int_equal(read != NULL, what != PENDING_CELL_OTHERS);
    return what;
}

static void messages_of_others_are_no_sign_of_life(void **state_p)
{
    pending_cell_t *self = *state_p;

    assert_int_equal(hear(self, CHANNEL_IOPUB, "other", "stream", "{}"),
                     PENDING_CELL_OTHERS);
    assert_int_equal(hear(self, CHANNEL_IOPUB, "mine", "stream", "no JSON"),
                     PENDING_CELL_OTHERS);
    assert_int_equal(self->heard, 1000);
    assert_int_equal(hear(self, CHANNEL_IOPUB, "mine", "status",
                          "{\"execution_state\":\"busy\"}"),
                     PENDING_CELL_SIGN);
    assert_int_equal(hear(self, CHANNEL_CONTROL, "mine", "execute_reply", "{}"),
                     PENDING_CELL_SIGN);
    assert_int_equal(self->heard, 1004);
    assert_int_equal(self->asked, 1004);
    assert_null(self->reply);
    assert_false(self->is_idle);
}

static void what_comes_of_the_cell_is_kept(void **state_p)
{
    pending_cell_t *self = *state_p;

    assert_int_equal(hear(self, CHANNEL_IOPUB, "mine", "stream", "{}"),
                     PENDING_CELL_OUTPUT);
    assert_int_equal(hear(self, CHANNEL_STDIN, "mine", "input_request", "{}"),
                     PENDING_CELL_QUESTION);
    assert_int_equal(hear(self, CHANNEL_SHELL, "mine", "execute_reply",
                          "{\"status\":\"ok\"}"),
                     PENDING_CELL_REPLY);
    assert_string_equal(member_text(self->reply, "status"), "ok");
    assert_int_equal(member_count(self->figures, "n"), 1);
    assert_false(self->is_idle);
    assert_int_equal(hear(self, CHANNEL_IOPUB, "mine", "status",
                          "{\"execution_state\":\"idle\"}"),
                     PENDING_CELL_IDLE);
    assert_true(self->is_idle);
    /* Nothing of it is left for the next one. */
    pending_cell_begin(self, "next");
    assert_string_equal(self->request, "next");
    assert_null(self->reply);
    assert_null(self->figures);
    assert_false(self->is_idle);
}

static void an_idle_is_late_after_the_reply_alone(void **state_p)
{
    pending_cell_t *self = *state_p;

    assert_false(pending_cell_is_late(self, now_ms + 60000));
    hear(self, CHANNEL_SHELL, "mine", "execute_reply", "{}");
    assert_false(pending_cell_is_late(self, now_ms + 3000));
    assert_true(pending_cell_is_late(self, now_ms + 3001));
    now_ms += 2000;
    hear(self, CHANNEL_IOPUB, "mine", "stream", "{}"); /* output is late */
    assert_false(pending_cell_is_late(self, now_ms + 3000));
}

static void the_gateway_knows_if_the_session_is_gone(void **state_p)
{
    pending_cell_t *self = *state_p;

    now_ms = 9000;
    status = GATEWAY_EXIT_OK;
    state = "busy";
    assert_false(pending_cell_is_session_gone(self, NULL, "s"));
    assert_int_equal(self->asked, 9000);
    assert_int_equal(self->heard, 1000);
    state = "gone";
    assert_true(pending_cell_is_session_gone(self, NULL, "s"));
    status = GATEWAY_EXIT_GONE;
    assert_true(pending_cell_is_session_gone(self, NULL, "s"));
    status = GATEWAY_EXIT_UNREACHABLE;
    assert_false(pending_cell_is_session_gone(self, NULL, "s"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_of_others_are_no_sign_of_life),
        TEST(what_comes_of_the_cell_is_kept),
        TEST(an_idle_is_late_after_the_reply_alone),
        TEST(the_gateway_knows_if_the_session_is_gone),
    };

    return cmocka_run_group_tests_name("pending_cell", tests, NULL, NULL);
}
