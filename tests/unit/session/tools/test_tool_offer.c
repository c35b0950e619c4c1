#include "gateway/session/tools/tool_offer.h"
#include "protocol/limits.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static void reads_what_a_process_offers(void **state)
{
    cleanup_tool_offer tool_offer_t *self = NULL;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    assert_int_equal(
        tool_offer_read(
            text_bytes("[{\"name\":\"a-b.c/d_1\",\"description\":\"\\u001b\","
                       "\"inputSchema\":{\"n\":123456789012345678901},"
                       "\"other\":1},{\"name\":\"__class__\"}]"),
            &self, &fault),
        0);
    assert_int_equal(tool_offer_size(self), 2);
    assert_string_equal(tool_offer_name(self, 1), "__class__");
    assert_true(tool_offer_has(self, "a-b.c/d_1"));
    assert_false(tool_offer_has(self, "a-b.c/d"));
    for (size_t i = 0; i < 2; i++) {
        tool_offer_begin(self, i, &out);
        buffer_text(&out, "}");
    }
    buffer_append(&out, "", 1);
    assert_string_equal(
        (const char *) out.data,
        "{\"name\":\"a-b.c/d_1\",\"description\":\"\\u001b\","
        "\"inputSchema\":{\"n\":123456789012345678901}},"
        "{\"name\":\"__class__\",\"inputSchema\":{\"type\":\"object\"}}");
}

/* Some encoders escape every "/", or every letter that is not ASCII. */
static void a_name_may_be_escaped(void **state)
{
    cleanup_tool_offer tool_offer_t *self = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(
        tool_offer_read(
            text_bytes("[{\"name\":\"a\\/b\"},{\"name\":\"\\u0061\"}]"), &self,
            &fault),
        0);
    assert_string_equal(tool_offer_name(self, 0), "a/b");
    assert_string_equal(tool_offer_name(self, 1), "a");
}

static void an_offer_may_be_empty(void **state)
{
    cleanup_tool_offer tool_offer_t *self = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(tool_offer_read(text_bytes(" [ ] "), &self, &fault), 0);
    assert_int_equal(tool_offer_size(self), 0);
}

static void says_which_tool_is_wrong(void **state)
{
    static const struct {
        const char *json, *flaw;
    } rows[] = {
        {"", "tools: "},
        {"{}", "must be an array"},
        {"[1]", "tools[0]: an object is wanted"},
        {"[{\"name\":\"a\"},{}]", "tools[1]: `name` must be"},
        {"[{\"name\":\"\"}]", "tools[0]: `name` must be"},
        {"[{\"name\":1}]", "tools[0]: `name` must be"},
        {"[{\"name\":\"a b\"}]", "tools[0]: `name` must be"},
        {"[{\"name\":\"a\\u001b[m\"}]", "tools[0]: `name` must be"},
        {"[{\"name\":\"a\\u0000\"}]", "tools[0]: `name` must be"},
        {"[{\"name\":\"hearth:packages\"}]", "tools[0]: `name` must be"},
        {"[{\"name\":\"a\\/b\"},{\"name\":\"\\u0061/b\"}]",
         "there are two of `a/b`"},
        {"[{\"name\":\"a\"},{\"name\":\"a\"}]", "there are two of `a`"},
        {"[{\"name\":\"a\",\"description\":1}]", "`description` must be"},
        {"[{\"name\":\"a\",\"inputSchema\":1}]", "`inputSchema` must be"},
        {"[{\"name\":\"a\",\"description\":\"\\ud800\"}]", "tools: "},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tool_offer_t *self = NULL;
        fault_t fault;

        assert_int_equal(
            tool_offer_read(text_bytes(rows[i].json), &self, &fault), -EINVAL);
        assert_non_null(strstr(fault.text, rows[i].flaw));
        assert_null(self);
    }
}

static void bounds_names_and_numbers(void **state)
{
    cleanup_buffer buffer_t json = BUFFER_EMPTY;
    cleanup_tool_offer tool_offer_t *self = NULL;
    char name[TOOL_NAME_MAX + 2] = "";
    fault_t fault;

    (void) state;
    memset(name, 'a', TOOL_NAME_MAX);
    assert_true(tool_offer_is_name(name));
    name[TOOL_NAME_MAX] = 'a';
    assert_false(tool_offer_is_name(name));
    assert_false(tool_offer_is_name(""));
    for (int i = 0; i < TOOL_OFFER_MAX; i++)
        buffer_format(&json, "%s{\"name\":\"t%d\"}", i ? "," : "[", i);
    buffer_text(&json, "]");
    assert_int_equal(tool_offer_read(buffer_bytes(&json), &self, &fault), 0);
    tool_offer_destroy(&self);
    json.size--;
    buffer_text(&json, ",{\"name\":\"more\"}]");
    assert_int_equal(tool_offer_read(buffer_bytes(&json), &self, &fault),
                     -EINVAL);
    assert_string_equal(fault.text, "more than 256 tools");
    buffer_clear(&json);
    buffer_text(&json, "[");
    memset(buffer_reserve(&json, TOOL_OFFER_BYTES_MAX), ' ',
           TOOL_OFFER_BYTES_MAX - 2);
    json.size += TOOL_OFFER_BYTES_MAX - 2;
    buffer_text(&json, "]");
    assert_int_equal(tool_offer_read(buffer_bytes(&json), &self, &fault), 0);
    buffer_text(&json, " ");
    tool_offer_destroy(&self);
    assert_int_equal(tool_offer_read(buffer_bytes(&json), &self, &fault),
                     -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_process_offers),
        cmocka_unit_test(a_name_may_be_escaped),
        cmocka_unit_test(an_offer_may_be_empty),
        cmocka_unit_test(says_which_tool_is_wrong),
        cmocka_unit_test(bounds_names_and_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
