/* The tool that reads more of an output, which a view has cut. */
#include "notebooks/modelview/modelview.h"
#include "notebooks/modelview/token_weight.h"

#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);

    if (!value)
        fail_msg("%s: %s", text, error.text);
    return value;
}

static json_t *many_lines(unsigned count)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    for (unsigned i = 1; i <= count; i++)
        buffer_format(&text, "line %u of many\n", i);
    return json_stringn((char *) text.data, text.size);
}

static void reads_lines_and_matches(void **state)
{
    json_auto_t *outputs = NULL;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    long long cell = 0;
    size_t output = 0;

    (void) state;
    outputs = load("[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(outputs, 0), "text", many_lines(1000));
    assert_true(modelview_read_ref("out:3.1", &cell, &output));
    assert_int_equal(modelview_read_output(
                         outputs, cell, output,
                         &(modelview_range_t){.from_line = 213, .lines = 2},
                         &out),
                     0);
    assert_string_equal((char *) out.data,
                        "out:3.1 lines 213 to 214 of 1,000; go on with "
                        "from_line=215\nline 213 of many\nline 214 of many");
    buffer_clear(&out);
    assert_int_equal(
        modelview_read_output(
            outputs, cell, output,
            &(modelview_range_t){.lines = 1, .way = READ_HINT_COMMAND}, &out),
        0);
    assert_string_equal((char *) out.data,
                        "out:3.1 lines 1 to 1 of 1,000; go on with "
                        "--from-line=2\nline 1 of many");
    buffer_clear(&out);
    assert_int_equal(
        modelview_read_output(outputs, cell, output,
                              &(modelview_range_t){.from_line = 1001}, &out),
        0);
    assert_string_equal((char *) out.data, "out:3.1 no line 1,001 of 1,000");
    buffer_clear(&out);
    assert_int_equal(
        modelview_read_output(outputs, cell, output,
                              &(modelview_range_t){.grep = "line 99\\d"}, &out),
        0);
    assert_int_equal(strncmp((char *) out.data,
                             "out:3.1 10 lines match of 1,000\n"
                             "990: line 990 of many\n",
                             50),
                     0);
    buffer_clear(&out);
    assert_int_equal(
        modelview_read_output(outputs, cell, output,
                              &(modelview_range_t){.tokens_max = 100}, &out),
        0);
    assert_true(out.size < 500);
    assert_non_null(strstr((char *) out.data, "; go on with from_line="));
}

static void reads_numbers_to_the_same_budget(void **state)
{
    json_auto_t *outputs = NULL;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    for (unsigned i = 0; i < 1000; i++)
        buffer_format(&text, "0.%06u 0.%06u\n", i * 7919 % 1000000,
                      i * 104729 % 1000000);
    outputs = load("[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(outputs, 0), "text",
                        json_stringn((char *) text.data, text.size));
    assert_int_equal(
        modelview_read_output(outputs, 3, 1,
                              &(modelview_range_t){.tokens_max = 100}, &out),
        0);
    assert_in_range(token_weight(buffer_bytes(&out)), TOKEN_WEIGHT(80),
                    TOKEN_WEIGHT(130));
}

/* Each byte of the output costs a step for each of a thousand states. */
static void gives_up_a_search_that_takes_long(void **state)
{
    json_auto_t *outputs = NULL;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    outputs = load("[{\"output_type\":\"stream\"}]");
    for (int i = 0; i < 20000; i++)
        buffer_text(&text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    json_object_set_new(json_array_get(outputs, 0), "text",
                        json_stringn((char *) text.data, text.size));
    assert_int_equal(
        modelview_read_output(outputs, 3, 1,
                              &(modelview_range_t){.grep = "(a*){100}b"}, &out),
        0);
    assert_non_null(
        strstr((char *) out.data,
               ", the search took too long; go on with from_line="));
}

static void explains_an_empty_view(void **state)
{
    json_auto_t *outputs = NULL;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    long long cell;
    size_t output;

    (void) state;
    outputs = load("[{\"output_type\":\"stream\",\"text\":\"a\"}]");
    assert_int_equal(
        modelview_read_output(outputs, 3, 2, &(modelview_range_t){0}, &out),
        -ENOENT);
    assert_int_equal(modelview_read_output(outputs, 3, 1,
                                           &(modelview_range_t){.grep = "("},
                                           &out),
                     -EINVAL);
    assert_false(modelview_read_ref("out:3", &cell, &output));
    assert_false(modelview_read_ref("out:3.x", &cell, &output));
    assert_false(modelview_read_ref("out:-3.1", &cell, &output));
    assert_false(modelview_read_ref("99999999999999999999.1", &cell, &output));
    assert_true(modelview_read_ref("3.1", &cell, &output));
}

static void reads_the_text_of_a_program(void **state)
{
    static const char *const wrong[] = {"process:",
                                        "process:x",
                                        "process:-1",
                                        "process:1.",
                                        "process: 1",
                                        "out:1.1",
                                        "process:99999999999999999999"};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    uint64_t number = 0;

    (void) state;
    assert_true(modelview_read_process_ref("process:12", &number));
    assert_int_equal(number, 12);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(modelview_read_process_ref(wrong[i], &number));
    assert_int_equal(
        modelview_read_process(12, text_bytes("a\nb\nc\n"), (bytes_t){0},
                               &(modelview_range_t){.grep = "b|c"}, &out),
        0);
    assert_string_equal((char *) out.data,
                        "process:12 2 lines match of 3\n2: b\n3: c");
    buffer_clear(&out);
    assert_int_equal(modelview_read_process(12, (bytes_t){0}, (bytes_t){0},
                                            &(modelview_range_t){0}, &out),
                     0);
    assert_string_equal((char *) out.data, "process:12 no lines of 0");
}

static void what_is_gone_of_a_program_comes_first(void **state)
{
    bytes_t gone = text_bytes("4 bytes are gone\n");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(modelview_read_process(3, text_bytes("a\n"), gone,
                                            &(modelview_range_t){0}, &out),
                     0);
    assert_string_equal((char *) out.data,
                        "4 bytes are gone\nprocess:3 lines 1 to 1 of 1\na");
    buffer_clear(&out);
    assert_int_equal(modelview_read_process(3, text_bytes("a\n"), gone,
                                            &(modelview_range_t){.grep = "("},
                                            &out),
                     -EINVAL);
    assert_int_equal(
        strncmp((char *) out.data, "grep is not a regular expression: ", 34),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lines_and_matches),
        cmocka_unit_test(reads_numbers_to_the_same_budget),
        cmocka_unit_test(gives_up_a_search_that_takes_long),
        cmocka_unit_test(explains_an_empty_view),
        cmocka_unit_test(reads_the_text_of_a_program),
        cmocka_unit_test(what_is_gone_of_a_program_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
