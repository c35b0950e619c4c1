/* The arguments of the tool `session` about programs: what is asked of the
 * session, and the sentences about what does not go together. */
#include "gateway/http/mcp/tools/process_arguments.h"

#include "protocol/keeper.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static json_t *load(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

static void assert_json(json_t *found, const char *expected)
{
    json_auto_t *owned = found;
    json_auto_t *wanted = load(expected);

    if (!json_equal(owned, wanted)) {
        cleanup_free char *text = json_dumps(owned, JSON_COMPACT);

        fail_msg("%s is not %s", text, expected);
    }
}

static void says_what_to_start(void **state)
{
    static const char *const rows[][2] = {
        {"{\"command\":\"ls -l\"}",
         "{\"argv\":[\"sh\",\"-c\",\"ls -l\"],\"follow\":true}"},
        {"{\"argv\":[\"ls\",\"-l\"]}",
         "{\"argv\":[\"ls\",\"-l\"],\"follow\":true}"},
        /* The session says what is wrong with it. */
        {"{\"argv\":[]}", "{\"argv\":[],\"follow\":true}"},
        {"{\"argv\":[\"a\"],\"cwd\":\"b\",\"env\":{\"A\":\"c\"},"
         "\"timeout\":1.5,\"seconds\":2,\"process\":7}",
         "{\"argv\":[\"a\"],\"follow\":true,\"cwd\":\"b\","
         "\"env\":{\"A\":\"c\"},\"timeout\":1.5}"},
        {"{\"argv\":[\"a\"],\"input\":\"x\"}",
         "{\"argv\":[\"a\"],\"follow\":true,\"input\":\"x\"}"},
        {"{\"argv\":[\"a\"],\"stdin\":\"open\"}",
         "{\"argv\":[\"a\"],\"follow\":true,\"input\":true}"},
        {"{\"argv\":[\"a\"],\"stdin\":\"open\",\"input\":\"x\"}",
         "{\"argv\":[\"a\"],\"follow\":true,\"input\":\"x\",\"end\":false}"},
        {"{\"argv\":[\"a\"],\"stdin\":\"tty\"}",
         "{\"argv\":[\"a\"],\"follow\":true,\"input\":true,"
         "\"terminal\":true}"},
        {"{\"argv\":[\"a\"],\"stdin\":\"tty\",\"input\":\"x\"}",
         "{\"argv\":[\"a\"],\"follow\":true,\"input\":\"x\",\"end\":false,"
         "\"terminal\":true}"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *arguments = load(rows[i][0]);
        json_t *content = NULL;
        fault_t fault = {0, ""};

        assert_int_equal(process_arguments_start(arguments, &content, &fault),
                         0);
        assert_json(content, rows[i][1]);
    }
}

static void says_what_is_missing_to_start(void **state)
{
    static const char *const rows[][2] = {
        {"{}", "command is missing: a line for sh; or argv"},
        {"{\"command\":\"\"}", "command is missing"},
        {"{\"command\":\"ls\",\"argv\":[\"ls\"]}", "give one of them"},
        {"{\"command\":\"\",\"argv\":[\"ls\"]}", "give one of them"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *arguments = load(rows[i][0]);
        json_t *content = NULL;
        fault_t fault = {0, ""};

        assert_int_equal(process_arguments_start(arguments, &content, &fault),
                         -EINVAL);
        assert_null(content);
        assert_non_null(strstr(fault.text, rows[i][1]));
    }
}

static void says_what_to_write(void **state)
{
    static const struct {
        const char *arguments;
        bool ends;
        const char *content;
    } rows[] = {
        {"{\"process\":3,\"input\":\"x\\n\"}", false,
         "{\"process\":3,\"text\":\"x\\n\",\"end\":false}"},
        {"{\"process\":3,\"input\":\"x\"}", true,
         "{\"process\":3,\"text\":\"x\",\"end\":true}"},
        {"{\"process\":3}", true, "{\"process\":3,\"end\":true}"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *arguments = load(rows[i].arguments);
        json_t *content = NULL;
        fault_t fault = {0, ""};

        assert_int_equal(
            process_arguments_input(arguments, rows[i].ends, &content, &fault),
            0);
        assert_json(content, rows[i].content);
    }
}

static void refuse_input(const json_t *arguments, bool ends, const char *flaw)
{
    json_t *content = NULL;
    fault_t fault = {0, ""};

    assert_int_equal(process_arguments_input(arguments, ends, &content, &fault),
                     -EINVAL);
    assert_null(content);
    assert_non_null(strstr(fault.text, flaw));
}

static void says_what_is_missing_to_write(void **state)
{
    json_auto_t *none = load("{\"input\":\"x\"}");
    json_auto_t *nothing = load("{\"process\":1}");
    json_auto_t *empty = load("{\"process\":1,\"input\":\"\"}");
    cleanup_free char *most = mem_new(KEEPER_INPUT_MAX + 2);
    json_auto_t *much = NULL, *fits = NULL;
    json_t *content = NULL;
    fault_t fault = {0, ""};

    (void) state;
    refuse_input(none, false, "process is missing: its number");
    refuse_input(none, true, "process is missing: its number");
    refuse_input(nothing, false, "input is missing: the text to write");
    refuse_input(empty, false, "input is missing: the text to write");
    memset(most, 'x', KEEPER_INPUT_MAX + 1);
    much = json_pack("{s:i,s:s}", "process", 1, "input", most);
    refuse_input(much, true, "input has 262145 bytes, and at most 262144 may");
    most[KEEPER_INPUT_MAX] = 0;
    fits = json_pack("{s:i,s:s}", "process", 1, "input", most);
    assert_int_equal(process_arguments_input(fits, false, &content, &fault), 0);
    json_decref(content);
}

static void names_an_argument_that_has_no_use(void **state)
{
    static const char *const rows[][2] = {
        {"{\"action\":\"run\",\"argv\":[],\"stdin\":\"tty\",\"input\":\"\"}",
         NULL},
        {"{\"action\":\"write\",\"input\":\"a\",\"process\":1}", NULL},
        {"{\"action\":\"close\",\"input\":\"a\",\"process\":1}", NULL},
        {"{\"action\":\"output\",\"process\":1,\"seconds\":1}", NULL},
        {"{\"action\":\"list\"}", NULL},
        {"{\"action\":\"write\",\"argv\":[\"ls\"]}", "argv is for the action"},
        {"{\"action\":\"write\",\"stdin\":\"tty\"}", "stdin is for the action"},
        {"{\"action\":\"close\",\"stdin\":\"open\"}",
         "stdin is for the action"},
        {"{\"action\":\"output\",\"input\":\"a\"}",
         "input is for the actions run, write and close"},
        {"{\"action\":\"kill\",\"input\":\"a\"}", "input is for the actions"},
        {"{\"action\":\"list\",\"argv\":[]}", "argv is for the action"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_auto_t *arguments = load(rows[i][0]);
        fault_t fault = {0, ""};
        int r = process_arguments_check(arguments, &fault);

        assert_int_equal(r, rows[i][1] ? -EINVAL : 0);
        assert_non_null(strstr(fault.text, rows[i][1] ? rows[i][1] : ""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_to_start),
        cmocka_unit_test(says_what_is_missing_to_start),
        cmocka_unit_test(says_what_to_write),
        cmocka_unit_test(says_what_is_missing_to_write),
        cmocka_unit_test(names_an_argument_that_has_no_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
