/* Code that is run by REST: what is known of each run before its journal is
 * read. */
#include "gateway/http/executions/executions.h"

#include "tests/lib/journals.h"
#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

#define SESSION "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"
#define RUN     "11111111-2222-4333-8444-555555555555"

static options_t options;
static http_t http = {.options = &options};
static executions_t *runs;

static int prepare(void **state)
{
    char folder[] = "/tmp/hearth-runs-XXXXXX";
    fault_t fault;

    (void) state;
    if (sodium_init() < 0 || !mkdtemp(folder))
        return -1;
    http.executions = executions_table_new();
    runs = executions_of(&http, SESSION, folder, &fault);
    return rmdir(folder) || !runs;
}

static int clean_up(void **state)
{
    (void) state;
    zhashx_destroy(&http.executions);
    return 0;
}

static int prepare_with_journal(void **state)
{
    return prepare(NULL) || journals_make_folder(state);
}

static int clean_up_with_journal(void **state)
{
    return clean_up(NULL) || journals_remove_folder(state);
}

static void tell(const char *client, channel_t channel, const char *content)
{
    const frontend_event_t event = {.what = FRONTEND_EVENT,
                                    .session = SESSION,
                                    .channel = channel,
                                    .client = {client, strlen(client)},
                                    .content = {content, strlen(content)}};

    executions_on_event(&http, &event);
}

static void finds_added_executions(void **state)
{
    execution_t *run = executions_add(runs, RUN);

    (void) state;
    assert_int_equal(run->state, EXECUTION_SENT);
    assert_string_equal(run->id, RUN);
    assert_ptr_equal(executions_find(runs, RUN), run);
    assert_null(executions_find(runs, "another"));
    assert_null(executions_asking(runs));
    executions_drop(runs, run);
    assert_null(executions_find(runs, RUN));
}

/* The whole journal is read only for one that it may have. */
static void knows_which_processes_there_are(void **state)
{
    (void) state;
    assert_false(executions_may_have_process(runs, 0));
    assert_false(executions_may_have_process(runs, 1));
    runs->processes =
        mem_new(EXECUTIONS_PROCESSES_MAX * sizeof *runs->processes);
    runs->processes[0].number = 5;
    runs->processes[1].number = 7;
    runs->process_count = 2;
    assert_false(executions_may_have_process(runs, 0));
    assert_true(executions_may_have_process(runs, 4));
    assert_true(executions_may_have_process(runs, 5));
    assert_false(executions_may_have_process(runs, 6));
    assert_true(executions_may_have_process(runs, 7));
    assert_false(executions_may_have_process(runs, 8));
}

static void note(journal_t *journal, const char *type, const char *content)
{
    journals_append(journal, JOURNAL_STATE, 0, type, content);
}

/* Returns the number of the last record of a process. */
static uint64_t last_of(const executions_t *self, uint64_t number)
{
    const executions_process_t *process = executions_process(self, number);

    assert_non_null(process);
    assert_int_equal(process->number, number);
    assert_true(process->span_count > 0);
    return process->spans[process->span_count - 1].last;
}

/* Its output is read up to there, and no further. */
static void knows_the_last_record_of_a_process(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    const executions_t *found;
    fault_t fault;

    memcpy(http.journal_key, journals_key, sizeof http.journal_key);
    note(journal, "process", "{\"process\":1}");
    note(journal, "process", "{\"process\":2}");
    note(journal, "process_output", "{\"process\":1}");
    note(journal, "looked", "{\"process\":1}");
    found = executions_of(&http, "another", *state, &fault);
    assert_non_null(found);
    assert_int_equal(last_of(found, 1), 3);
    assert_int_equal(last_of(found, 2), 2);
    assert_null(executions_process(found, 3));
    /* It grows with the journal, each process's by its own records. */
    note(journal, "process_output", "{\"process\":2}");
    note(journal, "process_ended", "{\"process\":1}");
    note(journal, "process_output", "{\"process\":3}");
    assert_ptr_equal(executions_of(&http, "another", *state, &fault), found);
    assert_int_equal(last_of(found, 1), 6);
    assert_int_equal(last_of(found, 2), 5);
}

/* Appends output of a cell: the text in the content, and what is around it. */
static void note_text(journal_t *journal, size_t size)
{
    cleanup_free char *text =
        mem_format("{\"text\":\"%0*d\"}", (int) size - 11, 0);

    journals_append(journal, JOURNAL_EVENT, 1, "stream", text);
}

/* Records of a process are read as one span as long as no more than the gap is
 * between two. */
static void has_a_span_for_each_place_of_a_process(void **state)
{
    const size_t around = strlen("{\"msg_id\":\"x\"}");
    cleanup_journal journal_t *journal = journals_open(*state, 0, 4096);
    const executions_t *found;
    const executions_process_t *one;
    fault_t fault;

    memcpy(http.journal_key, journals_key, sizeof http.journal_key);
    note(journal, "process", "{\"process\":1}");
    note_text(journal, EXECUTIONS_SPAN_GAP - around);
    note(journal, "process_output", "{\"process\":1}");
    note_text(journal, EXECUTIONS_SPAN_GAP - around + 1);
    note(journal, "process_output", "{\"process\":1}");
    note(journal, "process", "{\"process\":2}");
    found = executions_of(&http, "another", *state, &fault);
    assert_non_null(found);
    one = executions_process(found, 1);
    assert_int_equal(one->span_count, 2);
    assert_int_equal(one->spans[0].mark.seq, 0);
    assert_int_equal(one->spans[0].last, 3);
    assert_int_equal(one->spans[1].mark.seq, 4);
    assert_int_equal(one->spans[1].last, 5);
    assert_int_equal(executions_process(found, 2)->span_count, 1);
    assert_int_equal(found->span_count, 3);
}

static void has_a_bound_of_spans(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    const executions_process_t *process;
    executions_t *found;
    fault_t fault;

    memcpy(http.journal_key, journals_key, sizeof http.journal_key);
    note(journal, "process", "{\"process\":1}");
    found = executions_of(&http, "another", *state, &fault);
    assert_non_null(found);
    process = executions_process(found, 1);
    for (size_t count = EXECUTIONS_SPANS_MAX - 1; count <= EXECUTIONS_SPANS_MAX;
         count++) {
        found->span_count = count;
        note_text(journal, 2 * EXECUTIONS_SPAN_GAP);
        note(journal, "process_output", "{\"process\":1}");
        assert_ptr_equal(executions_of(&http, "another", *state, &fault),
                         found);
        assert_int_equal(process->span_count, 2);
        assert_int_equal(found->span_count, EXECUTIONS_SPANS_MAX);
    }
    assert_int_equal(last_of(found, 1), 5);
    /* Each process has one all the same. */
    note(journal, "process", "{\"process\":2}");
    executions_of(&http, "another", *state, &fault);
    assert_int_equal(last_of(found, 2), 6);
}

static void forgets_the_spans_of_forgotten_processes(void **state)
{
    cleanup_journal journal_t *journal = journals_open(*state, 0, 0);
    const executions_t *found;
    fault_t fault;

    memcpy(http.journal_key, journals_key, sizeof http.journal_key);
    for (int i = 0; i <= EXECUTIONS_PROCESSES_MAX; i++) {
        cleanup_free char *content = mem_format("{\"process\":%d}", i + 1);
        note(journal, "process", content);
    }
    found = executions_of(&http, "another", *state, &fault);
    assert_non_null(found);
    assert_int_equal(found->process_count, EXECUTIONS_PROCESSES_MAX / 2 + 1);
    assert_int_equal(found->span_count, found->process_count);
    assert_null(executions_process(found, EXECUTIONS_PROCESSES_MAX / 2));
    assert_int_equal(last_of(found, EXECUTIONS_PROCESSES_MAX / 2 + 1),
                     EXECUTIONS_PROCESSES_MAX / 2 + 1);
    assert_int_equal(last_of(found, EXECUTIONS_PROCESSES_MAX + 1),
                     EXECUTIONS_PROCESSES_MAX + 1);
}

static void distinguishes_different_code(void **state)
{
    uint8_t one[EXECUTION_DIGEST_SIZE], same[EXECUTION_DIGEST_SIZE],
        other[EXECUTION_DIGEST_SIZE];

    (void) state;
    execution_digest("1 + 1", one);
    execution_digest("1 + 1", same);
    execution_digest("1 + 1 ", other);
    assert_memory_equal(one, same, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
}

static void keeps_a_refusal(void **state)
{
    execution_t *run = executions_add(runs, RUN);

    (void) state;
    tell(EXECUTION_CLIENT RUN, CHANNEL_SHELL, "{\"ename\":\"QueueFull\"}");
    assert_int_equal(run->state, EXECUTION_REFUSED);
    assert_string_equal(
        json_string_value(json_object_get(run->refusal, "ename")), "QueueFull");
}

static void recognises_only_refusals_as_refusals(void **state)
{
    execution_t *run = executions_add(runs, RUN);
    const char *text = "{\"ename\":\"QueueFull\"}";

    (void) state;
    tell(EXECUTION_CLIENT RUN, CHANNEL_IOPUB, text);
    tell(EXECUTION_CLIENT "another", CHANNEL_SHELL, text);
    tell(RUN, CHANNEL_SHELL, text);
    tell(EXECUTION_CLIENT, CHANNEL_SHELL, text);
    tell(EXECUTION_CLIENT RUN "0", CHANNEL_SHELL, text);
    assert_int_equal(run->state, EXECUTION_SENT);
    /* What is in the journal is known from there. */
    run->state = EXECUTION_RUNNING;
    tell(EXECUTION_CLIENT RUN, CHANNEL_SHELL, text);
    assert_int_equal(run->state, EXECUTION_RUNNING);
    assert_null(run->refusal);
}

static void drops_an_unused_index(void **state)
{
    (void) state;
    executions_on_tick(&http);
    assert_int_equal(zhashx_size(http.executions), 1);
    runs->used -= 3600 * 1000;
    executions_on_tick(&http);
    assert_int_equal(zhashx_size(http.executions), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)
#define TEST_OF_JOURNAL(name)                                                  \
    cmocka_unit_test_setup_teardown(name, prepare_with_journal,                \
                                    clean_up_with_journal)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_added_executions),
        TEST(knows_which_processes_there_are),
        TEST_OF_JOURNAL(knows_the_last_record_of_a_process),
        TEST_OF_JOURNAL(has_a_span_for_each_place_of_a_process),
        TEST_OF_JOURNAL(has_a_bound_of_spans),
        TEST_OF_JOURNAL(forgets_the_spans_of_forgotten_processes),
        TEST(distinguishes_different_code),
        TEST(keeps_a_refusal),
        TEST(recognises_only_refusals_as_refusals),
        TEST(drops_an_unused_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
