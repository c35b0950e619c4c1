/* A client's input for a process: what the keeper gets of it, once under a key,
 * and what is refused. */
#include "gateway/session/processes/process_input_request.h"

#include "tests/lib/deeds.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/process_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

#define ONCE(text) "{\"process\":1,\"text\":\"" text "\",\"key\":\"k\"}"

static void ask(session_t *self, const char *content)
{
    process_steps_ask(self, "input_request", content);
}

static void refused(const char *ename, const char *evalue)
{
    process_steps_refused("input", ename, evalue);
}

static void input_is_text_or_a_buffer_and_may_end(void **state)
{
    session_t *self = *state;
    const process_t *process = process_steps_add(self);
    message_t *message = process_steps_message(
        "me", "process_input_request", "{\"process\":1,\"text\":\"ignored\"}");

    ask(self, "{\"process\":1,\"text\":\"abc\"}");
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
    message_add_buffer(message, "\0b", 2);
    process_steps_serve(self, message);
    DID("keeper INPUT 0 0 of 2 bytes; control process_input_reply ok");
    ask(self, "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
    assert_int_equal(process->input.sent, 5);
}

static void input_of_another_type_is_refused(void **state)
{
    static const char *const wrong[] = {"7", "[\"a\"]", "true", "{}"};
    session_t *self = *state;
    const process_t *process = process_steps_add(self);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"text\":%s,\"end\":true}", wrong[i]);
        ask(self, content);
        refused("BadRequest", "text must be a text; bytes are a buffer");
    }
    assert_int_equal(process->input.sent, 0);
    ask(self, "{\"process\":1,\"text\":null}");
    DID("control process_input_reply ok");
}

static void an_end_of_another_type_is_refused(void **state)
{
    static const char *const wrong[] = {"1", "\"true\"", "[]", "{}"};
    session_t *self = *state;
    const process_t *process = process_steps_add(self);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"text\":\"a\",\"end\":%s}", wrong[i]);
        ask(self, content);
        refused("BadRequest", "end must be true or false");
    }
    assert_int_equal(process->input.sent, 0);
    ask(self, "{\"process\":1,\"end\":null}");
    DID("control process_input_reply ok");
    ask(self, "{\"process\":1,\"end\":false}");
    DID("control process_input_reply ok");
}

static void much_input_waits_in_pieces(void **state)
{
    static char most[KEEPER_INPUT_MAX];
    session_t *self = *state;
    process_t *process = process_steps_add(self);
    message_t *message =
        process_steps_message("me", "process_input_request", "{\"process\":1}");

    message_add_buffer(message, most, KEEPER_PIECE_MAX + 1);
    process_steps_serve(self, message);
    DID("keeper INPUT 0 0 of 32768 bytes; keeper INPUT 0 0 of 1 bytes; "
        "control process_input_reply ok");
    message =
        process_steps_message("me", "process_input_request", "{\"process\":1}");
    message_add_buffer(message, most, sizeof most);
    process_steps_serve(self, message);
    refused("ProcessBusy",
            "32769 bytes of input wait for the process, and at most 262144 "
            "may: send more when it has read them (process_input_taken)");
    process->input.taken = KEEPER_PIECE_MAX + 1;
    message =
        process_steps_message("me", "process_input_request", "{\"process\":1}");
    message_add_buffer(message, most, sizeof most);
    process_steps_serve(self, message);
    assert_non_null(strstr(deeds_take(), "control process_input_reply ok"));
    assert_int_equal(process->input.sent, sizeof most + KEEPER_PIECE_MAX + 1);
    ask(self, "{\"process\":1,\"text\":\"\"}");
    DID("control process_input_reply ok");
    /* A keeper that says to have less than it had. */
    process->input.taken = 0;
    ask(self, "{\"process\":1,\"text\":\"\"}");
    HAS("\"ename\":\"ProcessBusy\"", "process_input_reply");
}

static void input_under_a_key_is_passed_on_once(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    process->noted = 44;
    ask(self, ONCE("abc"));
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
    HAS("\"output\":44", "process_input_reply");
    HAS("\"key\":\"k\"", "journal process_input");
    process->noted = 50;
    ask(self, ONCE("abc"));
    DID("control process_input_reply ok");
    HAS("\"output\":44", "process_input_reply");
    ask(self, ONCE("abd"));
    refused("BadRequest", "Something else was written before under this key");
    processes_end(self->processes, process);
    ask(self, ONCE("abc"));
    DID("control process_input_reply ok");
    ask(self, "{\"process\":1,\"text\":\"a\",\"key\":\"\"}");
    refused("BadRequest", "key must be a text of 1 to 255 bytes without NUL");
}

/* The keeper has got two bytes of the three that the last gateway noted. */
static void the_next_gateway_passes_on_the_rest(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    ask(self, ONCE("abc"));
    (void) deeds_take();
    process->input.writes.items[0].arrived = 0;
    process->input.writes.is_unsettled = true;
    ask(self, ONCE("abc"));
    refused("SessionStarting",
            "it is not known yet how much of its input process 1 has got: "
            "send it again");
    process_writes_settle(&process->input.writes, 2);
    ask(self, ONCE("abc"));
    DID("keeper INPUT 0 0 of 1 bytes; control process_input_reply ok");
    assert_string_equal(deeds_content("INPUT"), "c");
    ask(self, ONCE("abc"));
    DID("control process_input_reply ok");
}

static void input_that_is_not_passed_on_is_not_kept(void **state)
{
    session_t *self = *state;
    const process_t *process = process_steps_add(self);

    fake_outside.is_journal_lost = true;
    ask(self, ONCE("abc"));
    HAS("\"status\":\"error\"", "process_input_reply");
    assert_int_equal(process->input.sent, 0);
    fake_outside.is_journal_lost = false;
    fake_keeper.is_full = true;
    ask(self, ONCE("abc"));
    HAS("\"ename\":\"ProcessBusy\"", "process_input_reply");
    assert_int_equal(process->input.writes.count, 0);
    fake_keeper.is_full = false;
    (void) deeds_take();
    ask(self, ONCE("abc"));
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
}

static void nothing_is_written_after_the_end_of_the_input(void **state)
{
    session_t *self = *state;
    const process_t *process = process_steps_add(self);

    ask(self, "{\"process\":1,\"text\":\"a\",\"end\":true}");
    DID("keeper INPUT 0 0 of 1 bytes; keeper INPUT_END 0 0; "
        "control process_input_reply ok");
    assert_true(process->input.is_over);
    HAS("\"end\":true", "journal process_input");
    ask(self, "{\"process\":1,\"text\":\"b\"}");
    refused("BadRequest",
            "process 1 takes no input: it was started without, its input has "
            "ended, or it has closed its input; start it with input true, or "
            "stdin of MCP's tool session");
    assert_int_equal(process->input.sent, 1);
    /* To end it again does no harm. */
    ask(self, "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
}

static void
nothing_is_written_to_an_input_that_the_process_has_closed(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    ask(self, ONCE("abc"));
    (void) deeds_take();
    process->input.is_unread = true;
    ask(self, "{\"process\":1,\"text\":\"b\"}");
    refused("BadRequest",
            "process 1 takes no input: it was started without, its input has "
            "ended, or it has closed its input; start it with input true, or "
            "stdin of MCP's tool session");
    assert_int_equal(process->input.sent, 3);
    /* What was written before is not refused, and the end does no harm. */
    ask(self, ONCE("abc"));
    DID("control process_input_reply ok");
    ask(self, "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
}

/* Its end is a byte, which is passed on once as others are. */
static void the_input_of_a_terminal_goes_on_after_its_end(void **state)
{
    static const char once[] = "{\"process\":1,\"end\":true,\"key\":\"k\"}";
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    process->is_terminal = true;
    ask(self, once);
    DID("keeper INPUT 0 0 of 1 bytes; control process_input_reply ok");
    assert_string_equal(deeds_content("INPUT"), "\004");
    ask(self, once);
    DID("control process_input_reply ok");
    ask(self, "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
    assert_false(process->input.is_over);
}

static void only_a_terminals_input_is_activity(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    self->spec->times.idle_timeout_ms = 4444;
    ask(self, "{\"process\":1,\"text\":\"a\"}");
    assert_int_not_equal(fake_outside.delay_ms, 4444);
    process->is_terminal = true;
    ask(self, "{\"process\":1,\"text\":\"a\"}");
    assert_int_equal(fake_outside.delay_ms, 4444);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, process_steps_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(input_is_text_or_a_buffer_and_may_end),
        TEST(input_of_another_type_is_refused),
        TEST(an_end_of_another_type_is_refused),
        TEST(much_input_waits_in_pieces),
        TEST(input_under_a_key_is_passed_on_once),
        TEST(the_next_gateway_passes_on_the_rest),
        TEST(input_that_is_not_passed_on_is_not_kept),
        TEST(nothing_is_written_after_the_end_of_the_input),
        TEST(nothing_is_written_to_an_input_that_the_process_has_closed),
        TEST(the_input_of_a_terminal_goes_on_after_its_end),
        TEST(only_a_terminals_input_is_activity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
