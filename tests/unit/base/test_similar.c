/* The word that was probably meant by a mistyped one. */
#include "base/similar.h"
#include "tests/lib/test.h"

#include <string.h>

static const char *guess(const char *word)
{
    static const char *const words[] = {"list", "show", "create", "delete",
                                        "idle_timeout"};
    similar_t similar = {.word = word};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        similar_offer(&similar, words[i]);
    return similar.best;
}

static void finds_the_word_that_was_meant(void **state)
{
    (void) state;
    assert_string_equal(guess("lst"), "list");
    assert_string_equal(guess("lsit"), "list");
    assert_string_equal(guess("crate"), "create");
    assert_string_equal(guess("delte"), "delete");
    assert_string_equal(guess("idle_timout"), "idle_timeout");
    assert_string_equal(guess("idl_timeot"), "idle_timeout");
}

static void suggests_nothing_without_a_similar_name(void **state)
{
    (void) state;
    assert_null(guess("colour"));
    assert_null(guess("sw"));
    assert_null(guess(""));
}

static void counts_changes(void **state)
{
    char letters[200];

    (void) state;
    assert_int_equal(similar_distance("", "abc"), 3);
    assert_int_equal(similar_distance("abc", ""), 3);
    assert_int_equal(similar_distance("abc", "abc"), 0);
    assert_int_equal(similar_distance("abc", "acb"), 1);
    assert_int_equal(similar_distance("kitten", "sitting"), 3);
    memset(letters, 'x', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';
    assert_int_equal(similar_distance(letters, "x"), 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_word_that_was_meant),
        cmocka_unit_test(suggests_nothing_without_a_similar_name),
        cmocka_unit_test(counts_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
