/* What a new client of a terminal gets. */
#include "gateway/http/terminals/terminal_recent.h"

#include "tests/lib/test.h"

#include <string.h>

static void add(terminal_recent_t *self, const char *text, const char *whole)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    terminal_recent_add(self, (bytes_t){text, strlen(text)}, &out);
    buffer_append(&out, "", 1);
    assert_string_equal((char *) out.data, whole);
}

static void waits_for_the_rest_of_a_character(void **state)
{
    terminal_recent_t self = {0};

    (void) state;
    add(&self, "a\360", "a");
    add(&self, "\237\230", "");
    add(&self, "\200b\303", "\360\237\230\200b");
    add(&self, "x", "\303x");
    assert_int_equal(self.text.size, 8);
    terminal_recent_clear(&self);
}

static void forgets_the_oldest_lines(void **state)
{
    static const char line[] = "0123456789\303\251\r\n";
    terminal_recent_t self = {0};

    (void) state;
    for (size_t i = 0; i < 2 * TERMINAL_RECENT_MAX / (sizeof line - 1); i++)
        add(&self, line, line);
    assert_true(self.text.size <= TERMINAL_RECENT_MAX);
    assert_true(self.text.size > TERMINAL_RECENT_MAX - sizeof line);
    assert_memory_equal(self.text.data, line, sizeof line - 1);
    terminal_recent_clear(&self);
}

static void cuts_no_character_where_there_is_no_line(void **state)
{
    terminal_recent_t self = {0};
    const size_t count = TERMINAL_RECENT_MAX;

    (void) state;
    for (size_t i = 0; i < count; i++)
        add(&self, i ? "\303\251" : "a\303\251", i ? "\303\251" : "a\303\251");
    assert_int_equal(self.text.size, TERMINAL_RECENT_MAX);
    assert_int_equal(self.text.data[0], 0303);
    terminal_recent_clear(&self);
}

/* A client that is there gets all; a later one also gets the beginning of a
 * sequence whose end is to come. */
static void leaves_queries_out_of_what_a_later_client_gets(void **state)
{
    terminal_recent_t self = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    add(&self, "a\033[6n", "a\033[6n");
    add(&self, "b\033[3", "b\033[3");
    terminal_recent_write(&self, &out);
    buffer_append(&out, "", 1);
    assert_string_equal((char *) out.data, "ab\033[3");
    terminal_recent_clear(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_rest_of_a_character),
        cmocka_unit_test(forgets_the_oldest_lines),
        cmocka_unit_test(cuts_no_character_where_there_is_no_line),
        cmocka_unit_test(leaves_queries_out_of_what_a_later_client_gets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
