/* How what a profile had preinstalled differs from what it has. */
#include "gateway/cli/recordings/preinstalled_change.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

static char *change(const char *then, const char *now)
{
    json_auto_t *before = json_loads(then, 0, NULL);
    json_auto_t *after = now ? json_loads(now, 0, NULL) : NULL;
    char *text = preinstalled_change(before, after);

    return text ? text : mem_text("");
}

#define ONE(name, version) "{\"name\":\"" name "\",\"version\":\"" version "\"}"
#define FILE(name, hash)                                                       \
    "{\"name\":\"" name "\",\"version\":\"1\",\"sha256\":\"" hash "\"}"

static void only_what_differs_is_said(void **state)
{
    static const struct {
        const char *then, *now, *text;
    } cases[] = {
        {"[" ONE("a", "1") "]", "[" ONE("a", "1") "]", ""},
        {"[" ONE("a", "1") "]", "[" FILE("a", "00") "]", ""},
        {"[]", "[" ONE("a", "1") "]", ""},
        {"[" ONE("a", "1") "," ONE("numpy", "2.2") "]",
         "[" ONE("numpy", "2.3") "," ONE("a", "1") "]",
         "preinstalled then: numpy 2.2; now: numpy 2.3"},
        {"[" ONE("a", "1") "]", NULL,
         "preinstalled then: a 1; now: none of these"},
        {"[" ONE("a", "1") "]", "[" ONE("a", "1") "," ONE("b", "2") "]",
         "preinstalled then: none of these; now: b 2"},
        {"[" FILE("a", "0123456789") "]", "[" FILE("a", "ffffffffff") "]",
         "preinstalled then: a 1 (SHA-256 01234567…); now: a 1 (SHA-256 "
         "ffffffff…)"},
        /* A recording may say anything: no half of a character is shown. */
        {"[" FILE("a", "0äöüäöü") "]", "[" FILE("a", "0é") "]",
         "preinstalled then: a 1 (SHA-256 0äöü…); now: a 1 (SHA-256 0é…)"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *text = change(cases[i].then, cases[i].now);

        assert_string_equal(text, cases[i].text);
    }
}

static void the_sentence_is_bounded(void **state)
{
    json_auto_t *then = json_array();
    cleanup_free char *text = NULL;

    (void) state;
    for (int i = 0; i < 500; i++)
        json_array_append_new(then, json_pack("{s:o,s:s}", "name",
                                              json_sprintf("a%d", i), "version",
                                              "1"));
    text = preinstalled_change(then, NULL);
    assert_string_equal(text, "preinstalled then: a0 1, a1 1, a2 1, a3 1, a4 "
                              "1, a5 1, a6 1, a7 1, a8 1, a9 1 and 490 more; "
                              "now: none of these");
}

static void a_name_is_bounded(void **state)
{
    json_auto_t *then = json_array();
    cleanup_free char *name = mem_new(100001), *text = NULL;

    (void) state;
    memset(name, 'x', 100000);
    json_array_append_new(
        then, json_pack("{s:s,s:s}", "name", name, "version", name));
    text = preinstalled_change(then, NULL);
    assert_in_range(strlen(text), 2 * 128, 2 * 128 + 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_differs_is_said),
        cmocka_unit_test(the_sentence_is_bounded),
        cmocka_unit_test(a_name_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
