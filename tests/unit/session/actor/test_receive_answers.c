/* What a session takes beside requests on its sockets: answers to the questions
 * of code, and what frontends send. */
#include "gateway/session/actor/receive.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/requests/request_queue.h"
#include "notebooks/journal/reader.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static void request(session_t *self, const char *id, const char *type,
                    const char *content)
{
    fake_client_sends(CHANNEL_SHELL, id, type, content);
    receive_on_shell(NULL, NULL, self);
}

/* A cell that runs. */
static void run(session_t *self)
{
    request(self, "cell", "execute_request", "{\"code\":\"input()\"}");
    (void) deeds_take();
}

static void answer(session_t *self, const char *content)
{
    fake_client_sends(CHANNEL_STDIN, "a", "input_reply", content);
    receive_on_stdin(NULL, NULL, self);
}

static void ask(session_t *self, const char *content)
{
    fake_kernel_says(FRAME_INPUT_REQUEST, fake_running(self), content);
    kernel_events_read(self);
}

static void an_answer_reaches_the_cell_that_asked(void **state)
{
    session_t *self = *state;

    run(self);
    answer(self, "{\"value\":\"too early\"}");
    DID("");
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    DID("stdin input_request");
    answer(self, "{\"value\":\"yes\"}");
    DID("kernel INPUT_REPLY");
    HAS("\"value\":\"yes\"", "INPUT_REPLY");
    answer(self, "{\"value\":\"again\"}");
    DID("");
}

static char *last_record(session_t *self)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    char *text = NULL;
    fault_t fault;

    assert_int_equal(journal_reader_new(folder, self->spec->journal.key,
                                        journal_last_seq(self->journal) - 1,
                                        &reader, &fault),
                     0);
    while (journal_reader_next(reader, &record, &fault) > 0) {
        free(text);
        text = mem_format("%s %.*s", record.type, (int) record.content.size,
                          (const char *) record.content.bytes);
    }
    return text;
}

/* The question stays open, also for the next gateway. */
static void an_answer_that_was_not_sent_is_in_no_journal(void **state)
{
    session_t *self = *state;
    uint64_t last;

    run(self);
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    DID("stdin input_request");
    last = journal_last_seq(self->journal);
    fake_outside.is_mute = true;
    answer(self, "{\"value\":\"lost\"}");
    DID("");
    assert_int_equal(journal_last_seq(self->journal), last);
    fake_outside.is_mute = false;
    answer(self, "{\"value\":\"again\"}");
    DID("kernel INPUT_REPLY");
    HAS("\"value\":\"again\"", "INPUT_REPLY");
    assert_int_equal(journal_last_seq(self->journal), last + 1);
}

static void a_password_is_in_no_journal(void **state)
{
    session_t *self = *state;
    uint64_t number;

    run(self);
    number = fake_running(self);
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    answer(self, "{\"value\":\"yes\"}");
    {
        cleanup_free char *text = last_record(self);
        cleanup_free char *expected =
            mem_format("input_reply {\"request\":%llu,\"value\":\"yes\"}",
                       (unsigned long long) number);
        assert_string_equal(text, expected);
    }
    ask(self, "{\"prompt\":\"?\",\"password\":true}");
    answer(self, "{\"value\":\"secret\"}");
    {
        cleanup_free char *text = last_record(self);

        assert_null(strstr(text, "secret"));
        assert_non_null(strstr(text, "\"password\":true"));
    }
    DID("stdin input_request; kernel INPUT_REPLY; stdin input_request; "
        "kernel INPUT_REPLY");
}

static void an_answer_of_another_client_is_dropped(void **state)
{
    session_t *self = *state;
    message_t *message;

    run(self);
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    (void) deeds_take();
    message = request_queue_running(self->requests)->message;
    message_add_identity(message, "x", 1); /* not the first one */
    snprintf(request_queue_running(self->requests)->frontend, 5, "http");
    answer(self, "{\"value\":\"yes\"}");
    DID("");
}

static void an_answer_that_no_person_types_is_not_recorded(void **state)
{
    static const char *const contents[] = {"{\"value\":7}", "{}"};
    session_t *self = *state;

    run(self);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        ask(self, "{\"prompt\":\"?\",\"password\":false}");
        answer(self, contents[i]);
        {
            cleanup_free char *text = last_record(self);

            assert_null(strstr(text, "value"));
        }
    }
}

/* Returns true if the journal has an answer whose JSON has `size` bytes. */
static bool is_recorded(session_t *self, int size)
{
    cleanup_free char *text = NULL;
    cleanup_free char *content =
        mem_format("{\"value\":\"%0*d\"}", size - 2, 0);

    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    answer(self, content);
    text = last_record(self);
    return strstr(text, "value");
}

static void an_answer_of_64_kib_is_recorded(void **state)
{
    session_t *self = *state;

    run(self);
    assert_true(is_recorded(self, 64 << 10));
    assert_false(is_recorded(self, (64 << 10) + 1));
}

static void an_answer_needs_a_kernel(void **state)
{
    session_t *self = *state;

    run(self);
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    kernel_link_close(self->link);
    (void) deeds_take();
    answer(self, "{\"value\":\"yes\"}");
    DID("");
}

/* --- Frontends --- */

static void frontend(session_t *self, channel_t channel, const char *id,
                     const char *type, const char *content)
{
    fake_frontend_sends(channel, id, type, content);
    receive_on_frontend(NULL, NULL, self);
}

static void a_viewers_requests_are_answered_by_its_frontend(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = true;
    frontend(self, CHANNEL_CONTROL, "m1", "kernel_info_request", "{}");
    assert_non_null(strstr(deeds_take(), "control of http: kernel_info_reply"));
    frontend(self, CHANNEL_SHELL, "m2", "execute_request", "{\"code\":\"1\"}");
    assert_non_null(strstr(deeds_take(), "kernel EXECUTE"));
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    assert_non_null(strstr(deeds_take(), "stdin of http: input_request"));
    answer(self, "{\"value\":\"of another client\"}");
    DID("");
    frontend(self, CHANNEL_STDIN, "m3", "input_reply", "{\"value\":\"v\"}");
    DID("kernel INPUT_REPLY");
    frontend(self, CHANNEL_IOPUB, "m4", "execute_request", "{\"code\":\"1\"}");
    DID("");
}

static void a_frontend_that_was_slow_is_greeted_again(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = fake_outside.is_frontend_slow = true;
    receive_take_all(self);
    DID("greet http");
}

static void a_frontend_that_left_is_forgotten(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = fake_outside.is_frontend_gone = true;
    receive_take_all(self);
    DID("drop");
    receive_take_all(self);
    DID("");
}

static void the_next_frontend_has_its_turn_when_one_has_left(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = fake_outside.is_frontend_gone = true;
    fake_outside.has_another = fake_outside.is_frontend_slow = true;
    receive_take_all(self);
    DID("drop; greet http");
}

static void only_an_answer_is_taken_on_stdin(void **state)
{
    session_t *self = *state;

    run(self);
    ask(self, "{\"prompt\":\"?\",\"password\":false}");
    (void) deeds_take();
    fake_client_sends(CHANNEL_STDIN, "a", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_stdin(NULL, NULL, self);
    DID("");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_reaches_the_cell_that_asked),
        TEST(an_answer_that_was_not_sent_is_in_no_journal),
        TEST(a_password_is_in_no_journal),
        TEST(an_answer_of_another_client_is_dropped),
        TEST(only_an_answer_is_taken_on_stdin),
        TEST(an_answer_that_no_person_types_is_not_recorded),
        TEST(an_answer_of_64_kib_is_recorded),
        TEST(an_answer_needs_a_kernel),
        TEST(a_viewers_requests_are_answered_by_its_frontend),
        TEST(a_frontend_that_was_slow_is_greeted_again),
        TEST(a_frontend_that_left_is_forgotten),
        TEST(the_next_frontend_has_its_turn_when_one_has_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
