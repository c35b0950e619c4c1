/* The tables of routes, and which path fits which row. */
#include "gateway/http/server/routes.h"
#include "tests/lib/test.h"

#include "base/buffer.h"

#include <string.h>

static bool fits(const char *pattern, const char *path,
                 char *ret_parameters[EXCHANGE_PARAMETERS_MAX])
{
    for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
        ret_parameters[i] = NULL;
    return routes_match(pattern, path, ret_parameters);
}

static void forget(char *parameters[EXCHANGE_PARAMETERS_MAX])
{
    for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
        free(parameters[i]);
}

static void a_hole_is_one_segment_or_the_rest(void **state)
{
    char *found[EXCHANGE_PARAMETERS_MAX];

    (void) state;
    assert_true(fits("/a/{}/b/{}", "/a/1/b/2", found));
    assert_string_equal(found[0], "1");
    assert_string_equal(found[1], "2");
    forget(found);
    assert_true(fits("/a/{*}", "/a/1/2", found));
    assert_string_equal(found[0], "1/2");
    forget(found);
    assert_true(fits("/a/{*}", "/a/", found));
    assert_string_equal(found[0], "");
    forget(found);
}

static void other_paths_do_not_fit(void **state)
{
    static const char *const rows[][2] = {
        {"/a/{}", "/a/"},    {"/a/{}", "/a/1/2"},   {"/a/{}", "/a"},
        {"/a/{}/b", "/a/1"}, {"/a/{}/b", "/a/1/c"}, {"/a/{*}", "/a"},
        {"/a", "/a/"},       {"/a", "/ab"},         {"/a", ""},
    };
    char *found[EXCHANGE_PARAMETERS_MAX];

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (fits(rows[i][0], rows[i][1], found))
            fail_msg("%s fits %s", rows[i][1], rows[i][0]);
        for (size_t k = 0; k < EXCHANGE_PARAMETERS_MAX; k++)
            assert_null(found[k]);
    }
}

/* Returns a path that fits the pattern, for the caller: its holes are filled
 * with `word`. */
static char *fill(const char *pattern, const char *word)
{
    cleanup_buffer buffer_t path = BUFFER_EMPTY;

    while (*pattern) {
        size_t size = strcspn(pattern, "{");
        buffer_append(&path, pattern, size);
        pattern += size;
        if (!*pattern)
            break;
        buffer_append(&path, word, strlen(word));
        pattern = strchr(pattern, '}') + 1;
    }
    return mem_copy((const char *) path.data, path.size);
}

/* The list of tables is made by the build, in any order. */
static void no_path_has_two_rows_of_one_method(void **state)
{
    size_t cursor = 0, rows = 0;
    const route_t *row;

    (void) state;
    while ((row = routes_each(&cursor)) != NULL) {
        cleanup_free char *path = fill(row->pattern, "x");
        size_t other_cursor = 0, count = 0;
        const route_t *other;

        rows++;
        while ((other = routes_each(&other_cursor)) != NULL) {
            char *found[EXCHANGE_PARAMETERS_MAX];
            if (!fits(other->pattern, path, found))
                continue;
            forget(found);
            count += other->method == row->method;
        }
        if (count != 1)
            fail_msg("%s fits %zu rows", path, count);
    }
    assert_true(rows > 100);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hole_is_one_segment_or_the_rest),
        cmocka_unit_test(other_paths_do_not_fit),
        cmocka_unit_test(no_path_has_two_rows_of_one_method),
    };

    return cmocka_run_group_tests_name("routes", tests, NULL, NULL);
}
