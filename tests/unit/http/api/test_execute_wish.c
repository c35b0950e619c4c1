/* The body of a request to execute code. */
#include "gateway/http/api/execute_wish.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

/* Reads a body; `error` is the answer to the client, or NULL. */
static execute_wish_t read_body(const char *body, const char *key,
                                const char *error)
{
    json_t *object = json_loads(body, 0, NULL);
    execute_wish_t wish = {0};
    fault_t fault = {0};
    int r;

    assert_non_null(object);
    r = execute_wish_read(object, key, &wish, &fault);
    assert_int_equal(r, error ? -EINVAL : 0);
    assert_string_equal(fault.text, error ? error : "");
    if (error)
        assert_null(wish.body);
    return wish;
}

static void assert_content(const execute_wish_t *wish, const char *content)
{
    json_auto_t *object = execute_wish_content(wish);
    cleanup_free char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(text, content);
}

static void has_jupyters_defaults(void **state)
{
    cleanup_execute_wish execute_wish_t wish =
        read_body("{\"code\":\"1\"}", NULL, NULL);

    (void) state;
    assert_string_equal(wish.code, "1");
    assert_null(wish.key);
    assert_null(execute_wish_metadata(&wish));
    assert_content(&wish, "{\"allow_stdin\":true,\"code\":\"1\",\"silent\":"
                          "false,\"stop_on_error\":false,\"store_history\":"
                          "true,\"user_expressions\":{}}");
}

static void takes_each_member(void **state)
{
    cleanup_execute_wish execute_wish_t wish =
        read_body("{\"code\":\"\",\"silent\":true,\"store_history\":false,"
                  "\"user_expressions\":{\"a\":\"b\"},\"allow_stdin\":false,"
                  "\"stop_on_error\":true,\"metadata\":{\"m\":1},\"other\":[]}",
                  NULL, NULL);

    (void) state;
    assert_content(&wish, "{\"allow_stdin\":false,\"code\":\"\",\"silent\":"
                          "true,\"stop_on_error\":true,\"store_history\":"
                          "false,\"user_expressions\":{\"a\":\"b\"}}");
    assert_int_equal(
        json_integer_value(json_object_get(execute_wish_metadata(&wish), "m")),
        1);
}

static void takes_null_for_a_member_that_is_not_there(void **state)
{
    cleanup_execute_wish execute_wish_t wish =
        read_body("{\"code\":\"1\",\"silent\":null,\"user_expressions\":null,"
                  "\"metadata\":null}",
                  NULL, NULL);

    (void) state;
    assert_null(execute_wish_metadata(&wish));
    assert_content(&wish, "{\"allow_stdin\":true,\"code\":\"1\",\"silent\":"
                          "false,\"stop_on_error\":false,\"store_history\":"
                          "true,\"user_expressions\":{}}");
}

static void refuses_members_of_another_type(void **state)
{
    static const char *const rows[][2] = {
        {"{}", "code must be the code, a text"},
        {"{\"code\":1}", "code must be the code, a text"},
        {"{\"code\":\"\",\"metadata\":true}", "metadata must be an object"},
        {"{\"code\":\"\",\"user_expressions\":[]}",
         "user_expressions must be an object"},
        {"{\"code\":\"\",\"silent\":{}}", "silent must be true or false"},
        {"{\"code\":\"\",\"store_history\":1}",
         "store_history must be true or false"},
        {"{\"code\":\"\",\"allow_stdin\":\"\"}",
         "allow_stdin must be true or false"},
        {"{\"code\":\"\",\"stop_on_error\":0}",
         "stop_on_error must be true or false"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        (void) read_body(rows[i][0], NULL, rows[i][1]);
}

static void takes_the_key_of_the_body_before_the_headers(void **state)
{
    cleanup_execute_wish execute_wish_t header =
        read_body("{\"code\":\"\"}", "header", NULL);
    cleanup_execute_wish execute_wish_t both =
        read_body("{\"code\":\"\",\"key\":\"body\"}", "header", NULL);

    (void) state;
    assert_string_equal(header.key, "header");
    assert_string_equal(both.key, "body");
}

static void bounds_a_key(void **state)
{
    static const char error[] = "The key must be a text of 1 to 255 bytes";
    char key[257] = "";

    (void) state;
    memset(key, 'k', 255);
    cleanup_execute_wish execute_wish_t wish =
        read_body("{\"code\":\"\"}", key, NULL);
    assert_string_equal(wish.key, key);
    key[255] = 'k';
    (void) read_body("{\"code\":\"\"}", key, error);
    (void) read_body("{\"code\":\"\"}", "", error);
    (void) read_body("{\"code\":\"\",\"key\":\"\"}", "header", error);
    (void) read_body("{\"code\":\"\",\"key\":7}", "header", error);
    (void) read_body("{\"code\":\"\",\"key\":null}", NULL, error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_jupyters_defaults),
        cmocka_unit_test(takes_each_member),
        cmocka_unit_test(takes_null_for_a_member_that_is_not_there),
        cmocka_unit_test(refuses_members_of_another_type),
        cmocka_unit_test(takes_the_key_of_the_body_before_the_headers),
        cmocka_unit_test(bounds_a_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
