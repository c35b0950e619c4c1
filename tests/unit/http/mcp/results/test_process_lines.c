/* The lines about processes that a model reads, over JSON as sessions send
 * it. */
#include "gateway/http/mcp/results/process_lines.h"
#include "tests/lib/test.h"

#include <string.h>

static char *head(const json_t *process)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    process_lines_write_head(process, "abc", &out);
    return mem_text((const char *) out.data);
}

/* Returns the list of one process, which is taken. */
static char *list(json_t *process)
{
    json_auto_t *processes = json_pack("[o]", process);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    process_lines_write_list(processes, &out);
    return mem_text((const char *) out.data);
}

static void a_process_that_runs_says_how_to_go_on(void **state)
{
    json_auto_t *process =
        json_pack("{s:i,s:s}", "process", 3, "state", "running");
    cleanup_free char *text = head(process);

    (void) state;
    assert_false(process_lines_is_ended(process));
    assert_int_equal(process_lines_number(process), 3);
    assert_string_equal(text,
                        "[process 3] RUNNING · session abc · session with "
                        "action output waits for more, write sends input, "
                        "kill ends it");
}

static void one_without_input_does_not_offer_it(void **state)
{
    json_auto_t *process = json_pack("{s:i,s:s,s:b}", "process", 3, "state",
                                     "running", "input_over", 1);
    cleanup_free char *text = head(process);

    (void) state;
    assert_string_equal(text,
                        "[process 3] RUNNING · session abc · session with "
                        "action output waits for more, kill ends it");
}

static void a_process_that_has_ended_says_how(void **state)
{
    json_auto_t *process = json_pack("{s:i,s:s,s:s}", "process", 4, "state",
                                     "ended", "sentence", "it ended with 1");
    cleanup_free char *text = head(process);

    (void) state;
    assert_true(process_lines_is_ended(process));
    assert_string_equal(text, "[process 4] it ended with 1 · session abc");
}

static void lists_each_in_a_line(void **state)
{
    json_auto_t *none = json_array();
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *runs = list(
        json_pack("{s:i,s:s,s:s,s:[s,s]}", "process", 1, "state", "running",
                  "started", "2026-01-02T03:04:05.678Z", "argv", "sh", "-c"));
    cleanup_free char *ended = list(json_pack(
        "{s:i,s:s,s:s,s:s,s:[s]}", "process", 2, "state", "ended", "sentence",
        "it ended", "started", "t", "argv", "a\033[31mb"));

    (void) state;
    process_lines_write_list(none, &out);
    assert_string_equal((const char *) out.data,
                        "process\tstate\tstarted\tprogram");
    assert_string_equal(runs, "process\tstate\tstarted\tprogram\n1\trunning\t"
                              "2026-01-02T03:04:05\t[\"sh\",\"-c\"]");
    assert_non_null(strstr(ended, "\n2\tit ended\tt\t"));
    assert_null(strchr(ended, '\033'));
}

/* A cut leaves no half of a character. */
static void cuts_a_long_program(void **state)
{
    char word[301];

    (void) state;
    for (size_t shift = 0; shift < 2; shift++) {
        size_t size = 0;

        word[0] = 'x';
        for (size = shift; size + 2 < sizeof word; size += 2)
            memcpy(word + size, "é", 2);
        word[size] = '\0';
        cleanup_free char *text =
            list(json_pack("{s:i,s:[s]}", "process", 1, "argv", word));
        const char *shown = strrchr(text, '\t') + 1;

        assert_true(strlen(shown) == 200 || strlen(shown) == 199);
        assert_int_equal(strlen(shown) % 2, shift == 0 ? 0 : 1);
        assert_memory_equal(shown + strlen(shown) - 2, "é", 2);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_runs_says_how_to_go_on),
        cmocka_unit_test(one_without_input_does_not_offer_it),
        cmocka_unit_test(a_process_that_has_ended_says_how),
        cmocka_unit_test(lists_each_in_a_line),
        cmocka_unit_test(cuts_a_long_program),
    };

    return cmocka_run_group_tests_name("process_lines", tests, NULL, NULL);
}
