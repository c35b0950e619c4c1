/* What clients of a terminal send, and what they get. */
#include "gateway/http/terminals/terminal_message.h"

#include "tests/lib/test.h"

#include <string.h>

static bool read_text(const char *text, terminal_message_t *ret_message)
{
    return terminal_message_read(text, strlen(text), ret_message);
}

static void reads_input(void **state)
{
    static const char *const texts[] = {"[\"stdin\",\"a\\u0003\\r\\u00e9\"]",
                                        " [ \"stdin\", \"a\\u0003\\r\u00e9\" , "
                                        "{}, 7 ]"};

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_terminal_message terminal_message_t message;
        assert_true(read_text(texts[i], &message));
        assert_int_equal(message.kind, TERMINAL_MESSAGE_STDIN);
        assert_int_equal(message.text.size, 5);
        assert_memory_equal(message.text.data, "a\3\r\303\251", 5);
    }
}

static void reads_a_size(void **state)
{
    terminal_message_t message;

    (void) state;
    assert_true(read_text("[\"set_size\",24,80,400,800.5]", &message));
    assert_int_equal(message.kind, TERMINAL_MESSAGE_SET_SIZE);
    assert_int_equal(message.rows, 24);
    assert_int_equal(message.columns, 80);
    assert_true(read_text("[\"set_size\",1,70000]", &message));
    assert_int_equal(message.columns, TERMINAL_MESSAGE_SIDE_MAX);
}

static void passes_over_what_it_does_not_know(void **state)
{
    static const char *const texts[] = {
        "[\"stdin\"]",
        "[\"stdin\",3]",
        "[\"set_size\",24]",
        "[\"set_size\",0,80]",
        "[\"set_size\",24,-1]",
        "[\"set_size\",24.5,80]",
        "[\"set_size\",null,null]",
        "[\"disconnect\",1]",
        "[\"\"]",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_terminal_message terminal_message_t message;
        assert_true(read_text(texts[i], &message));
        assert_int_equal(message.kind, TERMINAL_MESSAGE_OTHER);
        assert_int_equal(message.text.size, 0);
    }
}

static void refuses_what_is_no_message(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "\"stdin\"",
        "[1,\"stdin\"]",
        "[[\"stdin\",\"a\"]]",
        "[\"stdin\",\"a\"",
        "[\"stdin\",\"a\"] x",
        "[\"stdin\",\"\377\"]",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_terminal_message terminal_message_t message;
        assert_false(read_text(texts[i], &message));
    }
}

static void writes_what_terminado_writes(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    terminal_message_write_setup(&out);
    terminal_message_write_stdout(&out, (bytes_t){"\33[1m\"\377", 6});
    terminal_message_write_disconnect(&out);
    buffer_append(&out, "", 1);
    assert_string_equal((char *) out.data,
                        "[\"setup\",{}][\"stdout\",\"\\u001b[1m\\\"\357\277\275"
                        "\"][\"disconnect\",1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_input),
        cmocka_unit_test(reads_a_size),
        cmocka_unit_test(passes_over_what_it_does_not_know),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(writes_what_terminado_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
