/* UTF-8, one character at a time. */
#include "base/utf8.h"
#include "tests/lib/test.h"

#include <string.h>

static void decodes_and_encodes(void **state)
{
    static const struct {
        const char *text;
        uint32_t code;
    } characters[] = {
        {"A", 'A'},
        {"\303\251", 0xE9},
        {"\342\202\254", 0x20AC},
        {"\360\237\230\200", 0x1F600},
        {"\364\217\277\277", 0x10FFFF},
    };

    (void) state;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        const char *text = characters[i].text;
        size_t size = strlen(text);
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        uint32_t code = 0;
        assert_int_equal(utf8_decode(text, text + size, &code), size);
        assert_int_equal(code, characters[i].code);
        utf8_append(&out, code);
        assert_string_equal((char *) out.data, text);
        if (size > 1)
            assert_int_equal(utf8_decode(text, text + size - 1, &code), 0);
    }
}

static void refuses_what_is_no_character(void **state)
{
    static const char *const others[] = {
        "\200",         "\300\200",         "\301\277",
        "\340\237\277", "\355\240\200",     "\360\217\277\277",
        "\303x",        "\364\220\200\200", "\365\200\200\200",
    };
    uint32_t code = 0;

    (void) state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(
            utf8_decode(others[i], others[i] + strlen(others[i]), &code), 0);
}

static void cuts_between_characters(void **state)
{
    static const char text[] = "a\342\202\254b";

    (void) state;
    assert_int_equal(utf8_cut(text, 0), 0);
    assert_int_equal(utf8_cut(text, 1), 1);
    assert_int_equal(utf8_cut(text, 3), 1);
    assert_int_equal(utf8_cut(text, 4), 4);
    assert_int_equal(utf8_next(text, 0, 5), 0);
    assert_int_equal(utf8_next(text, 2, 5), 4);
    assert_int_equal(utf8_next(text, 4, 5), 4);
    assert_int_equal(utf8_next(text, 2, 3), 3);
}

static size_t whole(const char *text)
{
    return utf8_whole(text_bytes(text));
}

static void leaves_a_torn_character(void **state)
{
    (void) state;
    assert_int_equal(whole(""), 0);
    assert_int_equal(whole("ab"), 2);
    assert_int_equal(whole("a\303"), 1);
    assert_int_equal(whole("a\303\251"), 3);
    assert_int_equal(whole("a\360\237\230"), 1);
    assert_int_equal(whole("a\360\237\230\200"), 5);
    assert_int_equal(whole("\342\202"), 0);
    /* What is no beginning of a character does not wait for its rest. */
    assert_int_equal(whole("a\377"), 2);
    assert_int_equal(whole("\200\200\200\200"), 4);
    assert_int_equal(whole("\200"), 1);
    assert_int_equal(whole("\303\251\251"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_and_encodes),
        cmocka_unit_test(refuses_what_is_no_character),
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(leaves_a_torn_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
