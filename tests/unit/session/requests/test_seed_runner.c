#include "gateway/session/requests/seed_runner.h"
#include "tests/lib/checked.h"

#include <stdio.h>
#include <string.h>

static char name[] = "python", first[] = "a = 1", second[] = "b = \"2\"";
static char *cells[] = {first, second, NULL};
static const profile_t seeded = {.name = name, .seed_cells = cells};
static const profile_t plain = {.name = name};

static void a_profile_without_a_seed_runs_no_cells(void **state)
{
    session_spec_t spec = {.profile = &plain};
    cleanup_seed_runner seed_runner_t *self = seed_runner_new(&spec);

    (void) state;
    assert_false(seed_runner_begin(self));
    assert_false(spec.seed.is_running);
}

static void expect_next(seed_runner_t *self, uint64_t number,
                        const char *content)
{
    cleanup_request request_t *request = seed_runner_next(self);
    bytes_t got;

    assert_non_null(request);
    assert_int_equal(request->number, number);
    assert_int_equal(request->purpose, REQUEST_FOR_SEED);
    assert_true(request_is_execute(request));
    assert_false(request->stop_on_error);
    got = message_content(request->message);
    assert_true(got.size > strlen(content));
    assert_memory_equal(got.bytes, content, strlen(content));
}

/* One after the other, by numbers that no client's request has. */
static void runs_all_cells_of_the_seed(void **state)
{
    session_spec_t spec = {.profile = &seeded};
    cleanup_seed_runner seed_runner_t *self = seed_runner_new(&spec);
    char text[200];

    (void) state;
    assert_true(seed_runner_begin(self));
    assert_true(spec.seed.is_running);
    assert_int_equal(spec.seed.count, 2);
    expect_next(self, 1, "{\"code\":\"a = 1\",");
    assert_int_equal(seed_runner_cell(self), 1);
    assert_int_equal(
        seed_runner_judge(self, checked("{\"status\":\"ok\"}"), text),
        SEED_RUNNER_GOES_ON);
    expect_next(self, 2, "{\"code\":\"b = \\\"2\\\"\",");
    assert_null(seed_runner_next(self));
    assert_true(spec.seed.is_running);
    assert_int_equal(
        seed_runner_judge(self, checked("{\"status\":\"ok\"}"), text),
        SEED_RUNNER_DONE);
    assert_false(spec.seed.is_running);
}

static void the_next_kernel_begins_with_new_numbers(void **state)
{
    session_spec_t spec = {.profile = &seeded};
    cleanup_seed_runner seed_runner_t *self = seed_runner_new(&spec);

    (void) state;
    assert_true(seed_runner_begin(self));
    expect_next(self, 1, "{\"code\":\"a = 1\",");
    seed_runner_stop(self);
    assert_false(spec.seed.is_running);
    assert_true(seed_runner_begin(self));
    assert_int_equal(spec.seed.count, 4);
    expect_next(self, 3, "{\"code\":\"a = 1\",");
    expect_next(self, 4, "{\"code\":\"b = \\\"2\\\"\",");
}

static void a_cell_that_fails_ends_the_seed(void **state)
{
    session_spec_t spec = {.profile = &seeded};
    cleanup_seed_runner seed_runner_t *self = seed_runner_new(&spec);
    char text[200];

    (void) state;
    assert_true(seed_runner_begin(self));
    expect_next(self, 1, "{\"code\":\"a = 1\",");
    assert_int_equal(
        seed_runner_judge(
            self,
            checked("{\"status\":\"error\",\"ename\":\"E\","
                    "\"evalue\":\"a\\u0007b\\n\\u00e9 ~\\u007f\"}"),
            text),
        SEED_RUNNER_FAILED);
    /* What a terminal might obey is not repeated. */
    assert_string_equal(text, "cell 1 of the seed failed: E: a?b??? ~?");
    assert_int_equal(
        seed_runner_judge(self, checked("{\"status\":\"aborted\"}"), text),
        SEED_RUNNER_FAILED);
    assert_string_equal(text, "cell 1 of the seed failed: ?: ?");
}

static void long_words_are_cut(void **state)
{
    session_spec_t spec = {.profile = &seeded};
    cleanup_seed_runner seed_runner_t *self = seed_runner_new(&spec);
    char content[600], word[300], text[200];

    (void) state;
    memset(word, 'x', sizeof word);
    word[sizeof word - 1] = '\0';
    snprintf(content, sizeof content,
             "{\"status\":\"error\",\"ename\":\"%.61s\",\"evalue\":\"%.101s\"}",
             word, word);
    (void) seed_runner_judge(self, checked(content), text);
    assert_int_equal(strlen(text),
                     strlen("cell 0 of the seed failed: : ") + 60 + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_a_seed_runs_no_cells),
        cmocka_unit_test(runs_all_cells_of_the_seed),
        cmocka_unit_test(the_next_kernel_begins_with_new_numbers),
        cmocka_unit_test(a_cell_that_fails_ends_the_seed),
        cmocka_unit_test(long_words_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
