/* Requests of clients about processes: messages to the keeper, and refusals
 * with their name and sentence. */
#include "gateway/session/processes/process_requests.h"

#include "gateway/session/processes/process_replies.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static int begin(void **state)
{
    fake_keeper = (fake_keeper_t){0};
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    return 0;
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

static message_t *message_of(const char *client, const char *type,
                             const char *content)
{
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"session\":\"%s\",\"msg_type\":\"%s\"}",
                   client, type);
    message_t *message = message_new(text_bytes(header), text_bytes("{}"),
                                     text_bytes("{}"), text_bytes(content));

    message_add_identity(message, client, strlen(client));
    return message;
}

static void serve(session_t *self, message_t *message)
{
    request_t *request = request_new(7, CHANNEL_CONTROL, &message);

    assert_true(process_requests_serve(self, &request));
    assert_null(request);
}

/* Has a client ask for process_WORD. */
static void ask_as(session_t *self, const char *client, const char *word,
                   const char *content)
{
    cleanup_free char *type = mem_format("process_%s", word);

    serve(self, message_of(client, type, content));
}

static void ask(session_t *self, const char *word, const char *content)
{
    ask_as(self, "me", word, content);
}

/* The answer to the last request of that word was this error. */
static void refused(const char *word, const char *ename, const char *evalue)
{
    cleanup_free char *did = mem_format("control process_%s_reply error", word);
    cleanup_free char *type = mem_format("process_%s_reply", word);
    cleanup_free char *text =
        mem_format("\"ename\":\"%s\",\"evalue\":\"%s\"", ename, evalue);

    assert_string_equal(deeds_take(), did);
    assert_non_null(strstr(deeds_content(type), text));
}

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
    message_t *message = message_of("me", "kernel_info_request", "{}");
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

    ask(self, "start_request", "{\"argv\":[\"ls\",\"-l\"],\"follow\":true}");
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

    ask(self, "start_request", wish);
    (void) deeds_take();
    process = processes_find(self->processes, 1);
    assert_string_equal(process->key, "k");
    /* While it starts, once it runs, and when it has ended. */
    ask_as(self, "you", "start_request", wish);
    DID("control process_start_reply ok");
    HAS("\"state\":\"starting\"", "process_start_reply");
    process->phase = PROCESS_RUNNING;
    ask(self, "start_request", wish);
    DID("control process_start_reply ok");
    assert_null(process->next);
    ask(self, "start_request", "{\"argv\":[\"id\"],\"key\":\"k\"}");
    refused("start", "BadRequest",
            "Something else was started before under this key");
    processes_end(self->processes, process);
    process->fate = PROCESS_BY_KERNEL;
    ask(self, "start_request", wish);
    refused("start", "ProcessNotStarted", "it ended with the session's kernel");
    assert_null(process->next);
    ask(self, "start_request", "{\"argv\":[\"ls\"],\"key\":\"other\"}");
    assert_non_null(process->next);
}

/* A command does not run again because it is not known any more how it ended.
 */
static void a_forgotten_key_starts_nothing(void **state)
{
    static const char wish[] = "{\"argv\":[\"ls\"],\"key\":\"k\"}";
    session_t *self = *state;

    ask(self, "start_request", wish);
    processes_end(self->processes, self->processes->first);
    for (int i = 0; i < PROCESSES_ENDED; i++)
        processes_end(self->processes, add(self));
    add(self);
    add(self);
    assert_null(processes_find(self->processes, 1));
    (void) deeds_take();
    ask(self, "start_request", wish);
    refused("start", "KeyForgotten",
            "the command under this key was run before and has ended; how is "
            "not kept any more. To run it again, take another key");
    ask(self, "start_request", "{\"argv\":[\"ls\"],\"key\":\"l\"}");
    assert_non_null(strstr(deeds_take(), "keeper START"));
}

static void input_comes_with_the_start(void **state)
{
    session_t *self = *state;

    ask(self, "start_request", "{\"argv\":[\"cat\"],\"input\":\"abc\"}");
    DID("connect process-1.sock; kernel keeps; "
        "keeper START 0 0 of 6 bytes; keeper INPUT 0 0 of 3 bytes; "
        "keeper INPUT_END 0 0; audit process_start ok by client=me");
}

static void what_cannot_be_started_is_refused(void **state)
{
    session_t *self = *state;

    ask(self, "start_request", "{\"argv\":[]}");
    refused("start", "BadRequest",
            "argv must be a list of 1 to 4096 texts, the program first");
    assert_null(self->processes->first);
    fake_keeper.is_missing = true;
    ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    refused("start", "ProcessNotStarted", "no keeper listens");
    fake_keeper.is_missing = false;
    fake_keeper.is_full = true;
    ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    HAS("\"ename\":\"ProcessBusy\"", "process_start_reply");
    kernel_link_close(self->link);
    (void) deeds_take();
    ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    refused("start", "SessionStarting", "the session's kernel is not ready");
    assert_null(self->processes->first);
}

static void too_many_do_not_run(void **state)
{
    session_t *self = *state;

    for (int i = 0; i < PROCESSES_LIVING; i++)
        add(self);
    ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    refused("start", "TooManyProcesses",
            "64 processes run in this session, which is the limit: end one");
    processes_end(self->processes, self->processes->first);
    ask(self, "start_request", "{\"argv\":[\"ls\"]}");
    assert_non_null(strstr(deeds_take(), "keeper START"));
}

static void they_are_listed_and_shown(void **state)
{
    session_t *self = *state;

    ask(self, "list_request", "{}");
    assert_string_equal(deeds_content("process_list_reply"),
                        "{\"status\":\"ok\",\"processes\":[]}");
    add(self);
    add(self);
    ask(self, "list_request", "{}");
    HAS("\"processes\":[{\"process\":1,", "process_list_reply");
    HAS("},{\"process\":2,", "process_list_reply");
    ask(self, "show_request", "{\"process\":2}");
    HAS("\"process\":{\"process\":2,", "process_show_reply");
}

static void one_that_is_not_there_is_not_found(void **state)
{
    session_t *self = *state;

    add(self);
    ask(self, "show_request", "{\"process\":2}");
    refused("show", "ProcessNotFound", "this session has no process 2");
    ask(self, "show_request", "{}");
    refused("show", "ProcessNotFound", "this session has no process 0");
    ask(self, "show_request", "{\"process\":-1}");
    refused("show", "ProcessNotFound", "this session has no process -1");
}

static void a_client_follows_takes_and_leaves(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    print(process, "abcdef");
    ask(self, "attach_request", "{\"process\":1,\"from\":2}");
    DID("control process_attach_reply ok; control process_output");
    HAS("\"offset\":2", "process_output");
    ask(self, "taken", "{\"process\":1,\"offset\":6}");
    DID("");
    print(process, "gh");
    ask(self, "taken", "{\"process\":1,\"offset\":6}");
    DID("control process_output");
    ask(self, "leave_request", "{\"process\":1}");
    DID("control process_leave_reply ok");
    assert_false(process_feed_has_viewers(process->feed));
    print(process, "i");
    ask(self, "taken", "{\"process\":1,\"offset\":8}");
    DID("");
    ask(self, "attach_request", "{\"process\":1,\"from\":null}");
    HAS("\"offset\":0", "process_output");
}

/* A client that meant another place would get all of the output again. */
static void an_offset_is_a_number(void **state)
{
    static const char *const wrong[] = {"\"2\"", "2.5", "-5", "true", "[2]"};
    session_t *self = *state;
    process_t *process = add(self);

    print(process, "abcdef");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *from =
            mem_format("{\"process\":1,\"from\":%s}", wrong[i]);
        cleanup_free char *offset =
            mem_format("{\"process\":1,\"offset\":%s}", wrong[i]);

        ask(self, "attach_request", from);
        refused("attach", "BadRequest",
                "from must be an offset: a whole number of bytes, 0 or more");
        ask(self, "taken", offset);
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
        ask_as(self, client, "attach_request", "{\"process\":1}");
    }
    (void) deeds_take();
}

static void too_many_do_not_follow(void **state)
{
    session_t *self = *state;

    add(self);
    follow_by_most(self);
    ask(self, "attach_request", "{\"process\":1}");
    refused("attach", "ProcessBusy",
            "8 clients follow this process already, the most: send it again "
            "when one has left");
    ask_as(self, "c0", "attach_request", "{\"process\":1}");
    DID("control process_attach_reply ok");
}

static void a_start_again_is_answered_to_who_does_not_follow(void **state)
{
    session_t *self = *state;

    ask(self, "start_request", "{\"argv\":[\"ls\"],\"key\":\"k\"}");
    processes_find(self->processes, 1)->phase = PROCESS_RUNNING;
    follow_by_most(self);
    ask(self, "start_request", "{\"argv\":[\"ls\"],\"key\":\"k\"}");
    DID("control process_start_reply ok");
    ask(self, "start_request",
        "{\"argv\":[\"ls\"],\"key\":\"k\",\"follow\":true}");
    HAS("\"ename\":\"ProcessBusy\"", "process_start_reply");
}

static void signals_have_names_and_numbers(void **state)
{
    static const char *const wrong[] = {
        "0", "32", "\"NONE\"", "\"TERM\\u0000x\"", "[]", "9.5",
    };
    session_t *self = *state;

    add(self);
    ask(self, "signal_request", "{\"process\":1,\"signal\":\"INT\"}");
    DID("keeper SIGNAL 2 0; control process_signal_reply ok");
    ask(self, "signal_request", "{\"process\":1,\"signal\":1}");
    DID("keeper SIGNAL 1 0; control process_signal_reply ok");
    ask(self, "signal_request", "{\"process\":1,\"signal\":31}");
    DID("keeper SIGNAL 31 0; control process_signal_reply ok");
    ask(self, "signal_request", "{\"process\":1}");
    DID("keeper SIGNAL 15 0; control process_signal_reply ok");
    ask(self, "signal_request", "{\"process\":1,\"signal\":null}");
    DID("keeper SIGNAL 15 0; control process_signal_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"signal\":%s}", wrong[i]);
        ask(self, "signal_request", content);
        refused("signal", "BadRequest",
                "signal must be a name like TERM or a number from 1 to 31");
    }
}

static void a_stop_has_its_grace(void **state)
{
    static const char *const wrong[] = {"-1", "600001", "1.5", "\"1\"", "[]"};
    session_t *self = *state;

    add(self);
    ask(self, "stop_request", "{\"process\":1}");
    DID("keeper STOP 5000 0; control process_stop_reply ok");
    ask(self, "stop_request", "{\"process\":1,\"grace_ms\":0}");
    DID("keeper STOP 0 0; control process_stop_reply ok");
    ask(self, "stop_request", "{\"process\":1,\"grace_ms\":600000}");
    DID("keeper STOP 600000 0; control process_stop_reply ok");
    ask(self, "stop_request", "{\"process\":1,\"grace_ms\":null}");
    DID("keeper STOP 5000 0; control process_stop_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"grace_ms\":%s}", wrong[i]);
        ask(self, "stop_request", content);
        refused("stop", "BadRequest",
                "grace_ms must be a number from 0 to 600000");
    }
}

static void only_a_terminal_is_resized(void **state)
{
    static const char *const wrong[] = {"0,\"columns\":80", "25,\"columns\":0",
                                        "4097,\"columns\":80",
                                        "25,\"columns\":4097"};
    session_t *self = *state;
    process_t *process = add(self);

    ask(self, "resize_request", "{\"process\":1,\"rows\":25,\"columns\":80}");
    refused("resize", "BadRequest",
            "only a process with a terminal can be resized");
    process->is_terminal = true;
    ask(self, "resize_request", "{\"process\":1,\"rows\":1,\"columns\":4096}");
    DID("keeper RESIZE 1 4096; control process_resize_reply ok");
    ask(self, "resize_request", "{\"process\":1,\"rows\":4096,\"columns\":1}");
    DID("keeper RESIZE 4096 1; control process_resize_reply ok");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"rows\":%s}", wrong[i]);

        ask(self, "resize_request", content);
        refused("resize", "BadRequest",
                "rows and columns must be numbers from 1 to 4096");
    }
}

static void one_that_does_not_run_gets_nothing(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->phase = PROCESS_STARTING;
    ask(self, "signal_request", "{\"process\":1}");
    refused("signal", "ProcessEnded", "process 1 has not begun yet");
    process->phase = PROCESS_RUNNING;
    process->link = NULL;
    ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    refused("input", "ProcessEnded", "process 1 has ended");
    processes_end(self->processes, process);
    ask(self, "stop_request", "{\"process\":1}");
    refused("stop", "ProcessEnded", "process 1 has ended");
}

static void what_the_keeper_does_not_take_is_refused(void **state)
{
    session_t *self = *state;

    add(self);
    fake_keeper.is_full = true;
    ask(self, "signal_request", "{\"process\":1}");
    refused("signal", "ProcessBusy", "too much waits for the process");
    ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    refused("input", "ProcessBusy", "too much waits for the process");
    assert_int_equal(self->processes->first->input.sent, 0);
}

static void input_is_text_or_a_buffer_and_may_end(void **state)
{
    session_t *self = *state;
    const process_t *process = add(self);
    message_t *message = message_of("me", "process_input_request",
                                    "{\"process\":1,\"text\":\"ignored\"}");

    ask(self, "input_request", "{\"process\":1,\"text\":\"abc\"}");
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
    message_add_buffer(message, "\0b", 2);
    serve(self, message);
    DID("keeper INPUT 0 0 of 2 bytes; control process_input_reply ok");
    ask(self, "input_request", "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
    assert_int_equal(process->input.sent, 5);
}

static void input_of_another_type_is_refused(void **state)
{
    static const char *const wrong[] = {"7", "[\"a\"]", "true", "{}"};
    session_t *self = *state;
    const process_t *process = add(self);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"text\":%s,\"end\":true}", wrong[i]);
        ask(self, "input_request", content);
        refused("input", "BadRequest",
                "text must be a text; bytes are a buffer");
    }
    assert_int_equal(process->input.sent, 0);
    ask(self, "input_request", "{\"process\":1,\"text\":null}");
    DID("control process_input_reply ok");
}

static void an_end_of_another_type_is_refused(void **state)
{
    static const char *const wrong[] = {"1", "\"true\"", "[]", "{}"};
    session_t *self = *state;
    const process_t *process = add(self);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *content =
            mem_format("{\"process\":1,\"text\":\"a\",\"end\":%s}", wrong[i]);
        ask(self, "input_request", content);
        refused("input", "BadRequest", "end must be true or false");
    }
    assert_int_equal(process->input.sent, 0);
    ask(self, "input_request", "{\"process\":1,\"end\":null}");
    DID("control process_input_reply ok");
    ask(self, "input_request", "{\"process\":1,\"end\":false}");
    DID("control process_input_reply ok");
}

static void much_input_waits_in_pieces(void **state)
{
    static char most[KEEPER_INPUT_MAX];
    session_t *self = *state;
    process_t *process = add(self);
    message_t *message =
        message_of("me", "process_input_request", "{\"process\":1}");

    message_add_buffer(message, most, KEEPER_PIECE_MAX + 1);
    serve(self, message);
    DID("keeper INPUT 0 0 of 32768 bytes; keeper INPUT 0 0 of 1 bytes; "
        "control process_input_reply ok");
    message = message_of("me", "process_input_request", "{\"process\":1}");
    message_add_buffer(message, most, sizeof most);
    serve(self, message);
    refused("input", "ProcessBusy",
            "32769 bytes of input wait for the process, and at most 262144 "
            "may: send more when it has read them (process_input_taken)");
    process->input.taken = KEEPER_PIECE_MAX + 1;
    message = message_of("me", "process_input_request", "{\"process\":1}");
    message_add_buffer(message, most, sizeof most);
    serve(self, message);
    assert_non_null(strstr(deeds_take(), "control process_input_reply ok"));
    assert_int_equal(process->input.sent, sizeof most + KEEPER_PIECE_MAX + 1);
    ask(self, "input_request", "{\"process\":1,\"text\":\"\"}");
    DID("control process_input_reply ok");
    /* A keeper that says to have less than it had. */
    process->input.taken = 0;
    ask(self, "input_request", "{\"process\":1,\"text\":\"\"}");
    HAS("\"ename\":\"ProcessBusy\"", "process_input_reply");
}

#define ONCE(text) "{\"process\":1,\"text\":\"" text "\",\"key\":\"k\"}"

static void input_under_a_key_is_passed_on_once(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->noted = 44;
    ask(self, "input_request", ONCE("abc"));
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
    HAS("\"output\":44", "process_input_reply");
    HAS("\"key\":\"k\"", "journal process_input");
    process->noted = 50;
    ask(self, "input_request", ONCE("abc"));
    DID("control process_input_reply ok");
    HAS("\"output\":44", "process_input_reply");
    ask(self, "input_request", ONCE("abd"));
    refused("input", "BadRequest",
            "Something else was written before under this key");
    processes_end(self->processes, process);
    ask(self, "input_request", ONCE("abc"));
    DID("control process_input_reply ok");
    ask(self, "input_request", "{\"process\":1,\"text\":\"a\",\"key\":\"\"}");
    refused("input", "BadRequest",
            "key must be a text of 1 to 255 bytes without NUL");
}

/* The keeper has got two bytes of the three that the last gateway noted. */
static void the_next_gateway_passes_on_the_rest(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    ask(self, "input_request", ONCE("abc"));
    (void) deeds_take();
    process->input.writes.items[0].arrived = 0;
    process->input.writes.is_unsettled = true;
    ask(self, "input_request", ONCE("abc"));
    refused("input", "SessionStarting",
            "it is not known yet how much of its input process 1 has got: "
            "send it again");
    process_writes_settle(&process->input.writes, 2);
    ask(self, "input_request", ONCE("abc"));
    DID("keeper INPUT 0 0 of 1 bytes; control process_input_reply ok");
    assert_string_equal(deeds_content("INPUT"), "c");
    ask(self, "input_request", ONCE("abc"));
    DID("control process_input_reply ok");
}

static void input_that_is_not_passed_on_is_not_kept(void **state)
{
    session_t *self = *state;
    const process_t *process = add(self);

    fake_outside.is_journal_lost = true;
    ask(self, "input_request", ONCE("abc"));
    HAS("\"status\":\"error\"", "process_input_reply");
    assert_int_equal(process->input.sent, 0);
    fake_outside.is_journal_lost = false;
    fake_keeper.is_full = true;
    ask(self, "input_request", ONCE("abc"));
    HAS("\"ename\":\"ProcessBusy\"", "process_input_reply");
    assert_int_equal(process->input.writes.count, 0);
    fake_keeper.is_full = false;
    (void) deeds_take();
    ask(self, "input_request", ONCE("abc"));
    DID("keeper INPUT 0 0 of 3 bytes; control process_input_reply ok");
}

static void nothing_is_written_after_the_end_of_the_input(void **state)
{
    session_t *self = *state;
    const process_t *process = add(self);

    ask(self, "input_request", "{\"process\":1,\"text\":\"a\",\"end\":true}");
    DID("keeper INPUT 0 0 of 1 bytes; keeper INPUT_END 0 0; "
        "control process_input_reply ok");
    assert_true(process->input.is_over);
    HAS("\"end\":true", "journal process_input");
    ask(self, "input_request", "{\"process\":1,\"text\":\"b\"}");
    refused("input", "BadRequest",
            "process 1 takes no input: it was started without, or its input "
            "has ended; start it with input true, or stdin of MCP's tool "
            "session");
    assert_int_equal(process->input.sent, 1);
    /* To end it again does no harm. */
    ask(self, "input_request", "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
}

/* Its end is a byte, which is passed on once as others are. */
static void the_input_of_a_terminal_goes_on_after_its_end(void **state)
{
    static const char once[] = "{\"process\":1,\"end\":true,\"key\":\"k\"}";
    session_t *self = *state;
    process_t *process = add(self);

    process->is_terminal = true;
    ask(self, "input_request", once);
    DID("keeper INPUT 0 0 of 1 bytes; control process_input_reply ok");
    assert_string_equal(deeds_content("INPUT"), "\004");
    ask(self, "input_request", once);
    DID("control process_input_reply ok");
    ask(self, "input_request", "{\"process\":1,\"end\":true}");
    DID("keeper INPUT_END 0 0; control process_input_reply ok");
    assert_false(process->input.is_over);
}

static void only_a_terminals_input_is_activity(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    self->spec->times.idle_timeout_ms = 4444;
    ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    assert_int_not_equal(fake_outside.delay_ms, 4444);
    process->is_terminal = true;
    ask(self, "input_request", "{\"process\":1,\"text\":\"a\"}");
    assert_int_equal(fake_outside.delay_ms, 4444);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

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
        TEST(input_is_text_or_a_buffer_and_may_end),
        TEST(input_of_another_type_is_refused),
        TEST(an_end_of_another_type_is_refused),
        TEST(much_input_waits_in_pieces),
        TEST(only_a_terminals_input_is_activity),
        TEST(input_under_a_key_is_passed_on_once),
        TEST(the_next_gateway_passes_on_the_rest),
        TEST(input_that_is_not_passed_on_is_not_kept),
        TEST(nothing_is_written_after_the_end_of_the_input),
        TEST(the_input_of_a_terminal_goes_on_after_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
