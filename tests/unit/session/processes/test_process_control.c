/* The life of a process beside the kernel: its start, the messages of its
 * keeper, its records in the journal, its end, and its state after a take-over.
 */
#include "gateway/session/processes/process_control.h"

#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/processes/process_records.h"
#include "gateway/session/processes/process_replies.h"
#include "protocol/jspan.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
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

static request_t *ask(const char *client, const char *type)
{
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"session\":\"%s\",\"msg_type\":\"%s\"}",
                   client, type);
    message_t *message = message_new(text_bytes(header), text_bytes("{}"),
                                     text_bytes("{}"), text_bytes("{}"));

    message_add_identity(message, client, strlen(client));
    return request_new(7, CHANNEL_CONTROL, &message);
}

/* Starts what the wish says. Returns 0 or -EXXX. */
static int try(session_t *self, const char *json, fault_t *fault)
{
    cleanup_process_wish process_wish_t wish = {0};
    process_t *process;
    jspan_t content;
    int r;

    assert_int_equal(jspan_check(json, strlen(json), &content, fault), 0);
    assert_int_equal(process_wish_read(&wish, content, fault), 0);
    process = processes_add(self->processes, 0);
    process_wish_describe(&wish, process);
    process->who = mem_text("uid=1");
    r = process_control_start(self, process, &wish, fault);
    if (r == 0)
        process->start.request = ask("me", "process_start_request");
    return r;
}

/* Returns a process whose start was asked for. */
static process_t *start(session_t *self)
{
    fault_t fault;

    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), 0);
    (void) deeds_take();
    return fake_keeper.arg;
}

/* Has the keeper of the last process say something. Returns false if the
 * connection has ended by it. */
static bool say(keeper_kind_t kind, uint64_t one, uint64_t two, uint64_t three,
                uint64_t four, const char *data)
{
    keeper_message_t message = {
        kind, {one, two, three, four}, text_bytes(data)};

    return fake_keeper.ops->on_message(fake_keeper.arg, &message);
}

static bool print(uint64_t offset, uint64_t stream, const char *text)
{
    return say(KEEPER_OUTPUT, offset, stream, 0, 0, text);
}

static process_t *run(session_t *self)
{
    process_t *process = start(self);

    assert_true(say(KEEPER_HELLO, 1, 0, 0, 0, ""));
    assert_true(say(KEEPER_STARTED, 77, 0, 0, 0, ""));
    (void) deeds_take();
    return process;
}

static void follow(process_t *process, const char *client)
{
    request_t *request = ask(client, "process_attach_request");
    fault_t fault;

    assert_int_equal(process_feed_attach(process->feed, &request, 0,
                                         fake_outside.now_ms, &fault),
                     0);
}

static uint64_t records(const session_t *self)
{
    return journal_last_seq(self->journal);
}

static void a_start_is_asked_for_and_journaled(void **state)
{
    session_t *self = *state;
    uint64_t before = records(self);
    const process_t *process;
    fault_t fault;

    assert_int_equal(try(self, "{\"argv\":[\"ls\",\"-l\"]}", &fault), 0);
    DID("connect process-1.sock; kernel keeps; keeper START 0 0 of 8 bytes; "
        "keeper INPUT_END 0 0; audit process_start ok by uid=1");
    process = fake_keeper.arg;
    assert_int_equal(records(self), before + 1);
    assert_int_equal(process->asked_ms, fake_outside.now_ms);
    assert_int_equal(process->started_us, fake_outside.now_ms * 1000);
    assert_int_equal(fake_outside.delay_ms, PROCESS_LOOK_MS);
}

static void input_that_comes_later_is_not_ended(void **state)
{
    session_t *self = *state;
    fault_t fault;

    assert_int_equal(try(self, "{\"argv\":[\"ls\"],\"input\":true}", &fault),
                     0);
    assert_null(strstr(deeds_take(), "INPUT_END"));
    assert_int_equal(
        try(self, "{\"argv\":[\"ls\"],\"terminal\":{\"rows\":2,\"columns\":3}}",
            &fault),
        0);
    assert_null(strstr(deeds_take(), "INPUT_END"));
}

static void what_cannot_start_leaves_nothing(void **state)
{
    session_t *self = *state;
    fault_t fault;

    fake_keeper.is_missing = true;
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -ECONNREFUSED);
    fake_keeper = (fake_keeper_t){.is_refused = true};
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -EAGAIN);
    fake_keeper = (fake_keeper_t){.is_full = true};
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -EBUSY);
    fake_keeper = (fake_keeper_t){0};
    fake_outside.is_journal_lost = true;
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -ENOSPC);
    fake_outside.is_journal_lost = false;
    assert_null(self->processes->first);
    assert_null(strstr(deeds_take(), "audit"));
}

static void without_a_kernel_nothing_starts(void **state)
{
    session_t *self = *state;
    fault_t fault;

    kernel_link_cut(self->link);
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -EAGAIN);
    assert_string_equal(fault.text, "the session's kernel is not ready");
    fake_session_ready(self);
    session_state_step(self->state, STATE_ON_EXIT);
    assert_int_equal(try(self, "{\"argv\":[\"ls\"]}", &fault), -EAGAIN);
}

static void its_start_is_answered(void **state)
{
    session_t *self = *state;
    const process_t *process = start(self);

    assert_true(say(KEEPER_STARTED, 77, 0, 0, 0, ""));
    DID("control process_start_reply ok");
    assert_int_equal(process->phase, PROCESS_RUNNING);
    assert_int_equal(process->pid, 77);
    assert_true(process_control_keeps_awake(self));
}

static void output_is_journaled_and_taken(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);
    uint64_t before = records(self);

    follow(process, "me");
    assert_true(print(0, KEEPER_STDOUT, "abc"));
    assert_true(print(3, KEEPER_STDERR, "d"));
    DID("keeper TAKEN 3 0; keeper TAKEN 4 0");
    fake_keeper.ops->on_pause(process);
    DID("control process_output; control process_output");
    assert_int_equal(records(self), before + 2);
    assert_int_equal(process->bytes[0], 3);
    assert_int_equal(process->bytes[1], 1);
    assert_int_equal(process->recorded, 4);
    /* Again, with one that is new. */
    assert_true(print(0, KEEPER_STDOUT, "abc"));
    assert_true(print(3, KEEPER_STDOUT, "de"));
    DID("keeper TAKEN 5 0");
    assert_int_equal(process->bytes[0], 4);
    assert_int_equal(records(self), before + 3);
}

static void past_its_share_output_is_counted_alone(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);
    uint64_t before = records(self);

    process->recorded = PROCESS_RECORDED - 2;
    assert_true(print(0, KEEPER_STDOUT, "abc"));
    assert_int_equal(process->recorded, PROCESS_RECORDED);
    assert_true(print(3, KEEPER_STDOUT, "def"));
    assert_int_equal(records(self), before + 1);
    assert_int_equal(process->bytes[0], 6);
}

static void a_hole_in_the_output_ends_it(void **state)
{
    session_t *self = *state;
    const process_t *process = run(self);

    assert_true(print(0, KEEPER_STDOUT, "abc"));
    assert_false(print(5, KEEPER_STDOUT, "abc"));
    assert_int_equal(process->phase, PROCESS_ENDED);
    assert_int_equal(process->fate, PROCESS_LOST);
}

static void past_the_limit_it_is_stopped_once(void **state)
{
    session_t *self = *state;
    const process_t *process = run(self);

    self->spec->limits.cell_output = 4;
    assert_true(print(0, KEEPER_STDOUT, "abcd"));
    DID("keeper TAKEN 4 0");
    assert_true(print(4, KEEPER_STDERR, "e"));
    DID("LIMIT output; keeper STOP 0 0; keeper TAKEN 5 0");
    assert_true(print(5, KEEPER_STDOUT, "f"));
    DID("keeper TAKEN 6 0");
    assert_false(
        say(KEEPER_ENDED, KEEPER_SIGNALLED, 15, KEEPER_BY_REQUEST, 9, ""));
    assert_int_equal(process->fate, PROCESS_BY_OUTPUT);
}

static void clients_hear_of_input_that_was_taken(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);

    follow(process, "me");
    process->input.sent = 5;
    assert_true(say(KEEPER_INPUT_TAKEN, 3, 5, 0, 0, ""));
    DID("control process_input_taken");
    assert_false(process->input.is_unread);
    assert_true(say(KEEPER_INPUT_TAKEN, 3, 5, 0, 0, ""));
    assert_true(say(KEEPER_INPUT_TAKEN, 2, 5, 0, 0, ""));
    DID("");
    assert_int_equal(process->input.taken, 3);
    assert_int_equal(process->input.sent, 5);
    assert_true(say(KEEPER_INPUT_TAKEN, 6, 8, 0, 0, ""));
    assert_int_equal(process->input.sent, 8);
    assert_true(say(KEEPER_INPUT_TAKEN, 10, 8, 0, 0, ""));
    assert_int_equal(process->input.sent, 10);
    assert_true(say(KEEPER_INPUT_TAKEN, 10, 10, 1, 0, ""));
    assert_true(process->input.is_unread);
}

static void its_end_is_journaled_and_noted(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);
    uint64_t before = records(self);

    follow(process, "me");
    fake_outside.now_ms += 10;
    assert_false(say(KEEPER_ENDED, KEEPER_EXITED, 3, KEEPER_BY_ITSELF, 9, ""));
    DID("keeper DISMISS 0 0; audit process_end ok by uid=1; "
        "control process_ended");
    HAS("\"exit_code\":3,\"cpu_ms\":9", "process_ended");
    assert_int_equal(records(self), before + 1);
    assert_int_equal(process->ended_us, fake_outside.now_ms * 1000);
    assert_null(process->link);
    assert_false(process_control_keeps_awake(self));
}

static void a_keeper_says_nothing_of_a_gateways(void **state)
{
    static const keeper_kind_t kinds[] = {
        KEEPER_START,  KEEPER_INPUT, KEEPER_INPUT_END, KEEPER_SIGNAL,
        KEEPER_RESIZE, KEEPER_STOP,  KEEPER_TAKEN,     KEEPER_DISMISS};
    session_t *self = *state;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const process_t *process = run(self);

        assert_false(say(kinds[i], 1, 0, 0, 0, ""));
        assert_int_equal(process->fate, PROCESS_LOST);
    }
    assert_int_equal(self->processes->living, 0);
}

/* Lets time go by until the session looks. */
static void pass(session_t *self, int64_t ms)
{
    fake_outside.now_ms += ms;
    fake_outside.delay_ms = 0;
    timers_stop(self->timers, TIMER_PROCESSES);
    process_control_on_timer(self);
}

static void one_that_does_not_begin_is_lost(void **state)
{
    session_t *self = *state;
    const process_t *process = start(self);

    pass(self, 30000);
    DID("");
    assert_int_equal(fake_outside.delay_ms, PROCESS_LOOK_MS);
    pass(self, 1);
    assert_int_equal(process->fate, PROCESS_LOST);
    assert_non_null(strstr(deeds_take(), "control process_start_reply error"));
    HAS("\"ename\":\"ProcessNotStarted\"", "process_start_reply");
    assert_int_equal(fake_outside.delay_ms, 0);
}

static void one_whose_keeper_ended_is_lost_a_moment_later(void **state)
{
    session_t *self = *state;
    const process_t *process = run(self);

    fake_outside.delay_ms = 0;
    fake_keeper.ops->on_closed(fake_keeper.arg, "its keeper has ended");
    assert_null(process->link);
    assert_int_equal(process->phase, PROCESS_RUNNING);
    pass(self, 499);
    DID("");
    assert_int_equal(fake_outside.delay_ms, PROCESS_LOOK_MS);
    pass(self, 1);
    assert_int_equal(process->fate, PROCESS_LOST);
    assert_int_equal(process->phase, PROCESS_ENDED);
    (void) deeds_take();
    pass(self, 1000);
    DID("");
}

static void with_the_kernel_all_end(void **state)
{
    session_t *self = *state;
    const process_t *first = run(self);
    const process_t *second = run(self);
    const process_t *third = run(self);

    assert_false(say(KEEPER_ENDED, KEEPER_EXITED, 0, KEEPER_BY_ITSELF, 0, ""));
    process_control_end_all(self);
    assert_int_equal(first->fate, PROCESS_BY_KERNEL);
    assert_int_equal(second->fate, PROCESS_BY_KERNEL);
    assert_int_equal(third->fate, PROCESS_BY_KEEPER);
    assert_int_equal(self->processes->living, 0);
}

/* ---- the session's memory ---- */

static unsigned kills; /* that the session's group has counted */
static bool kills_all;

bool __wrap_resource_monitor_take_kill(resource_monitor_t *self);
bool __wrap_resource_monitor_kills_all(const resource_monitor_t *self);

bool __wrap_resource_monitor_take_kill(resource_monitor_t *self)
{
    assert_non_null(self);
    return kills && kills--;
}

bool __wrap_resource_monitor_kills_all(const resource_monitor_t *self)
{
    assert_non_null(self);
    return kills_all;
}

static void only_a_kill_that_was_counted_is_of_the_memory(void **state)
{
    static const struct {
        uint64_t end, code, cause;
        bool can_be_memory;
    } rows[] = {
        {KEEPER_SIGNALLED, SIGKILL, KEEPER_BY_ITSELF, true},
        {KEEPER_EXITED, 128 + SIGKILL, KEEPER_BY_ITSELF, true},
        {KEEPER_SIGNALLED, SIGTERM, KEEPER_BY_ITSELF, false},
        {KEEPER_EXITED, SIGKILL, KEEPER_BY_ITSELF, false},
        {KEEPER_EXITED, 0, KEEPER_BY_ITSELF, false},
        {KEEPER_SIGNALLED, SIGKILL, KEEPER_BY_REQUEST, false},
        {KEEPER_SIGNALLED, SIGKILL, KEEPER_BY_LIMIT, false},
    };
    session_t *self = *state;

    self->spec->limits.memory = 64 << 20;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (kills = 0; kills <= 1; kills++) {
            bool is_memory = kills && rows[i].can_be_memory;
            unsigned before = kills;
            const process_t *process = run(self);

            assert_false(say(KEEPER_ENDED, rows[i].end, rows[i].code,
                             rows[i].cause, 5, ""));
            assert_int_equal(process->fate,
                             is_memory ? PROCESS_BY_MEMORY : PROCESS_BY_KEEPER);
            assert_int_equal(process->memory_limit, is_memory ? 64 << 20 : 0);
            assert_int_equal(process->cpu_ms, 5);
            assert_int_equal(kills, before - is_memory);
            kills = before;
        }
    kills = 0;
}

static void a_group_that_ends_all_ends_each_process(void **state)
{
    session_t *self = *state;

    self->spec->limits.memory = 64 << 20;
    for (int i = 0; i < 4; i++) {
        const process_t *process = run(self);
        bool is_memory = i == 3;

        self->cause.reason = i & 1 ? END_REASON_MEMORY : END_REASON_SIGNAL;
        kills_all = i & 2;
        process_control_end_all(self);
        assert_int_equal(process->fate,
                         is_memory ? PROCESS_BY_MEMORY : PROCESS_BY_KERNEL);
        assert_int_equal(process->memory_limit, is_memory ? 64 << 20 : 0);
    }
    kills_all = false;
}

/* A shell that was forgotten would keep its session for ever. */
static void a_terminal_keeps_nothing_awake(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);

    process->is_terminal = true;
    assert_false(process_control_keeps_awake(self));
}

static void clients_that_say_nothing_are_forgotten(void **state)
{
    session_t *self = *state;
    process_t *process = run(self);

    follow(process, "me");
    pass(self, PROCESS_LEASE_MS);
    assert_int_equal(fake_outside.delay_ms, PROCESS_LOOK_MS);
    pass(self, 1);
    assert_false(process_feed_has_viewers(process->feed));
    assert_int_equal(fake_outside.delay_ms, 0);
}

static void recall(session_t *self, const char *type, const char *content)
{
    journal_record_t record = {.kind = JOURNAL_STATE,
                               .content = text_bytes(content)};

    snprintf(record.type, sizeof record.type, "%s", type);
    process_records_recall(self, &record);
}

static const char known[] =
    "{\"process\":3,\"argv\":[\"ls\"],\"cwd\":\".\",\"terminal\":false,"
    "\"who\":\"uid=1\",\"state\":\"starting\",\"started_us\":5,"
    "\"stdout_bytes\":0,\"stderr_bytes\":0}";

static void another_gateways_are_found(void **state)
{
    session_t *self = *state;
    const process_t *process;

    recall(self, "process", known);
    recall(self, "process_output", "{\"process\":3,\"size\":9}");
    recall(self, "process_output", "{\"process\":3,\"size\":-9}");
    recall(self, "process_output", "{\"process\":4,\"size\":9}");
    recall(self, "process", "{\"process\":5}");
    recall(self, "process", "{\"process\":0,\"argv\":[]}");
    recall(self, "process", "{");
    process = self->processes->first;
    assert_null(process->next);
    assert_int_equal(process->number, 3);
    assert_int_equal(process->recorded, 9);
    process_control_find(self);
    DID("connect process-3.sock");
    assert_int_equal(process->phase, PROCESS_RUNNING);
    assert_true(process->input.writes.is_unsettled);
    assert_true(say(KEEPER_INPUT_TAKEN, 0, 0, 0, 0, ""));
    assert_false(process->input.writes.is_unsettled);
    assert_true(say(KEEPER_HELLO, 1, 7, 1, 2, ""));
    assert_int_equal(process->bytes[0], 5);
    assert_int_equal(process->bytes[1], 2);
    /* What was taken before is not counted again. */
    assert_true(print(5, KEEPER_STDOUT, "abc"));
    assert_int_equal(process->bytes[0], 6);
    assert_int_equal(process->recorded, 10);
}

static void what_a_keeper_counts_cannot_be_undone(void **state)
{
    session_t *self = *state;
    const process_t *process = run(self);

    assert_true(print(0, KEEPER_STDOUT, "abcde"));
    assert_true(say(KEEPER_HELLO, 1, 5, 1, 2, ""));
    assert_int_equal(process->bytes[0], 5);
    assert_true(say(KEEPER_HELLO, 1, 6, 1, 7, ""));
    assert_int_equal(process->bytes[0], 5);
    assert_true(say(KEEPER_HELLO, 1, 6, 1, 6, ""));
    assert_int_equal(process->bytes[0], 0);
    assert_int_equal(process->bytes[1], 6);
}

static void one_that_had_ended_is_not_looked_for(void **state)
{
    session_t *self = *state;
    const process_t *process;

    recall(self, "process", known);
    recall(self, "process_ended", known);
    process = processes_find(self->processes, 3);
    assert_int_equal(process->phase, PROCESS_ENDED);
    process_control_find(self);
    DID("");
}

static void one_that_is_not_found_is_lost(void **state)
{
    session_t *self = *state;

    recall(self, "process", known);
    fake_keeper.is_missing = true;
    process_control_find(self);
    assert_int_equal(processes_find(self->processes, 3)->fate, PROCESS_LOST);
    assert_int_equal(self->processes->living, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_start_is_asked_for_and_journaled),
        TEST(input_that_comes_later_is_not_ended),
        TEST(what_cannot_start_leaves_nothing),
        TEST(without_a_kernel_nothing_starts),
        TEST(its_start_is_answered),
        TEST(output_is_journaled_and_taken),
        TEST(past_its_share_output_is_counted_alone),
        TEST(a_hole_in_the_output_ends_it),
        TEST(past_the_limit_it_is_stopped_once),
        TEST(clients_hear_of_input_that_was_taken),
        TEST(its_end_is_journaled_and_noted),
        TEST(a_keeper_says_nothing_of_a_gateways),
        TEST(one_that_does_not_begin_is_lost),
        TEST(one_whose_keeper_ended_is_lost_a_moment_later),
        TEST(with_the_kernel_all_end),
        TEST(only_a_kill_that_was_counted_is_of_the_memory),
        TEST(a_group_that_ends_all_ends_each_process),
        TEST(a_terminal_keeps_nothing_awake),
        TEST(clients_that_say_nothing_are_forgotten),
        TEST(another_gateways_are_found),
        TEST(what_a_keeper_counts_cannot_be_undone),
        TEST(one_that_had_ended_is_not_looked_for),
        TEST(one_that_is_not_found_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
