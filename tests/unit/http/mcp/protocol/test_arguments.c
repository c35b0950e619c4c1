/* Arguments of a tool and its schema. */
#include "gateway/http/mcp/protocol/arguments.h"
#include "tests/lib/test.h"

#include <string.h>

static const char schema_text[] =
    "{\"properties\":{\"code\":{\"type\":\"string\"},"
    "\"n\":{\"type\":\"integer\"},\"s\":{\"type\":\"number\"},"
    "\"b\":{\"type\":\"boolean\"},\"e\":{\"enum\":[\"a\",\"b\",\"c\"]}},"
    "\"required\":[\"code\"]}";

static void names_the_mistake(void **state)
{
    static const struct {
        const char *arguments, *flaw; /* NULL: they fit */
    } cases[] = {
        {"{\"code\":\"\"}", NULL},
        {"{\"code\":\"x\",\"n\":1,\"s\":1.5,\"b\":true,\"e\":\"b\"}", NULL},
        {"{\"code\":\"x\",\"s\":1}", NULL},
        {"{}", "code is missing"},
        {"{\"code\":null}", "code is missing"},
        {"{\"code\":\"x\",\"n\":null,\"e\":null}", NULL},
        {"{\"code\":7}", "code must be of type string"},
        {"{\"code\":\"x\",\"n\":1.5}", "n must be of type integer"},
        {"{\"code\":\"x\",\"s\":\"1\"}", "s must be of type number"},
        {"{\"code\":\"x\",\"b\":0}", "b must be of type boolean"},
        {"{\"code\":\"x\",\"e\":\"d\"}", "e must be a, b or c"},
        {"{\"code\":\"x\",\"time\":1}",
         "there is no argument time; there are: code, n, s, b, e"},
        {"{\"time\":null}",
         "there is no argument time; there are: code, n, s, b, e"},
    };
    json_auto_t *schema = json_loads(schema_text, 0, NULL);
    char text[ARGUMENTS_TEXT_SIZE];

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_auto_t *arguments = json_loads(cases[i].arguments, 0, NULL);
        bool fits = arguments_check(schema, arguments, text);
        assert_int_equal(fits, cases[i].flaw == NULL);
        if (!fits)
            assert_string_equal(text, cases[i].flaw);
        else
            assert_false(json_is_null(json_object_get(arguments, "n")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
