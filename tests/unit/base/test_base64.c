#include "base/base64.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static base64_t find(const char *text)
{
    return base64_find(text, strlen(text), false);
}

static base64_t find_in_json(const char *text)
{
    return base64_find(text, strlen(text), true);
}

static void distinguishes_lines_from_one_line(void **state)
{
    (void) state;
    assert_int_equal(find("aGVhcnRo"), BASE64_PLAIN);
    assert_int_equal(find("aGVh\ncnRo\n"), BASE64_LINES);
    assert_int_equal(find("aGVh\r\n cnRo\t"), BASE64_LINES);
    assert_int_equal(find("no base64"), BASE64_LINES); /* it could be */
    assert_int_equal(find("none: 64"), BASE64_NONE);
}

static void counts_letters_and_padding(void **state)
{
    (void) state;
    assert_int_equal(find(""), BASE64_PLAIN);
    assert_int_equal(find("aGVhcg=="), BASE64_PLAIN);
    assert_int_equal(find("aGVhcnQ="), BASE64_PLAIN);
    assert_int_equal(find("aGVhcnQ"), BASE64_NONE);
    assert_int_equal(find("aGVhcn"), BASE64_NONE);
    assert_int_equal(find("aGVhc"), BASE64_NONE);
    assert_int_equal(find("a==="), BASE64_NONE);
    assert_int_equal(find("===="), BASE64_NONE);
    assert_int_equal(find("aG=VhcnRo=="), BASE64_NONE);
    assert_int_equal(find("aGVhcg=="
                          "aGVh"),
                     BASE64_NONE);
}

/* At each place in the blocks that are checked at once. */
static void sees_each_letter(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ+/";

    (void) state;
    for (size_t at = 0; at < 195; at++)
        for (int c = 0; c < 256; c++) {
            char text[196];
            base64_t wanted = BASE64_NONE;

            memset(text, 'A', sizeof text);
            text[at] = (char) c;
            if (c && c < 128 && strchr(letters, c))
                wanted = BASE64_PLAIN;
            if (base64_find(text, sizeof text, false) != wanted)
                fail_msg("0x%02x at %zu", (unsigned) c, at);
        }
}

static void accepts_json_escapes(void **state)
{
    (void) state;
    assert_int_equal(find_in_json("aGVh\\ncnRo\\r\\n\\t"), BASE64_LINES);
    assert_int_equal(find_in_json("aGVh cnRo"), BASE64_LINES);
    assert_int_equal(find_in_json("aGVhcnRo"), BASE64_PLAIN);
    assert_int_equal(find_in_json("aGVh\\\"cnRo"), BASE64_NONE);
    assert_int_equal(find_in_json("aGVh\\u000acnRo"), BASE64_NONE);
    assert_int_equal(find_in_json("aGVh\\/cnRo"), BASE64_NONE);
    assert_int_equal(find_in_json("aGVhcnRo\\"), BASE64_NONE);
    assert_int_equal(find("aGVh\\ncnRo"), BASE64_NONE);
    assert_int_equal(find_in_json("aGVh\ncnRo"), BASE64_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinguishes_lines_from_one_line),
        cmocka_unit_test(counts_letters_and_padding),
        cmocka_unit_test(sees_each_letter),
        cmocka_unit_test(accepts_json_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
