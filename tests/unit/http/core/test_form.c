#include "gateway/http/core/form.h"
#include "tests/lib/test.h"

#include <string.h>

static char *form(const char *body, const char *name)
{
    cleanup_buffer buffer_t buffer = BUFFER_EMPTY;

    buffer_text(&buffer, body);
    return form_form(&buffer, name);
}

static void assert_form(const char *body, const char *name,
                        const char *expected)
{
    cleanup_free char *value = form(body, name);

    assert_non_null(value);
    assert_string_equal(value, expected);
}

static void assert_cookie(const char *header, const char *name,
                          const char *expected)
{
    cleanup_free char *value = form_cookie(header, name);

    assert_non_null(value);
    assert_string_equal(value, expected);
}

static void decodes_a_form(void **state)
{
    (void) state;
    assert_form("token=abc&next=%2Fapi%2fx", "token", "abc");
    assert_form("token=abc&next=%2Fapi%2fx", "next", "/api/x");
    assert_form("a=1+2%2B3", "a", "1 2+3");
    assert_form("a=%C3%A9\xc3\xa9", "a", "\xc3\xa9\xc3\xa9");
    assert_form("a=x=y", "a", "x=y");
    assert_form("a=", "a", "");
    /* The first one counts. */
    assert_form("a=1&a=2", "a", "1");
    /* What is decoded is not decoded again, nor cut. */
    assert_form("a=%2541%26b%3D1&b=2", "a", "%41&b=1");
    assert_form("a=%2541%26b%3D1&b=2", "b", "2");
}

static void keeps_invalid_escapes(void **state)
{
    (void) state;
    assert_form("a=%", "a", "%");
    assert_form("a=%4", "a", "%4");
    assert_form("a=%4&b=1", "a", "%4");
    assert_form("a=%zz%4z", "a", "%zz%4z");
    assert_form("a=%%41", "a", "%A");
}

static void finds_no_missing_field(void **state)
{
    static const char *const bodies[] = {
        "", "&", "=", "a", "a&a", "ab=1", "xa=1", "A=1", "%61=1", "&&=&;a=1",
    };
    static const char zero[] = "x=1\0&a=2";
    cleanup_buffer buffer_t cut = BUFFER_EMPTY, empty = BUFFER_EMPTY;

    (void) state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_null(form(bodies[i], "a"));
    buffer_append(&cut, zero, sizeof zero - 1);
    assert_null(form_form(&cut, "a"));
    assert_null(form_form(&empty, "a"));
}

/* Or a token that is right up to there would be right. */
static void takes_no_zero_byte(void **state)
{
    (void) state;
    assert_null(form("token=secret%00", "token"));
    assert_null(form("token=%00secret", "token"));
    assert_null(form("token=sec%00ret&token=secret", "token"));
}

static void finds_a_cookie(void **state)
{
    (void) state;
    assert_cookie("_xsrf=2|ab; hearth-1=x", "_xsrf", "2|ab");
    assert_cookie("_xsrf=2|ab; hearth-1=x", "hearth-1", "x");
    assert_cookie("a=1;b=2,c=3", "b", "2");
    assert_cookie("a=1;b=2,c=3", "c", "3");
    assert_cookie(";;, ; a=1", "a", "1");
    assert_cookie("a=", "a", "");
    assert_cookie("a==b", "a", "=b");
    assert_cookie("a=1; a=2", "a", "1");
    assert_cookie("a=%31", "a", "%31");
}

static void finds_no_missing_cookie(void **state)
{
    static const char *const headers[] = {
        "", ";", "a", "a;", "=a", "ab=1", "xa=1", "b=a=1", "A=1", "b=1 a=2",
    };

    (void) state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_null(form_cookie(headers[i], "a"));
    assert_null(form_cookie(NULL, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_a_form),
        cmocka_unit_test(keeps_invalid_escapes),
        cmocka_unit_test(finds_no_missing_field),
        cmocka_unit_test(takes_no_zero_byte),
        cmocka_unit_test(finds_a_cookie),
        cmocka_unit_test(finds_no_missing_cookie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
