/* A journal as a time line. */
#include "tests/lib/test.h"

#include "base/fd.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/writer.h"
#include "notebooks/recording/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGAN_US 1767323045000000

/* Records of a trace, a second apart. */
static void add(trace_t *trace, journal_kind_t kind, uint64_t request,
                const char *type, const char *content, const char *metadata)
{
    static uint64_t seq;
    journal_record_t record = {
        .kind = kind,
        .seq = trace->rows ? ++seq : (seq = 1),
        .request = request,
        .origin = text_bytes("{\"client\":\"someone\"}"),
        .metadata = text_bytes(metadata),
        .content = text_bytes(content),
    };

    record.wall_us = BEGAN_US + (int64_t) seq * 1000000;
    snprintf(record.type, sizeof record.type, "%s", type);
    trace_add(trace, &record);
}

static void ask(trace_t *trace, uint64_t request, const char *code)
{
    cleanup_free char *content = mem_format("{\"code\":\"%s\"}", code);

    add(trace, JOURNAL_REQUEST, request, "execute_request", content, "");
}

static const json_t *row(const trace_t *trace, size_t index)
{
    const json_t *found = json_array_get(trace->rows, index);

    assert_non_null(found);
    return found;
}

static const char *text_at(const trace_t *trace, size_t index, const char *key)
{
    const char *text =
        json_string_value(json_object_get(row(trace, index), key));

    return text ? text : "(none)";
}

static double number_at(const trace_t *trace, size_t index, const char *key)
{
    return json_number_value(json_object_get(row(trace, index), key));
}

static void describes_what_a_cell_did(void **state)
{
    cleanup_trace trace_t trace = {0};
    const json_t *names;

    (void) state;
    ask(&trace, 7, "x = 1");
    add(&trace, JOURNAL_EVENT, 7, "execute_input", "{}", "");
    add(&trace, JOURNAL_EVENT, 7, "stream", "{\"name\":\"stdout\"}", "");
    add(&trace, JOURNAL_REPLY, 7, "execute_reply",
        "{\"status\":\"ok\",\"execution_count\":4}",
        "{\"hearth\":{\"cpu_us\":1500,\"rss_kib\":2048,\"namespace\":"
        "{\"appeared\":[{\"name\":\"x\",\"type\":\"int\"}]},\"files\":"
        "{\"written\":[\"f\"]}}}");
    assert_int_equal(json_array_size(trace.rows), 1);
    assert_string_equal(text_at(&trace, 0, "what"), "cell");
    assert_string_equal(text_at(&trace, 0, "source"), "x = 1");
    assert_string_equal(text_at(&trace, 0, "status"), "ok");
    assert_string_equal(text_at(&trace, 0, "client"), "someone");
    assert_int_equal(number_at(&trace, 0, "turn"), 1);
    assert_int_equal(number_at(&trace, 0, "execution_count"), 4);
    assert_true(number_at(&trace, 0, "duration_ms") == 2000);
    assert_true(number_at(&trace, 0, "cpu_ms") == 1.5);
    assert_true(number_at(&trace, 0, "memory_kib") == 2048);
    names = json_object_get(json_object_get(row(&trace, 0), "namespace"),
                            "appeared");
    assert_int_equal(json_array_size(names), 1);
    assert_null(json_object_get(row(&trace, 0), "began_us"));
}

static void counts_only_outputs_in_the_notebook(void **state)
{
    cleanup_trace trace_t trace = {0};

    (void) state;
    add(&trace, JOURNAL_STATE, 0, "launch", "{}", "");
    add(&trace, JOURNAL_STATE, 0, "ready", "{\"banner\":\"b\"}", "");
    add(&trace, JOURNAL_STATE, 0, "looked", "{}", "");
    add(&trace, JOURNAL_STATE, 0, "loss_reported", "{\"reader\":\"0\"}", "");
    add(&trace, JOURNAL_REQUEST, 1, "execute_request",
        "{\"code\":\"a\",\"silent\":true}", "");
    add(&trace, JOURNAL_REQUEST, 2, "complete_request", "{\"code\":\"a\"}", "");
    ask(&trace, 3, "a");
    add(&trace, JOURNAL_REPLY, 1, "execute_reply", "{\"status\":\"ok\"}", "");
    assert_int_equal(json_array_size(trace.rows), 2);
    assert_string_equal(text_at(&trace, 0, "what"), "ready");
    assert_string_equal(text_at(&trace, 1, "status"), "unanswered");
    assert_int_equal(number_at(&trace, 1, "turn"), 1);
}

static void fail_cell(trace_t *trace, uint64_t request, const char *ename,
                      const char *evalue)
{
    cleanup_free char *content =
        mem_format("{\"status\":\"error\",\"ename\":\"%s\",\"evalue\":\"%s\"}",
                   ename, evalue);

    ask(trace, request, "a");
    add(trace, JOURNAL_REPLY, request, "execute_reply", content, "");
}

static const char *limit_at(const trace_t *trace, size_t index)
{
    const json_t *limits = json_object_get(row(trace, index), "limits");
    const char *text = json_string_value(json_array_get(limits, 0));

    return text ? text : "(none)";
}

static void names_the_limits_that_were_hit(void **state)
{
    cleanup_trace trace_t trace = {0};

    (void) state;
    fail_cell(&trace, 1, "TimeLimitExceeded", "after 2 s");
    fail_cell(&trace, 2, "KernelDied", "memory: 512 MiB reached");
    fail_cell(&trace, 3, "ValueError", "memory: not this");
    ask(&trace, 4, "print(1)");
    add(&trace, JOURNAL_GAP, 4, "gap", "{\"records\":3,\"bytes\":9}", "");
    add(&trace, JOURNAL_GAP, 0, "gap", "{\"records\":5,\"bytes\":9}", "");
    add(&trace, JOURNAL_STATE, 0, "gone",
        "{\"reason\":\"idle\",\"detail\":\"20 minutes\"}", "");
    assert_string_equal(limit_at(&trace, 0), "time");
    assert_string_equal(limit_at(&trace, 1), "memory");
    assert_string_equal(limit_at(&trace, 2), "(none)");
    assert_string_equal(text_at(&trace, 2, "ename"), "ValueError");
    assert_string_equal(limit_at(&trace, 3), "journal");
    assert_string_equal(text_at(&trace, 4, "what"), "gap");
    assert_int_equal(number_at(&trace, 4, "records"), 5);
    assert_string_equal(text_at(&trace, 5, "what"), "gone");
    assert_string_equal(text_at(&trace, 5, "reason"), "idle");
}

static void a_kernel_that_died_hit_no_limit_but_its_own(void **state)
{
    cleanup_trace trace_t trace = {0};

    (void) state;
    fail_cell(&trace, 1, "KernelDied", "signal: ended by signal 9");
    add(&trace, JOURNAL_STATE, 0, "gone", "{\"reason\":\"signal\"}", "");
    fail_cell(&trace, 2, "KernelDied", "The kernel used all of its memory.");
    add(&trace, JOURNAL_STATE, 0, "gone", "{\"reason\":\"memory\"}", "");
    add(&trace, JOURNAL_STATE, 0, "gone", "{\"reason\":\"cpu\"}", "");
    assert_string_equal(limit_at(&trace, 0), "(none)");
    assert_string_equal(limit_at(&trace, 2), "memory");
    assert_int_equal(json_array_size(json_object_get(row(&trace, 2), "limits")),
                     1);
}

static void files_of_other_cells_do_not_count(void **state)
{
    cleanup_trace trace_t trace = {0};
    const char *metadata = "{\"hearth\":{\"files\":{\"written\":"
                           "[\"a\",\"b\"],\"removed\":[\"c\"]}}}";

    (void) state;
    add(&trace, JOURNAL_STATE, 0, "file",
        "{\"what\":\"put\",\"path\":\"a\",\"outcome\":\"ok\",\"who\":\"w\"}",
        "");
    add(&trace, JOURNAL_STATE, 0, "file",
        "{\"what\":\"get\",\"path\":\"b\",\"outcome\":\"ok\"}", "");
    add(&trace, JOURNAL_STATE, 0, "file",
        "{\"what\":\"remove\",\"path\":\"c\",\"outcome\":\"ok\"}", "");
    ask(&trace, 1, "1");
    add(&trace, JOURNAL_REPLY, 1, "execute_reply", "{\"status\":\"ok\"}",
        metadata);
    ask(&trace, 2, "1");
    add(&trace, JOURNAL_REPLY, 2, "execute_reply", "{\"status\":\"ok\"}",
        metadata);
    json_auto_t *first =
        json_pack("{s:[s], s:[s,s]}", "written", "b", "others", "a", "c");
    json_auto_t *second =
        json_pack("{s:[s,s], s:[s]}", "written", "a", "b", "removed", "c");
    assert_true(json_equal(json_object_get(row(&trace, 3), "files"), first));
    assert_true(json_equal(json_object_get(row(&trace, 4), "files"), second));
}

static void names_the_limits_that_a_kernel_reported(void **state)
{
    cleanup_trace trace_t trace = {0};

    (void) state;
    ask(&trace, 1, "a");
    add(&trace, JOURNAL_REPLY, 1, "execute_reply", "{\"status\":\"ok\"}",
        "{\"hearth\":{\"limits\":[7,{\"limit\":8},{\"limit\":\"tmp\"}]}}");
    ask(&trace, 2, "a");
    add(&trace, JOURNAL_REPLY, 2, "execute_reply", "{\"status\":\"ok\"}",
        "{\"hearth\":{\"limits\":\"tmp\"}}");
    assert_string_equal(limit_at(&trace, 0), "tmp");
    assert_string_equal(limit_at(&trace, 1), "(none)");
}

static void accepts_records_with_missing_members(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "null",
        "{\"status\":1,\"code\":2,\"hearth\":3}",
        "{\"hearth\":{\"cpu_us\":\"a\",\"namespace\":[],\"files\":1}}",
        "{\"code\":\"\\u0000\",\"status\":\"error\",\"ename\":[]}"};
    cleanup_trace trace_t trace = {0};

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            uint64_t request = i * 100 + k + 1;
            add(&trace, JOURNAL_REQUEST, request, "execute_request", texts[i],
                texts[k]);
            add(&trace, JOURNAL_EVENT, request, "execute_input", texts[i],
                texts[k]);
            add(&trace, JOURNAL_REPLY, request, "execute_reply", texts[i],
                texts[k]);
            add(&trace, JOURNAL_STATE, 0, "gone", texts[i], texts[k]);
            add(&trace, JOURNAL_GAP, request, "gap", texts[i], texts[k]);
        }
    assert_true(json_array_size(trace.rows) > 40);
}

static void shortens_long_code_between_characters(void **state)
{
    cleanup_trace trace_t trace = {0};
    char code[6002];

    (void) state;
    code[0] = 'x';
    for (size_t i = 1; i < 6000; i += 2)
        memcpy(code + i, "\xc3\xa4", 2);
    code[6001] = '\0';
    ask(&trace, 1, code);
    assert_int_equal(strlen(text_at(&trace, 0, "source")), 4095);
}

static void reads_a_journal(void **state)
{
    char folder[] = "/tmp/hearth-test-trace-XXXXXX";
    journal_t *journal = NULL;
    journal_record_t record = {.kind = JOURNAL_REQUEST,
                               .request = 1,
                               .wall_us = BEGAN_US,
                               .type = "execute_request",
                               .content = text_bytes("{\"code\":\"1\"}")};
    json_auto_t *rows = NULL;
    fault_t fault = {0};

    (void) state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(journal_open(folder, NULL, NULL, &journal, NULL, &fault),
                     0);
    assert_int_equal(journal_append(journal, &record, &fault), 0);
    journal_destroy(&journal);
    assert_int_equal(trace_read(folder, NULL, &rows, &fault), 0);
    assert_int_equal(json_array_size(rows), 1);
    assert_int_equal(path_remove_tree(folder, &fault), 0);
    assert_true(trace_read(folder, NULL, &rows, &fault) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_what_a_cell_did),
        cmocka_unit_test(counts_only_outputs_in_the_notebook),
        cmocka_unit_test(names_the_limits_that_were_hit),
        cmocka_unit_test(a_kernel_that_died_hit_no_limit_but_its_own),
        cmocka_unit_test(files_of_other_cells_do_not_count),
        cmocka_unit_test(names_the_limits_that_a_kernel_reported),
        cmocka_unit_test(accepts_records_with_missing_members),
        cmocka_unit_test(shortens_long_code_between_characters),
        cmocka_unit_test(reads_a_journal),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
