#include "notebooks/modelview/modelview.h"
#include "notebooks/modelview/token_weight.h"
#include "tests/lib/view_sample.h"

#include <stdlib.h>
#include <string.h>

static size_t count_lines(const char *text)
{
    size_t count = 1;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void shows_one_form_of_a_bundle(void **state)
{
    static const struct {
        const char *data, *shown;
    } rows[] = {
        {"{\"text/plain\":\"t\",\"text/html\":\"<b>h</b>\"}", "t"},
        {"{\"text/vnd.hearth.table\":\"DataFrame 2 × 1\",\"text/plain\":\"t\"}",
         "DataFrame 2 × 1"},
        {"{\"text/markdown\":\"*m*\",\"text/plain\":\"t\"}", "*m*"},
        {"{\"text/plain\":[\"a\\n\",\"b\"]}", "a\nb"},
        {"{\"application/json\":{\"a\":[1,2]},"
         "\"text/plain\":\"<IPython.core.display.JSON object>\"}",
         "{\"a\":[1,2]}"},
        {"{\"text/html\":\"<style>x{}</style><table><tr><th>a</th><th>b</th>"
         "</tr><tr><td>1</td><td>2 &amp; 3</td></tr></table>\"}",
         "a\tb\n1\t2 & 3"},
        {"{\"image/svg+xml\":\"<svg/>\"}",
         "[image/svg+xml 6 bytes, out:3.1, not shown here]"},
        {"{\"text/plain\":\"<IPython.core.display.HTML object>\"}",
         "<IPython.core.display.HTML object>"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_free char *outputs = mem_format(
            "[{\"output_type\":\"display_data\",\"data\":%s}]", rows[i].data);
        cleanup_free char *expected =
            mem_format("[3] ok 41 ms · session 7f3c\n%s", rows[i].shown);
        cleanup_sample view_sample_t sample;
        view_sample_init(&sample, outputs);
        assert_string_equal(view_sample_make(&sample), expected);
    }
}

/* The head of a PNG of 640 × 480 in base64, then letters. */
#define PNG_HEAD "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg"

static void gives_an_image_once_and_names_it(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"display_data\",\"data\":{"
                              "\"text/plain\":\"<Figure size 640x480>\","
                              "\"image/png\":\"" PNG_HEAD "AAAA\"}}]");
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c\n"
                        "[image 640×480 png, out:3.1]");
    assert_int_equal(sample.view.image_count, 1);
    assert_string_equal(sample.view.images[0].ref, "out:3.1");
    assert_string_equal(sample.view.images[0].mime, "image/png");
    assert_true(sample.view.images[0].is_inline);
    assert_int_equal(sample.view.images[0].base64_size, 36);
}

static void gives_large_images_and_many_by_link(void **state)
{
    cleanup_sample view_sample_t sample;
    const size_t size = 400000;
    cleanup_free char *base64 = mem_new(size + 1);

    (void) state;
    view_sample_init(&sample, "[]");
    memset(base64, 'A', size);
    memcpy(base64, PNG_HEAD, strlen(PNG_HEAD));
    json_array_append_new(
        sample.outputs, json_pack("{s:s,s:{s:s}}", "output_type",
                                  "display_data", "data", "image/png", base64));
    for (size_t i = 0; i < 5; i++)
        json_array_append_new(sample.outputs,
                              json_pack("{s:s,s:{s:s}}", "output_type",
                                        "display_data", "data", "image/png",
                                        PNG_HEAD));
    view_sample_make(&sample);
    assert_int_equal(sample.view.image_count, 6);
    assert_false(sample.view.images[0].is_inline);
    for (size_t i = 1; i < 5; i++)
        assert_true(sample.view.images[i].is_inline);
    assert_false(sample.view.images[5].is_inline);
    assert_non_null(strstr((char *) sample.view.text.data,
                           "300 KB, out:3.1, not shown here]"));
}

static void prefers_the_form_of_an_image_that_is_small(void **state)
{
    cleanup_sample view_sample_t sample;
    const size_t size = 400000;
    cleanup_free char *base64 = mem_new(size + 1);

    (void) state;
    view_sample_init(&sample, "[]");
    memset(base64, 'A', size);
    memcpy(base64, PNG_HEAD, strlen(PNG_HEAD));
    json_array_append_new(sample.outputs,
                          json_pack("{s:s,s:{s:s,s:s},s:{s:{s:i,s:i}}}",
                                    "output_type", "display_data", "data",
                                    "image/png", base64, "image/webp", "AAAA",
                                    "metadata", "image/webp", "width", 800,
                                    "height", 600));
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c\n"
                        "[image 800×600 webp, out:3.1]");
    assert_true(sample.view.images[0].is_inline);
}

static void folds_repeated_lines(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"stream\",\"text\":\"\"}]");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    for (int i = 0; i < 512; i++)
        buffer_text(&text, "same\n");
    buffer_text(&text, "two\ntwo\nend\n");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) text.data, text.size));
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c\n"
                        "same ×512\ntwo\ntwo\nend");
}

static void cuts_between_head_and_tail(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        view_sample_lines(10000));
    sample.cell.tokens_max = 400;
    const char *text = view_sample_make(&sample);
    assert_in_range(token_weight(text_bytes(text)), TOKEN_WEIGHT(370),
                    TOKEN_WEIGHT(430));
    assert_non_null(strstr(text, "\nline 1 of many\n"));
    assert_non_null(strstr(text, "\nline 10000 of many"));
    assert_non_null(strstr(text, " lines ("));
    assert_non_null(strstr(text, " left out: read_output ref=out:3.1 "
                                 "from_line="));
    /* What the marker names is the first line that is missing. */
    unsigned next =
        (unsigned) strtoul(strstr(text, "from_line=") + 10, NULL, 10);
    cleanup_free char *last = mem_format("\nline %u of many\n", next - 1);
    cleanup_free char *missing = mem_format("\nline %u of many\n", next);
    assert_non_null(strstr(text, last));
    assert_null(strstr(text, missing));
    unsigned long long left = 10000 - (count_lines(text) - 2);
    cleanup_free char *number =
        mem_format("… %llu,%03llu lines", left / 1000, left % 1000);
    assert_non_null(strstr(text, number));
}

/* A line that the head has no room for is not overtaken by a shorter one. */
static void keeps_the_order_of_lines(void **state)
{
    cleanup_sample view_sample_t sample;
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;

    (void) state;
    buffer_text(&lines, "first\n");
    for (unsigned i = 0; i < 70; i++)
        buffer_text(&lines, "word ");
    buffer_text(&lines, "\nlast\n");
    view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) lines.data, lines.size));
    sample.cell.tokens_max = 200;
    const char *text = view_sample_make(&sample);
    const char *word = strstr(text, "\nword ");
    assert_non_null(word);
    assert_true(strstr(text, "\nfirst") < word);
    assert_true(strstr(text, "\nlast") > word);
}

/* Digits have more tokens a byte than words. */
static void cuts_numbers_to_the_same_budget(void **state)
{
    cleanup_sample view_sample_t sample;
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;

    (void) state;
    for (unsigned i = 1; i <= 5000; i++)
        buffer_format(&lines, "%u: 0.%06u 0.%06u 0.%06u\n", i,
                      i * 7919 % 1000000, i * 104729 % 1000000,
                      i * 31 % 1000000);
    view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) lines.data, lines.size));
    sample.cell.tokens_max = 400;
    const char *text = view_sample_make(&sample);
    assert_in_range(token_weight(text_bytes(text)), TOKEN_WEIGHT(370),
                    TOKEN_WEIGHT(430));
    assert_non_null(strstr(text, "\n1: 0.007919"));
    assert_non_null(strstr(text, "\n5000: 0."));
    assert_non_null(strstr(text, "from_line="));
    unsigned long long left = 5000 - (count_lines(text) - 2);
    cleanup_free char *number =
        mem_format("… %llu,%03llu lines", left / 1000, left % 1000);
    assert_non_null(strstr(text, number));
}

static void names_all_outputs_that_a_cut_reaches(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[]");
    for (int i = 0; i < 40; i++)
        json_array_append_new(sample.outputs,
                              json_pack("{s:s,s:{s:o}}", "output_type",
                                        "display_data", "data", "text/plain",
                                        view_sample_lines(100)));
    assert_non_null(strstr(view_sample_make(&sample), " of out:3.3 to out:3."));
}

static void cuts_a_long_line_in_its_middle(void **state)
{
    cleanup_sample view_sample_t sample;
    char line[3001];

    (void) state;
    memset(line, 'x', 3000);
    line[0] = 'a';
    line[2999] = 'z';
    line[3000] = '\0';
    view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_string(line));
    const char *text = view_sample_make(&sample);
    assert_true(strlen(text) < 600);
    assert_non_null(strstr(text, "\naxxx"));
    assert_non_null(strstr(text, "x …2,500 bytes left out… x"));
    assert_int_equal(text[strlen(text) - 1], 'z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_one_form_of_a_bundle),
        cmocka_unit_test(gives_an_image_once_and_names_it),
        cmocka_unit_test(gives_large_images_and_many_by_link),
        cmocka_unit_test(prefers_the_form_of_an_image_that_is_small),
        cmocka_unit_test(folds_repeated_lines),
        cmocka_unit_test(cuts_between_head_and_tail),
        cmocka_unit_test(keeps_the_order_of_lines),
        cmocka_unit_test(cuts_numbers_to_the_same_budget),
        cmocka_unit_test(names_all_outputs_that_a_cut_reaches),
        cmocka_unit_test(cuts_a_long_line_in_its_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
