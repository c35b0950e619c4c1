/* What has a terminal answer is not in the output that a later client gets. */
#include "gateway/http/terminals/terminal_queries.h"

#include "tests/lib/test.h"

#include <string.h>

/* Returns what is left of the text, which comes in pieces of that size. */
static char *left_of(const char *text, size_t size, size_t piece)
{
    terminal_queries_t self = {0};
    buffer_t out = BUFFER_EMPTY;

    for (size_t at = 0; at < size; at += piece)
        terminal_queries_leave_out(
            &self, (bytes_t){text + at, size - at < piece ? size - at : piece},
            &out);
    terminal_queries_clear(&self);
    buffer_append(&out, "", 1);
    return (char *) out.data;
}

static void leaves(const char *text, const char *expected)
{
    for (size_t piece = 1; piece <= 4; piece++) {
        cleanup_free char *left = left_of(text, strlen(text), piece);
        assert_string_equal(left, expected);
    }
}

static void leaves_out_requests_for_reports(void **state)
{
    static const char *const queries[] = {
        "\x05",    /* ENQ */
        "\033[6n", /* DSR */
        "\033[?6n",
        "\033[c", /* DA */
        "\033[>0c",
        "\033[=c",
        "\033Z",      /* DECID */
        "\033[x",     /* DECREQTPARM */
        "\033[21t",   /* the title */
        "\033[?25$p", /* DECRQM */
        "\033[1$w",   /* DECRQPSR */
        "\033[1;1;1;1;9;9*y" /* DECRQCRA */,
        "\033[>q",      /* XTVERSION */
        "\033[?u",      /* the keyboard's flags */
        "\033[?1;1;0S", /* graphics */
        "\033\n[6n",
        "\033[6\rn",  /* with a control within */
        "\302\2336n", /* by C1 controls */
        "\302\232",
    };

    (void) state;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        cleanup_free char *text = mem_format("a%sb", queries[i]);
        leaves(text, "ab");
    }
}

static void leaves_out_what_asks_for_strings(void **state)
{
    static const char *const queries[] = {
        "\033]10;?\a",       "\033]4;1;?\033\\",   "\033]52;c;?\a",
        "\033]21;a=?\a",     "\033P$qm\033\\",     "\033P+q544e\302\234",
        "\302\220$qm\033\\", "\033_Gq\033\\",      "\033^x\033\\",
        "\033Xx\033\\",      "\302\23511;?\a",     "\033]11;?\302\234",
        "\033Pa\ab\033\\",   "\033]0;\303\251?\a",
    };

    (void) state;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        cleanup_free char *text = mem_format("a%sb", queries[i]);
        leaves(text, "ab");
    }
}

static void keeps_what_a_terminal_shows(void **state)
{
    static const char *const kept[] = {
        "plain \303\251 \302\251 \360\237\230\200\r\n\t\a",
        "\033[31mred\033[0m",
        "\033[2J\033[1;1H",
        "\033[?25l\033[?1049h",
        "\033[5 q",
        "\033[2S\033[u",
        "\033(B\033([\033(Z",
        "\0337\0338\033c\033=",
        "\033]0;title\a",
        "\033]8;;http://a/?b\033\\link\033]8;;\a",
        "\033]0;\302\251\a",
        "\302\2331m",
    };

    (void) state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        leaves(kept[i], kept[i]);
}

/* Terminals end a sequence where another begins, and by CAN and SUB. */
static void finds_the_beginning_of_a_sequence_in_another(void **state)
{
    (void) state;
    leaves("a\033[\033[6nb", "ab");
    leaves("a\033]0;t\033[6nb", "ab");
    leaves("a\033]0;t\033[1mb", "a\033[1mb");
    leaves("a\033P1\302\2336nb", "ab");
    leaves("a\033]0;t\302\2331mb", "a\302\2331mb");
    leaves("a\033]0;t\302\302\2336nb", "ab");
    leaves("a\033\033[6nb", "ab");
    leaves("a\033[6\030nb", "anb");
    leaves("a\033\032nb", "anb");
    leaves("a\033P1\030b", "ab");
    leaves("a\033]0;t\032b", "ab");
    leaves("a\033[6\303\251b", "a\303\251b");
    leaves("a\302\033[6nb", "ab");
}

static void waits_for_the_end_of_a_sequence(void **state)
{
    terminal_queries_t self = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    terminal_queries_leave_out(&self, text_bytes("a\033[31"), &out);
    assert_int_equal(out.size, 1);
    assert_int_equal(self.sequence.size, 4);
    terminal_queries_leave_out(&self, text_bytes("mb"), &out);
    assert_int_equal(out.size, 7);
    assert_int_equal(self.sequence.size, 0);
    terminal_queries_clear(&self);
}

static void leaves_out_a_sequence_that_is_too_long(void **state)
{
    char text[TERMINAL_SEQUENCE_MAX + 16];

    (void) state;
    for (size_t size = TERMINAL_SEQUENCE_MAX; size <= TERMINAL_SEQUENCE_MAX + 1;
         size++) {
        cleanup_free char *left = NULL;

        memset(text, 'x', sizeof text);
        memcpy(text, "\033]0;", 4);
        text[size - 1] = '\a';
        left = left_of(text, size + 1, 7);
        assert_int_equal(strlen(left),
                         size == TERMINAL_SEQUENCE_MAX ? size + 1 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_out_requests_for_reports),
        cmocka_unit_test(leaves_out_what_asks_for_strings),
        cmocka_unit_test(keeps_what_a_terminal_shows),
        cmocka_unit_test(finds_the_beginning_of_a_sequence_in_another),
        cmocka_unit_test(waits_for_the_end_of_a_sequence),
        cmocka_unit_test(leaves_out_a_sequence_that_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
