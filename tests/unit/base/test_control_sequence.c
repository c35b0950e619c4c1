/* A control sequence is found from its first to its last byte. */
#include "base/control_sequence.h"
#include "tests/lib/test.h"

#include <string.h>

/* Reads a text of which each byte has its letter in `steps`: "-" for none,
 * "b"egin, "p"art, "e"nd, "c"ancel; capital where the sequence is renewed.
 * Returns the reader. */
static control_sequence_t read_as(const char *text, const char *steps)
{
    static const char letters[] = "-bpec", renewed[] = "=BPEC";
    control_sequence_t self = {0};
    char found[64] = "";

    assert_int_equal(strlen(text), strlen(steps));
    for (size_t i = 0; text[i]; i++) {
        control_sequence_step_t step =
            control_sequence_step(&self, (unsigned char) text[i]);

        found[i] = self.is_renewed ? renewed[step] : letters[step];
    }
    assert_string_equal(found, steps);
    return self;
}

static void a_sequence_has_a_beginning_and_an_end(void **state)
{
    control_sequence_t self = read_as("a\033[31mb", "-bpppe-");

    (void) state;
    assert_int_equal(self.first, CONTROL_SEQUENCE_ESCAPE);
    assert_int_equal(self.name, '[');
    assert_false(self.has_intermediates);
    assert_false(control_sequence_is_string(&self));
    assert_int_equal(self.state, 0);
    self = read_as("\xc2\x9b"
                   "6n",
                   "bppe");
    assert_int_equal(self.first, CONTROL_SEQUENCE_C1);
    assert_int_equal(self.name, '[');
    self = read_as("\033Z", "be");
    assert_int_equal(self.name, 'Z');
    self = read_as("\xc2\x85", "be");
    assert_int_equal(self.name, 'E');
    self = read_as("\xc2\xa9", "be");
    assert_int_equal(self.name, 0);
}

static void intermediate_bytes_name_a_sequence_too(void **state)
{
    control_sequence_t self = read_as("\033(]a", "bpe-");

    (void) state;
    assert_true(self.has_intermediates);
    assert_int_equal(self.name, 0);
    assert_false(control_sequence_is_string(&self));
    self = read_as("\033(\033c", "bpbe");
    assert_false(self.has_intermediates);
}

static void a_string_has_an_end_of_its_own(void **state)
{
    static const char *const rows[][2] = {
        {"\033]0;t\aa", "bppppe-"},
        {"\033]x\033\\a", "bpppe-"},
        {"\033Px\a\033\\a", "bppppe-"},
        {"\033Xx\xc2\x9c"
         "a",
         "bpppe-"},
        {"\033^\xc2\xa9\033\\", "bppppe"},
        {"\xc2\x9f\xc2\xc2\x9c", "bpppe"},
        {"\xc2\x9dx\a", "bppe"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        control_sequence_t self = read_as(rows[i][0], rows[i][1]);
        assert_true(control_sequence_is_string(&self));
    }
}

static void a_sequence_ends_where_another_begins(void **state)
{
    static const char *const rows[][2] = {
        {"\033\033[m", "bbpe"},          {"\033[\033[m", "bpbpe"},
        {"\xc2\xc2\x9bm", "bbpe"},       {"\xc2\033[m", "bbpe"},
        {"\033]x\033[m", "bpppPe"},      {"\033]x\033c-", "bpppE-"},
        {"\033]x\033\033[m", "bpppBpe"}, {"\033]x\033\xc2\x9bm", "bpppBpe"},
        {"\033]x\xc2\x9bm", "bpppPe"},   {"\033]x\xc2\x85-", "bpppE-"},
        {"\033]x\033]y\a", "bpppPpe"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        (void) read_as(rows[i][0], rows[i][1]);
}

static void some_bytes_leave_a_sequence_without_effect(void **state)
{
    static const char *const rows[][2] = {
        {"\033\030a", "bc-"},
        {"\033\032a", "bc-"},
        {"\033[1\030a", "bppc-"},
        {"\033]1\032a", "bppc-"},
        {"\033\xc3\xa9", "b--"},
        {"\033[1\xc3\xa9", "bpp--"},
        {"\xc2-", "b-"},
        {"\xc2\xe2\x82\xac", "b---"},
        {"\033]\033\030", "bppC"},
        /* A string may have characters. */
        {"\033]\xe2\x82\xac\a", "bppppe"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        (void) read_as(rows[i][0], rows[i][1]);
}

static void controls_are_executed_in_a_sequence(void **state)
{
    (void) state;
    (void) read_as("\033\n\r[\b6\177n\n", "bppppppe-");
    (void) read_as("\033\177Z", "bpe");
    (void) read_as("\033(\nB", "bppe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sequence_has_a_beginning_and_an_end),
        cmocka_unit_test(intermediate_bytes_name_a_sequence_too),
        cmocka_unit_test(a_string_has_an_end_of_its_own),
        cmocka_unit_test(a_sequence_ends_where_another_begins),
        cmocka_unit_test(some_bytes_leave_a_sequence_without_effect),
        cmocka_unit_test(controls_are_executed_in_a_sequence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
