/* The records of a process in the journal and in the audit log, and what the
 * next gateway reads in them. */
#include "gateway/session/processes/process_records.h"

#include "tests/lib/fake_keeper.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define NOTED(of)     deeds_content("journal " of)
#define HAS(text, of) assert_non_null(strstr(NOTED(of), text))

static process_t *add(session_t *self)
{
    process_t *process = processes_add(self->processes, 0);

    process->arguments = mem_text("[\"ls\"]");
    process->folder = mem_text(".");
    process->who = mem_text("uid=1");
    (void) deeds_take();
    return process;
}

static void a_start_is_journaled_and_audited(void **state)
{
    session_t *self = *state;
    const process_t *process = add(self);
    fault_t fault;

    assert_int_equal(process_records_start(self, process, &fault), 0);
    DID("audit process_start ok by uid=1");
    HAS("\"process\":1,\"argv\":[\"ls\"]", "process");
}

static void a_start_that_is_not_journaled_is_not_audited(void **state)
{
    session_t *self = *state;
    const process_t *process = add(self);
    fault_t fault;

    fake_outside.is_journal_lost = true;
    assert_true(process_records_start(self, process, &fault) < 0);
    DID("");
}

static void output_is_journaled_by_its_stream(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process_records_output(self, process, 5, KEEPER_STDOUT, text_bytes("abc"));
    assert_string_equal(NOTED("process_output"),
                        "{\"process\":1,\"stream\":\"stdout\",\"offset\":5,"
                        "\"size\":3,\"text\":\"abc\"}");
    process_records_output(self, process, 8, KEEPER_STDERR, text_bytes("d"));
    HAS("\"stream\":\"stderr\",\"offset\":8", "process_output");
    assert_int_equal(process->recorded, 4);
}

static void output_past_its_share_is_left_out(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->recorded = PROCESS_RECORDED - 2;
    process_records_output(self, process, 0, KEEPER_STDOUT, text_bytes("abc"));
    HAS("\"size\":2,\"text\":\"ab\"", "process_output");
    assert_int_equal(process->recorded, PROCESS_RECORDED);
    deeds_forget();
    process_records_output(self, process, 3, KEEPER_STDOUT, text_bytes("def"));
    assert_string_equal(NOTED("process_output"), "");
    assert_int_equal(process->recorded, PROCESS_RECORDED);
}

/* A pipe cuts characters anywhere. */
static void a_character_that_comes_in_pieces_is_whole(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process_records_output(self, process, 0, KEEPER_STDOUT,
                           text_bytes("a\xe2"));
    HAS("\"offset\":0,\"size\":1,\"text\":\"a\"", "process_output");
    deeds_forget();
    process_records_output(self, process, 2, KEEPER_STDOUT, text_bytes("\x82"));
    assert_string_equal(NOTED("process_output"), "");
    process_records_output(self, process, 3, KEEPER_STDOUT,
                           text_bytes("\xac\xe2"));
    HAS("\"offset\":1,\"size\":3,\"text\":\"\xe2\x82\xac\"", "process_output");
    /* Another stream does not complete it, nor does the end. */
    process_records_output(self, process, 5, KEEPER_STDERR, text_bytes("\xc3"));
    HAS("\"stdout\",\"offset\":4,\"size\":1,\"text\":\"\xef\xbf\xbd\"",
        "process_output");
    assert_int_equal(process->recorded, 5);
    process->fate = PROCESS_LOST;
    processes_end(self->processes, process);
    process_records_end(self, process);
    HAS("\"stderr\",\"offset\":5,\"size\":1", "process_output");
    assert_int_equal(process->recorded, 6);
}

static void a_character_past_its_share_is_left_out(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->recorded = PROCESS_RECORDED - 1;
    process_records_output(self, process, 0, KEEPER_STDOUT,
                           text_bytes("\xe2\x82\xac"));
    assert_string_equal(NOTED("process_output"), "");
    process_records_output(self, process, 3, KEEPER_STDOUT, text_bytes("b"));
    HAS("\"size\":1", "process_output");
    assert_int_equal(process->recorded, PROCESS_RECORDED);
    deeds_forget();
    process_records_end(self, process);
    assert_string_equal(NOTED("process_output"), "");
}

static void an_end_is_journaled_and_audited(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->code = 3;
    process->fate = PROCESS_BY_KEEPER;
    process->end = KEEPER_EXITED;
    processes_end(self->processes, process);
    (void) deeds_take();
    process_records_end(self, process);
    DID("audit process_end ok by uid=1");
    HAS("\"exit_code\":3", "process_ended");
}

/* The process has ended, whatever the journal takes. */
static void an_end_is_audited_without_a_journal(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);

    process->fate = PROCESS_LOST;
    processes_end(self->processes, process);
    (void) deeds_take();
    fake_outside.is_journal_lost = true;
    process_records_end(self, process);
    DID("audit process_end lost by uid=1");
}

static void recall(session_t *self, const char *type, const char *content)
{
    journal_record_t record = {.kind = JOURNAL_STATE,
                               .content = text_bytes(content)};

    snprintf(record.type, sizeof record.type, "%s", type);
    process_records_recall(self, &record);
}

static void its_records_are_read_by_the_next_gateway(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);
    cleanup_free char *start = NULL, *output = NULL, *ended = NULL;
    fault_t fault;

    assert_int_equal(process_records_start(self, process, &fault), 0);
    process_records_output(self, process, 0, KEEPER_STDOUT, text_bytes("abc"));
    process->code = 3;
    process->end = KEEPER_EXITED;
    start = mem_text(NOTED("process"));
    output = mem_text(NOTED("process_output"));
    processes_end(self->processes, process);
    process_records_end(self, process);
    ended = mem_text(NOTED("process_ended"));
    processes_remove(self->processes, process);

    recall(self, "process", start);
    process = processes_find(self->processes, 1);
    assert_non_null(process);
    assert_ptr_equal(process->session, self);
    assert_string_equal(process->who, "uid=1");
    assert_int_not_equal(process->phase, PROCESS_ENDED);
    recall(self, "process_output", output);
    recall(self, "process_output", output);
    assert_int_equal(process->recorded, 6);
    recall(self, "process_ended", ended);
    assert_ptr_equal(processes_find(self->processes, 1), process);
    assert_int_equal(process->phase, PROCESS_ENDED);
    assert_int_equal(process->code, 3);
}

static void input_is_read_by_the_next_gateway(void **state)
{
    session_t *self = *state;
    process_t *process = add(self);
    cleanup_free char *key = mem_text("k");
    process_write_t write = {.key = key, .digest = "d", .size = 5, .from = 3};
    cleanup_free char *under_key = NULL, *end = NULL;
    fault_t fault;

    assert_int_equal(
        process_records_input(self, process, &write, false, &fault), 0);
    under_key = mem_text(NOTED("process_input"));
    assert_int_equal(process_records_input(self, process, NULL, true, &fault),
                     0);
    end = mem_text(NOTED("process_input"));
    assert_string_equal(end, "{\"process\":1,\"end\":true}");
    recall(self, "process_input", under_key);
    assert_int_equal(process->input.writes.count, 1);
    assert_int_equal(process_writes_find(&process->input.writes, "k")->from, 3);
    assert_false(process->input.is_over);
    recall(self, "process_input", end);
    assert_true(process->input.is_over);
    process->input.is_over = false;
    process->is_terminal = true;
    recall(self, "process_input", end);
    assert_false(process->input.is_over);
    assert_int_equal(process->recorded, 0);
}

static void records_of_no_process_change_nothing(void **state)
{
    static const char *const rows[][2] = {
        {"process", "{"},
        {"process", "[]"},
        {"process", "{\"process\":0,\"argv\":[]}"},
        {"process", "{\"process\":5}"},
        {"process_ended", "{\"process\":5}"},
        {"process_output", "{\"process\":5,\"size\":1}"},
        {"process_output", "{\"process\":1}"},
        {"process_input", "{\"process\":5,\"end\":true}"},
        {"process_input", "{\"process\":1}"},
        {"process_output", "{\"process\":1,\"size\":-9}"},
        {"process_output", "{\"process\":1,\"size\":\"1\"}"},
    };
    session_t *self = *state;
    const process_t *process = add(self);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        recall(self, rows[i][0], rows[i][1]);
    assert_ptr_equal(self->processes->first, process);
    assert_null(process->next);
    assert_int_equal(process->recorded, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_start_is_journaled_and_audited),
        TEST(a_start_that_is_not_journaled_is_not_audited),
        TEST(output_is_journaled_by_its_stream),
        TEST(output_past_its_share_is_left_out),
        TEST(a_character_that_comes_in_pieces_is_whole),
        TEST(a_character_past_its_share_is_left_out),
        TEST(an_end_is_journaled_and_audited),
        TEST(an_end_is_audited_without_a_journal),
        TEST(its_records_are_read_by_the_next_gateway),
        TEST(input_is_read_by_the_next_gateway),
        TEST(records_of_no_process_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
