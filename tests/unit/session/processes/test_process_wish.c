#include "gateway/session/processes/process_wish.h"
#include "protocol/jspan.h"
#include "tests/lib/test.h"

#include "base/buffer.h"

#include <errno.h>
#include <string.h>

static int read_wish(process_wish_t *wish, const char *text, fault_t *fault)
{
    jspan_t content;

    assert_int_equal(jspan_check(text, strlen(text), &content, fault), 0);
    return process_wish_read(wish, content, fault);
}

static void reads_a_whole_wish(void **state)
{
    cleanup_process_wish process_wish_t wish = {0};
    process_t process = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(read_wish(&wish,
                               "{\"argv\":[\"ls\",\"-l\"],\"cwd\":\"a\","
                               "\"env\":{\"A\":\"b=c\"},\"timeout\":1.5,"
                               "\"terminal\":{\"rows\":10},\"input\":true,"
                               "\"follow\":true}",
                               &fault),
                     0);
    assert_int_equal(wish.texts.argument_count, 2);
    assert_string_equal(wish.texts.arguments[1], "-l");
    assert_string_equal(wish.texts.folder, "a");
    assert_int_equal(wish.texts.environment_count, 2);
    assert_string_equal(wish.texts.environment[0], "A=b=c");
    assert_string_equal(wish.texts.environment[1], "TERM=xterm-256color");
    assert_int_equal(wish.limit_ms, 1500);
    assert_int_equal(wish.rows, 10);
    assert_int_equal(wish.columns, 80);
    assert_true(wish.has_input && wish.follows && wish.is_terminal);
    process_wish_describe(&wish, &process);
    assert_string_equal(process.arguments, "[\"ls\",\"-l\"]");
    free(process.arguments);
    free(process.folder);
}

static void has_defaults(void **state)
{
    cleanup_process_wish process_wish_t wish = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(read_wish(&wish, "{\"argv\":[\"true\"]}", &fault), 0);
    assert_string_equal(wish.texts.folder, ".");
    assert_int_equal(wish.texts.environment_count, 0);
    assert_int_equal(wish.limit_ms, 0);
    assert_false(wish.has_input || wish.follows || wish.is_terminal);
}

static void takes_all_of_the_input_at_the_start(void **state)
{
    cleanup_process_wish process_wish_t wish = {0}, big = {0};
    cleanup_free char *xs = mem_new(KEEPER_INPUT_MAX + 2);
    cleanup_free char *text = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(
        read_wish(&wish, "{\"argv\":[\"cat\"],\"input\":\"a\\n\"}", &fault), 0);
    assert_int_equal(wish.input.size, 2);
    assert_false(wish.has_input);
    memset(xs, 'x', KEEPER_INPUT_MAX + 1);
    text = mem_format("{\"argv\":[\"cat\"],\"input\":\"%s\"}", xs);
    assert_int_equal(read_wish(&big, text, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "input has 262145 bytes"));
}

static void its_input_may_go_on_after_a_text(void **state)
{
    static const char *const ends[] = {"", ",\"end\":true", ",\"end\":null"};
    cleanup_process_wish process_wish_t wish = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(
        read_wish(&wish, "{\"argv\":[\"cat\"],\"input\":\"a\",\"end\":false}",
                  &fault),
        0);
    assert_true(wish.has_input);
    assert_int_equal(wish.input.size, 1);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        cleanup_process_wish process_wish_t other = {0};
        cleanup_free char *text =
            mem_format("{\"argv\":[\"cat\"],\"input\":\"a\"%s}", ends[i]);

        assert_int_equal(read_wish(&other, text, &fault), 0);
        assert_false(other.has_input);
    }
}

static void a_key_has_a_digest_of_the_request(void **state)
{
    static const char *const others[] = {
        "{\"key\":\"k\",\"argv\":[\"ls\",\"a\"]}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"cwd\":\"a\"}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"env\":{\"A\":\"b\"}}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"timeout\":1}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"input\":\"a\"}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"terminal\":true}",
        "{\"key\":\"k\",\"argv\":[\"ls\"],\"end\":false}",
    };
    cleanup_process_wish process_wish_t wish = {0}, same = {0}, none = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(
        read_wish(&wish, "{\"key\":\"k\",\"argv\":[\"ls\"]}", &fault), 0);
    assert_string_equal(wish.key, "k");
    assert_int_equal(strlen(wish.digest), PROCESS_DIGEST_SIZE - 1);
    assert_int_equal(
        read_wish(&same, "{\"argv\":[\"ls\"],\"follow\":true,\"key\":\"k2\"}",
                  &fault),
        0);
    assert_string_equal(same.digest, wish.digest);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cleanup_process_wish process_wish_t other = {0};
        assert_int_equal(read_wish(&other, others[i], &fault), 0);
        assert_string_not_equal(other.digest, wish.digest);
    }
    assert_int_equal(read_wish(&none, "{\"argv\":[\"ls\"]}", &fault), 0);
    assert_null(none.key);
    assert_string_equal(none.digest, "");
}

static void refuses_what_is_wrong(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"argv\":\"ls\"}",
        "{\"argv\":[]}",
        "{\"argv\":[\"\"]}",
        "{\"argv\":[1]}",
        "{\"argv\":[\"a\\u0000b\"]}",
        "{\"argv\":[\"a\"],\"env\":[]}",
        "{\"argv\":[\"a\"],\"env\":{\"\":\"x\"}}",
        "{\"argv\":[\"a\"],\"env\":{\"A=B\":\"x\"}}",
        "{\"argv\":[\"a\"],\"env\":{\"A\":1}}",
        "{\"argv\":[\"a\"],\"env\":{\"A\":\"\\u0000\"}}",
        "{\"argv\":[\"a\"],\"cwd\":\"\"}",
        "{\"argv\":[\"a\"],\"cwd\":3}",
        "{\"argv\":[\"a\"],\"end\":1}",
        "{\"argv\":[\"a\"],\"end\":\"false\"}",
        "{\"argv\":[\"a\"],\"timeout\":0}",
        "{\"argv\":[\"a\"],\"timeout\":-1}",
        "{\"argv\":[\"a\"],\"timeout\":\"1\"}",
        "{\"argv\":[\"a\"],\"timeout\":1e300}",
        "{\"argv\":[\"a\"],\"input\":7}",
        "{\"argv\":[\"a\"],\"key\":7}",
        "{\"argv\":[\"a\"],\"key\":\"\"}",
        "{\"argv\":[\"a\"],\"key\":\"a\\u0000b\"}",
        "{\"argv\":[\"a\"],\"terminal\":7}",
        "{\"argv\":[\"a\"],\"terminal\":{\"rows\":0}}",
        "{\"argv\":[\"a\"],\"terminal\":{\"columns\":4097}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_process_wish process_wish_t wish = {0};
        fault_t fault;

        assert_int_equal(read_wish(&wish, wrong[i], &fault), -EINVAL);
        assert_true(strlen(fault.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_whole_wish),
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(takes_all_of_the_input_at_the_start),
        cmocka_unit_test(its_input_may_go_on_after_a_text),
        cmocka_unit_test(a_key_has_a_digest_of_the_request),
        cmocka_unit_test(refuses_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
