/* Requests of clients about processes: messages to the keeper, and refusals
 * with their name and sentence. */
#include "gateway/session/processes/process_requests.h"

#include "gateway/session/processes/process_replies.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/process_steps.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static void print(process_t *process, const char *text)
{
    size_t fresh;
    fault_t fault;

    assert_int_equal(
        process_feed_add(process->feed, process_feed_end(process->feed),
                         KEEPER_STDOUT, text_bytes(text), &fresh, &fault),
        0);
}

static void others_are_not_served_here(void **state)
{
    session_t *self = *state;
    message_t *message =
        process_steps_message("me", "kernel_info_request", "{}");
    cleanup_request request_t *request =
        request_new(7, CHANNEL_CONTROL, &message);

    assert_false(process_requests_serve(self, &request));
    assert_non_null(request);
    DID("");
}

static void a_process_is_started(void **state)
{
    session_t *self = *state;
    const process_t *process;

    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\",\"-l\"],\"follow\":true}");
    DID("connect process-1.sock; kernel keeps; "
        "keeper START 0 0 of 8 bytes; keeper INPUT_END 0 0; "
        "audit process_start ok by client=me");
    process = processes_find(self->processes, 1);
    assert_non_null(process->start.request);
    assert_string_equal(process->arguments, "[\"ls\",\"-l\"]");
    assert_int_equal(process->phase, PROCESS_STARTING);
}

static void a_key_starts_one_process(void **state)
{
    static const char wish[] =
        "{\"argv\":[\"ls\"],\"follow\":true,\"key\":\"k\"}";
    session_t *self = *state;
    process_t *process;

    process_steps_ask(self, "start_request", wish);
    (void) deeds_take();
    process = processes_find(self->processes, 1);
    assert_string_equal(process->key, "k");
    /* While it starts, once it runs, and when it has ended. */
    process_steps_ask_as(self, "you", "start_request", wish);
    DID("control process_start_reply ok");
    HAS("\"state\":\"starting\"", "process_start_reply");
    process->phase = PROCESS_RUNNING;
    process_steps_ask(self, "start_request", wish);
    DID("control process_start_reply ok");
    assert_null(process->next);
    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"id\"],\"key\":\"k\"}");
    process_steps_refused("start", "BadRequest",
                          "Something else was started before under this key");
    processes_end(self->processes, process);
    process->fate = PROCESS_BY_KERNEL;
    process_steps_ask(self, "start_request", wish);
    process_steps_refused("start", "ProcessNotStarted",
                          "it ended with the session's kernel");
    assert_null(process->next);
    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\"],\"key\":\"other\"}");
    assert_non_null(process->next);
}

/* A command does not run again because it is not known any more how it ended.
 */
static void a_forgotten_key_starts_nothing(void **state)
{
    static const char wish[] = "{\"argv\":[\"ls\"],\"key\":\"k\"}";
    session_t *self = *state;

    process_steps_ask(self, "start_request", wish);
    processes_end(self->processes, self->processes->first);
    for (int i = 0; i < PROCESSES_ENDED; i++)
        processes_end(self->processes, process_steps_add(self));
    process_steps_add(self);
    process_steps_add(self);
    assert_null(processes_find(self->processes, 1));
    (void) deeds_take();
    process_steps_ask(self, "start_request", wish);
    process_steps_refused(
        "start", "KeyForgotten",
        "the command under this key was run before and has ended; how is "
        "not kept any more. To run it again, take another key");
    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\"],\"key\":\"l\"}");
    assert_non_null(strstr(deeds_take(), "keeper START"));
}

static void input_comes_with_the_start(void **state)
{
    session_t *self = *state;

    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"cat\"],\"input\":\"abc\"}");
    DID("connect process-1.sock; kernel keeps; "
        "keeper START 0 0 of 6 bytes; keeper INPUT 0 0 of 3 bytes; "
        "keeper INPUT_END 0 0; audit process_start ok by client=me");
}

static void what_cannot_be_started_is_refused(void **state)
{
    session_t *self = *state;

    process_steps_ask(self, "start_request", "{\"argv\":[]}");
    process_steps_refused(
        "start", "BadRequest",
        "argv must be a list of 1 to 4096 texts, the program first");
    assert_null(self->processes->first);
    fake_keeper.is_missing = true;
    process_steps_ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    process_steps_refused("start", "ProcessNotStarted", "no keeper listens");
    fake_keeper.is_missing = false;
    fake_keeper.is_full = true;
    process_steps_ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    HAS("\"ename\":\"ProcessBusy\"", "process_start_reply");
    kernel_link_close(self->link);
    (void) deeds_take();
    process_steps_ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    process_steps_refused("start", "SessionStarting",
                          "the session's kernel is not ready");
    assert_null(self->processes->first);
}

static void too_many_do_not_run(void **state)
{
    session_t *self = *state;

    for (int i = 0; i < PROCESSES_LIVING; i++)
        process_steps_add(self);
    process_steps_ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    process_steps_refused(
        "start", "TooManyProcesses",
        "64 processes run in this session, which is the limit: end one");
    processes_end(self->processes, self->processes->first);
    process_steps_ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    assert_non_null(strstr(deeds_take(), "keeper START"));
}

static void they_are_listed_and_shown(void **state)
{
    session_t *self = *state;

    process_steps_ask(self, "list_request", "{}");
    assert_string_equal(deeds_content("process_list_reply"),
                        "{\"status\":\"ok\",\"processes\":[]}");
    process_steps_add(self);
    process_steps_add(self);
    process_steps_ask(self, "list_request", "{}");
    HAS("\"processes\":[{\"process\":1,", "process_list_reply");
    HAS("},{\"process\":2,", "process_list_reply");
    process_steps_ask(self, "show_request", "{\"process\":2}");
    HAS("\"process\":{\"process\":2,", "process_show_reply");
}

static void one_that_is_not_there_is_not_found(void **state)
{
    session_t *self = *state;

    process_steps_add(self);
    process_steps_ask(self, "show_request", "{\"process\":2}");
    process_steps_refused("show", "ProcessNotFound",
                          "this session has no process 2");
    process_steps_ask(self, "show_request", "{}");
    process_steps_refused("show", "ProcessNotFound",
                          "this session has no process 0");
    process_steps_ask(self, "show_request", "{\"process\":-1}");
    process_steps_refused("show", "ProcessNotFound",
                          "this session has no process -1");
}

static void a_client_follows_takes_and_leaves(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    print(process, "abcdef");
    process_steps_ask(self, "attach_request", "{\"process\":1,\"from\":2}");
    DID("control process_attach_reply ok; control process_output");
    HAS("\"offset\":2", "process_output");
    process_steps_ask(self, "taken", "{\"process\":1,\"offset\":6}");
    DID("");
    print(process, "gh");
    process_steps_ask(self, "taken", "{\"process\":1,\"offset\":6}");
    DID("control process_output");
    process_steps_ask(self, "leave_request", "{\"process\":1}");
    DID("control process_leave_reply ok");
    assert_false(process_feed_has_viewers(process->feed));
    print(process, "i");
    process_steps_ask(self, "taken", "{\"process\":1,\"offset\":8}");
    DID("");
    process_steps_ask(self, "attach_request", "{\"process\":1,\"from\":null}");
    HAS("\"offset\":0", "process_output");
}

/* A client that meant another place would get all of the output again. */
static void an_offset_is_a_number(void **state)
{
    static const char *const wrong[] = {"\"2\"", "2.5", "-5", "true", "[2]"};
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    print(process, "abcdef");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *from =
            mem_format("{\"process\":1,\"from\":%s}", wrong[i]);
        cleanup_free char *offset =
            mem_format("{\"process\":1,\"offset\":%s}", wrong[i]);

        process_steps_ask(self, "attach_request", from);
        process_steps_refused(
            "attach", "BadRequest",
            "from must be an offset: a whole number of bytes, 0 or more");
        process_steps_ask(self, "taken", offset);
        DID("");
    }
    assert_false(process_feed_has_viewers(process->feed));
}

/* Has as many clients follow process 1 as may. */
static void follow_by_most(session_t *self)
{
    for (int i = 0; i < PROCESS_VIEWERS; i++) {
        char client[] = "c0";

        client[1] = (char) ('0' + i);
        process_steps_ask_as(self, client, "attach_request", "{\"process\":1}");
    }
    (void) deeds_take();
}

static void too_many_do_not_follow(void **state)
{
    session_t *self = *state;

    process_steps_add(self);
    follow_by_most(self);
    process_steps_ask(self, "attach_request", "{\"process\":1}");
    process_steps_refused(
        "attach", "ProcessBusy",
        "8 clients follow this process already, the most: send it again "
        "when one has left");
    process_steps_ask_as(self, "c0", "attach_request", "{\"process\":1}");
    DID("control process_attach_reply ok");
}

static void a_start_again_is_answered_to_who_does_not_follow(void **state)
{
    session_t *self = *state;

    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\"],\"key\":\"k\"}");
    processes_find(self->processes, 1)->phase = PROCESS_RUNNING;
    follow_by_most(self);
    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\"],\"key\":\"k\"}");
    DID("control process_start_reply ok");
    process_steps_ask(self, "start_request",
                      "{\"argv\":[\"ls\"],\"key\":\"k\",\"follow\":true}");
    HAS("\"ename\":\"ProcessBusy\"", "process_start_reply");
}

static void signals_have_names_and_numbers(void **state)
{
    static const char *const wrong[] = {
        "0", "32", "\"NONE\"", "\"TERM\\u0000x\"", "[]", "9.5",
    };
    session_t *self = *state;

    process_steps_add(self);
    process_steps_ask(self, "signal_request",
                      "{\"process\":1,\"signal\":\"INT\"}");
    DID("keeper SIGNAL 2 0; control process_signal_reply ok");
    process_steps_ask(self, "signal_request", "{\"process\":1,\"signal\":1}");
    DID("keeper SIGNAL 1 0; control process_signal_reply ok");
    process_steps_ask(self, "signal_request", "{\"process\":1,\"signal\":31}");
    DID("keeper SIGNAL 31 0; control process_signal_reply ok");
    process_steps_ask(self, "signal_request", "{\"process\":1}");
    DID("keeper SIGNAL 15 0; control process_signal_reply ok");
    process_steps_ask(self, "signal_request",
                      "{\"process\":1,\"signal\":null}");
    DID("keeper SIGNAL 15 0; control process_signal_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"signal\":%s}", wrong[i]);
        process_steps_ask(self, "signal_request", content);
        process_steps_refused(
            "signal", "BadRequest",
            "signal must be a name like TERM or a number from 1 to 31");
    }
}

static void a_stop_has_its_grace(void **state)
{
    static const char *const wrong[] = {"-1", "600001", "1.5", "\"1\"", "[]"};
    session_t *self = *state;

    process_steps_add(self);
    process_steps_ask(self, "stop_request", "{\"process\":1}");
    DID("keeper STOP 5000 0; control process_stop_reply ok");
    process_steps_ask(self, "stop_request", "{\"process\":1,\"grace_ms\":0}");
    DID("keeper STOP 0 0; control process_stop_reply ok");
    process_steps_ask(self, "stop_request",
                      "{\"process\":1,\"grace_ms\":600000}");
    DID("keeper STOP 600000 0; control process_stop_reply ok");
    process_steps_ask(self, "stop_request",
                      "{\"process\":1,\"grace_ms\":null}");
    DID("keeper STOP 5000 0; control process_stop_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"grace_ms\":%s}", wrong[i]);
        process_steps_ask(self, "stop_request", content);
        process_steps_refused("stop", "BadRequest",
                              "grace_ms must be a number from 0 to 600000");
    }
}

static void only_a_terminal_is_resized(void **state)
{
    static const char *const wrong[] = {"0,\"columns\":80", "25,\"columns\":0",
                                        "4097,\"columns\":80",
                                        "25,\"columns\":4097"};
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    process_steps_ask(self, "resize_request",
                      "{\"process\":1,\"rows\":25,\"columns\":80}");
    process_steps_refused("resize", "BadRequest",
                          "only a process with a terminal can be resized");
    process->is_terminal = true;
    process_steps_ask(self, "resize_request",
                      "{\"process\":1,\"rows\":1,\"columns\":4096}");
    DID("keeper RESIZE 1 4096; control process_resize_reply ok");
    process_steps_ask(self, "resize_request",
                      "{\"process\":1,\"rows\":4096,\"columns\":1}");
    DID("keeper RESIZE 4096 1; control process_resize_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"rows\":%s}", wrong[i]);

        process_steps_ask(self, "resize_request", content);
        process_steps_refused(
            "resize", "BadRequest",
            "rows and columns must be numbers from 1 to 4096");
    }
}

static void one_that_does_not_run_gets_nothing(void **state)
{
    session_t *self = *state;
    process_t *process = process_steps_add(self);

    process->phase = PROCESS_STARTING;
    process_steps_ask(self, "signal_request", "{\"process\":1}");
    process_steps_refused("signal", "ProcessEnded",
                          "process 1 has not begun yet");
    process->phase = PROCESS_RUNNING;
    process->link = NULL;
    process_steps_ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    process_steps_refused("input", "ProcessEnded", "process 1 has ended");
    processes_end(self->processes, process);
    process_steps_ask(self, "stop_request", "{\"process\":1}");
    process_steps_refused("stop", "ProcessEnded", "process 1 has ended");
}

static void what_the_keeper_does_not_take_is_refused(void **state)
{
    session_t *self = *state;

    process_steps_add(self);
    fake_keeper.is_full = true;
    process_steps_ask(self, "signal_request", "{\"process\":1}");
    process_steps_refused("signal", "ProcessBusy",
                          "too much waits for the process");
    process_steps_ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    process_steps_refused("input", "ProcessBusy",
                          "too much waits for the process");
    assert_int_equal(self->processes->first->input.sent, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, process_steps_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(others_are_not_served_here),
        TEST(a_process_is_started),
        TEST(a_key_starts_one_process),
        TEST(a_forgotten_key_starts_nothing),
        TEST(input_comes_with_the_start),
        TEST(what_cannot_be_started_is_refused),
        TEST(too_many_do_not_run),
        TEST(they_are_listed_and_shown),
        TEST(one_that_is_not_there_is_not_found),
        TEST(a_client_follows_takes_and_leaves),
        TEST(an_offset_is_a_number),
        TEST(too_many_do_not_follow),
        TEST(a_start_again_is_answered_to_who_does_not_follow),
        TEST(signals_have_names_and_numbers),
        TEST(a_stop_has_its_grace),
        TEST(only_a_terminal_is_resized),
        TEST(one_that_does_not_run_gets_nothing),
        TEST(what_the_keeper_does_not_take_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
