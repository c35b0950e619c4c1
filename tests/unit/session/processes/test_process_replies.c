/* Messages to clients about processes beside the kernel: replies, output as far
 * as there is room, and ends. */
#include "gateway/session/processes/process_replies.h"

#include "tests/lib/fake_keeper.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))
#define IS(text, of)  assert_string_equal(deeds_content(of), text)

static int begin(void **state)
{
    fake_keeper = (fake_keeper_t){0};
    return fake_session_begin(state);
}

static process_t *add(session_t *self)
{
    process_t *process = processes_add(self->processes, 0);

    process->arguments = mem_text("[\"ls\"]");
    process->folder = mem_text(".");
    process->who = mem_text("uid=1");
    process->phase = PROCESS_RUNNING;
    process->link = fake_keeper_link();
    return process;
}

static request_t *ask(const char *client, const char *type)
{
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"session\":\"%s\",\"msg_type\":\"%s\"}",
                   client, type);
    message_t *message =
        message_new(text_bytes(header), text_bytes("{}"), text_bytes("{}"),
                    text_bytes("{\"process\":1}"));

    message_add_identity(message, client, strlen(client));
    return request_new(7, CHANNEL_CONTROL, &message);
}

static void attach(process_t *process, const char *client)
{
    request_t *request = ask(client, "process_attach_request");
    fault_t fault;

    assert_int_equal(process_feed_attach(process->feed, &request, 0,
                                         fake_outside.now_ms, &fault),
                     0);
}

static void print(process_t *process, unsigned stream, bytes_t bytes)
{
    size_t fresh;
    fault_t fault;

    assert_int_equal(process_feed_add(process->feed,
                                      process_feed_end(process->feed), stream,
                                      bytes, &fresh, &fault),
                     0);
}

static void a_reply_has_the_process(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = ask("me", "process_show_request");
    process_t *process = add(self);

    process->input.taken = 3;
    process->pid = 77;
    process_replies_answer(self, request, process);
    DID("control process_show_reply ok");
    HAS("{\"status\":\"ok\",\"process\":{\"process\":1,\"argv\":[\"ls\"],"
        "\"cwd\":\".\",\"terminal\":false,\"who\":\"uid=1\",\"state\":"
        "\"running\",\"pid\":77,",
        "process_show_reply");
    HAS("},\"offset\":0,\"input_taken\":3}", "process_show_reply");
}

static void a_refusal_has_a_name_and_a_sentence(void **state)
{
    session_t *self = *state;
    cleanup_request request_t *request = ask("me", "process_stop_request");

    process_replies_refuse(self, request, "ProcessEnded",
                           "process 4 has ended");
    DID("control process_stop_reply error");
    HAS("\"ename\":\"ProcessEnded\",\"evalue\":\"process 4 has ended\"",
        "process_stop_reply");
}

static void who_started_it_is_answered_once(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->asked_ms = 5;
    process->start.request = ask("me", "process_start_request");
    process_replies_answer_start(self, process);
    DID("control process_start_reply ok");
    assert_int_equal(process->asked_ms, 0);
    assert_false(process_feed_has_viewers(process->feed));
    process_replies_answer_start(self, process);
    DID("");
}

static void who_follows_from_the_start_gets_the_output(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->start.follows = true;
    process->start.request = ask("me", "process_start_request");
    process_replies_answer_start(self, process);
    print(process, KEEPER_STDOUT, text_bytes("abc"));
    process_replies_feed(self, process);
    DID("control process_start_reply ok; control process_output");
}

/* Returns what who started a process hears that ended in this way. */
static const char *start_ended(session_t *self, process_fate_t fate,
                               keeper_end_t end)
{
    process_t *process = add(self);

    process->fate = fate;
    process->end = end;
    process->code = 2;
    process->start.request = ask("me", "process_start_request");
    processes_end(self->processes, process);
    process_replies_answer_start(self, process);
    assert_false(process_feed_has_viewers(process->feed));
    return deeds_take();
}

static void one_that_did_not_start_is_an_error(void **state)
{
    static const char ok[] = "control process_start_reply ok";
    static const char error[] = "control process_start_reply error";
    session_t *self = *state;

    assert_string_equal(start_ended(self, PROCESS_BY_KEEPER, KEEPER_EXITED),
                        ok);
    assert_string_equal(start_ended(self, PROCESS_BY_KEEPER, KEEPER_SIGNALLED),
                        ok);
    assert_string_equal(start_ended(self, PROCESS_BY_OUTPUT, KEEPER_SIGNALLED),
                        ok);
    assert_string_equal(start_ended(self, PROCESS_BY_MEMORY, KEEPER_SIGNALLED),
                        ok);
    assert_string_equal(start_ended(self, PROCESS_BY_KEEPER, KEEPER_NO_FOLDER),
                        error);
    assert_string_equal(start_ended(self, PROCESS_BY_KEEPER, KEEPER_NO_PROGRAM),
                        error);
    HAS("\"ename\":\"ProcessNotStarted\",\"evalue\":\"it was not started: the "
        "program: No such file or directory\"",
        "process_start_reply");
    assert_string_equal(start_ended(self, PROCESS_LOST, KEEPER_EXITED), error);
    HAS("its keeper has ended", "process_start_reply");
    assert_string_equal(start_ended(self, PROCESS_BY_KERNEL, KEEPER_EXITED),
                        error);
}

/* It is still running; how it would end is not known. */
static void one_that_runs_has_started(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->end = KEEPER_NO_PROGRAM;
    process->start.request = ask("me", "process_start_request");
    process_replies_answer_start(self, process);
    DID("control process_start_reply ok");
}

static void output_says_its_stream_and_offset(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    attach(process, "me");
    print(process, KEEPER_STDOUT, text_bytes("abc"));
    process_replies_feed(self, process);
    IS("{\"process\":1,\"stream\":\"stdout\",\"offset\":0}", "process_output");
    print(process, KEEPER_STDERR, text_bytes("d"));
    process_replies_feed(self, process);
    IS("{\"process\":1,\"stream\":\"stderr\",\"offset\":3}", "process_output");
    DID("control process_output; control process_output");
    assert_int_equal(fake_outside.delay_ms, PROCESS_LOOK_MS);
}

static void without_clients_there_is_no_timer(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    print(process, KEEPER_STDOUT, text_bytes("abc"));
    process_replies_feed(self, process);
    DID("");
    assert_int_equal(fake_outside.delay_ms, 0);
}

static void a_process_waits_for_a_slow_client(void **state)
{
    static char piece[KEEPER_PIECE_MAX];
    session_t *self = *state;
    process_t *process = add(self);
    cleanup_request request_t *viewer = ask("me", "process_taken");
    unsigned count = 0;

    attach(process, "me");
    while (!fake_keeper.is_held && count++ < 100) {
        print(process, KEEPER_STDOUT, (bytes_t){piece, sizeof piece});
        process_replies_feed(self, process);
    }
    assert_int_equal(count, PROCESS_WINDOW / KEEPER_PIECE_MAX + 1);
    assert_true(process_feed_taken(process->feed, viewer, PROCESS_WINDOW,
                                   fake_outside.now_ms));
    process_replies_feed(self, process);
    assert_false(fake_keeper.is_held);
}

static void the_end_comes_after_the_output(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    attach(process, "me");
    attach(process, "you");
    print(process, KEEPER_STDOUT, text_bytes("abc"));
    process->code = 3;
    processes_end(self->processes, process);
    process_replies_feed(self, process);
    DID("control process_output; control process_output; "
        "control process_ended; control process_ended");
    HAS("\"state\":\"ended\"", "process_ended");
    HAS("\"sentence\":\"it exited with 3\"", "process_ended");
    assert_false(process_feed_has_viewers(process->feed));
    process_replies_feed(self, process);
    DID("");
}

static void one_whose_keeper_is_gone_is_not_read(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->link = NULL;
    attach(process, "me");
    print(process, KEEPER_STDOUT, text_bytes("abc"));
    fake_keeper.is_held = true;
    process_replies_feed(self, process);
    DID("control process_output");
    assert_true(fake_keeper.is_held);
}

static void all_clients_hear_of_taken_input(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    attach(process, "me");
    attach(process, "you");
    process->input.taken = 12;
    process_replies_send_input(self, process);
    DID("control process_input_taken; control process_input_taken");
    IS("{\"process\":1,\"input_taken\":12}", "process_input_taken");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reply_has_the_process),
        TEST(a_refusal_has_a_name_and_a_sentence),
        TEST(who_started_it_is_answered_once),
        TEST(who_follows_from_the_start_gets_the_output),
        TEST(one_that_did_not_start_is_an_error),
        TEST(one_that_runs_has_started),
        TEST(output_says_its_stream_and_offset),
        TEST(without_clients_there_is_no_timer),
        TEST(a_process_waits_for_a_slow_client),
        TEST(the_end_comes_after_the_output),
        TEST(one_whose_keeper_is_gone_is_not_read),
        TEST(all_clients_hear_of_taken_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
