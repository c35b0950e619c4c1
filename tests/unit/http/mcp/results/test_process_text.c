/* What a program writes, as a model reads it. */
#include "gateway/http/mcp/results/process_text.h"
#include "tests/lib/test.h"

#include <jansson.h>

#include <stdlib.h>
#include <string.h>

/* Adds a text in pieces of that size, and returns what is written of it. */
static char *written(const char *text, size_t size, size_t piece)
{
    cleanup_process_text process_text_t self = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    for (size_t at = 0; at < size; at += piece)
        process_text_add(&self, text + at,
                         size - at < piece ? size - at : piece);
    process_text_write(&self, 3, &out);
    return mem_text(out.size ? (const char *) out.data : "");
}

static void assert_text(const buffer_t *found, const char *expected)
{
    assert_int_equal(found->size, strlen(expected));
    assert_memory_equal(found->data, expected, found->size);
}

static void writes_lines_as_a_terminal_shows_them(void **state)
{
    static const struct {
        const char *text, *plain;
    } rows[] = {
        {"", ""},
        {"a\nb\n", "a\nb\n"},
        {"no end", "no end"},
        {"\n\n", "\n\n"},
        {"\033[31mred\033[0m\n", "red\n"},
        {"10%\r20%\r\n", "20%\n"},
        {"abc\b\bX\n", "aXc\n"},
        {"\033]0;title\007x\n", "x\n"},
        {"[click](http://a)\n", "[click](http://a)\n"},
        {"\xc3\xa9\n", "\xc3\xa9\n"},
        {"a\xe2\x80\x8bz\n", "az\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t piece = 1; piece < 20; piece += 6) {
            cleanup_free char *text =
                written(rows[i].text, strlen(rows[i].text), piece);
            assert_string_equal(text, rows[i].plain);
        }
}

static void leaves_out_the_middle(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    (void) state;
    for (size_t i = 0; i < 40000; i++)
        buffer_format(&text, "\xc3\xa9%zu\n", i);
    cleanup_free char *plain =
        written((const char *) text.data, text.size, 4096);
    assert_true(strlen(plain) < 17000);
    assert_int_equal(strncmp(plain,
                             "\xc3\xa9"
                             "0\n\xc3\xa9"
                             "1\n",
                             8),
                     0);
    assert_non_null(strstr(plain, " bytes left out: "));
    assert_non_null(strstr(plain, "\xc3\xa9"
                                  "39999\n"));
    /* What is left out begins and ends between letters. */
    json_auto_t *valid = json_string(plain);
    assert_non_null(valid);
}

static void a_line_without_end_is_bounded(void **state)
{
    size_t size = 8u << 20;
    cleanup_free char *bar = mem_new(size);
    cleanup_process_text process_text_t self = {0};

    (void) state;
    /* A progress bar: what it has overwritten is not left out. */
    for (size_t at = 0; at < size; at += 8)
        memcpy(bar + at, at + 8 < size ? "\r[####  " : "\r[done] ", 8);
    cleanup_free char *shown = written(bar, size, 4096);
    assert_string_equal(shown, "[done]");
    memset(bar, 'x', size);
    cleanup_free char *cut = written(bar, size, 4096);
    assert_true(strlen(cut) < 17000);
    for (size_t at = 0; at < size; at += 65536) {
        process_text_add(&self, bar + at, 65536);
        assert_true(self.line.size < PROCESS_TEXT_LINE);
        assert_true(self.tail.size <= PROCESS_TEXT_TAIL);
        assert_true(self.head.size <= PROCESS_TEXT_HEAD);
    }
    assert_int_equal(
        self.left_out + self.line.size + self.tail.size + self.head.size, size);
}

static void counts_what_is_not_to_be_had(void **state)
{
    cleanup_process_text process_text_t self = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    process_text_skip(&self, 0);
    process_text_add(&self, "begin\n", 6);
    process_text_skip(&self, 1000);
    process_text_add(&self, "end\n", 4);
    process_text_write(&self, 3, &out);
    assert_string_equal((const char *) out.data,
                        "begin\n\n… 1000 bytes left out: read_output "
                        "ref=process:3 …\nend\n");
}

/* The line that has not ended, else those before it. */
static void has_its_end_at_any_time(void **state)
{
    cleanup_process_text process_text_t self = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    process_text_last(&self, &out);
    assert_int_equal(out.size, 0);
    process_text_add(&self, "a\n10%\r20%", 9);
    process_text_last(&self, &out);
    assert_text(&out, "20%");
    process_text_add(&self, "\n", 1);
    buffer_clear(&out);
    process_text_last(&self, &out);
    assert_text(&out, "a\n20%\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_lines_as_a_terminal_shows_them),
        cmocka_unit_test(leaves_out_the_middle),
        cmocka_unit_test(a_line_without_end_is_bounded),
        cmocka_unit_test(counts_what_is_not_to_be_had),
        cmocka_unit_test(has_its_end_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
