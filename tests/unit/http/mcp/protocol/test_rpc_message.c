/* Messages of JSON-RPC, and each way in which a message is invalid. */
#include "gateway/http/mcp/protocol/rpc_message.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static rpc_kind_t kind_of(const char *text)
{
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};

    if (!rpc_message_read(text, strlen(text), &message, &flaw))
        fail_msg("%s: %s", text, flaw.text);
    return message.kind;
}

static void distinguishes_kinds_of_messages(void **state)
{
    (void) state;
    assert_int_equal(
        kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
        RPC_REQUEST);
    assert_int_equal(
        kind_of("{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\","
                "\"params\":{}}"),
        RPC_REQUEST);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"),
                     RPC_NOTIFICATION);
    assert_int_equal(kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}"),
                     RPC_RESPONSE);
    assert_int_equal(
        kind_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}"),
        RPC_RESPONSE);
}

static void gives_each_flaw_its_code(void **state)
{
    static const struct {
        const char *text;
        int code;
        bool has_id;
    } cases[] = {
        {"", RPC_PARSE_ERROR, false},
        {"{", RPC_PARSE_ERROR, false},
        {"\xff", RPC_PARSE_ERROR, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}",
         RPC_PARSE_ERROR, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0000\"}",
         RPC_PARSE_ERROR, false},
        {"[]", RPC_INVALID_REQUEST, false},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]",
         RPC_INVALID_REQUEST, false},
        {"7", RPC_INVALID_REQUEST, false},
        {"null", RPC_INVALID_REQUEST, false},
        {"{}", RPC_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"m\"}", RPC_INVALID_REQUEST,
         true},
        {"{\"id\":5,\"method\":\"m\"}", RPC_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}",
         RPC_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}",
         RPC_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}",
         RPC_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", RPC_INVALID_REQUEST,
         true},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\"}", RPC_INVALID_REQUEST,
         true},
        {"{\"jsonrpc\":\"2.0\",\"id\":5}", RPC_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"result\":{}}", RPC_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{},\"error\":{}}",
         RPC_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"params\":[]}",
         RPC_INVALID_PARAMS, true},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_rpc_message rpc_message_t message = {0};
        cleanup_rpc_flaw rpc_flaw_t flaw = {0};
        if (rpc_message_read(cases[i].text, strlen(cases[i].text), &message,
                             &flaw))
            fail_msg("%s was taken", cases[i].text);
        assert_int_equal(flaw.code, cases[i].code);
        assert_int_equal(flaw.status, 400);
        assert_true(*flaw.text);
        if ((message.id != NULL) != cases[i].has_id)
            fail_msg("%s: the id", cases[i].text);
    }
}

/* It is JSON, and the sentence says what to do. */
static void names_a_nul(void **state)
{
    static const char *const texts[] = {"{\"params\":\"a\\u0000b\"}",
                                        "{\"a\\u0000\":1}"};

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_rpc_message rpc_message_t message = {0};
        cleanup_rpc_flaw rpc_flaw_t flaw = {0};

        assert_false(
            rpc_message_read(texts[i], strlen(texts[i]), &message, &flaw));
        assert_non_null(
            strstr(flaw.text, "a text must not have a NUL (\\u0000)"));
    }
}

static void limits_ids_methods_and_sizes(void **state)
{
    char text[1024], long_text[RPC_ID_MAX + 2];
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};

    (void) state;
    memset(long_text, 'x', sizeof long_text);
    long_text[RPC_ID_MAX + 1] = '\0';
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"m\"}", long_text);
    assert_false(rpc_message_read(text, strlen(text), &message, &flaw));
    assert_int_equal(flaw.code, RPC_INVALID_REQUEST);
    rpc_message_clear(&message);
    long_text[RPC_METHOD_MAX + 1] = '\0';
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"}", long_text);
    assert_false(rpc_message_read(text, strlen(text), &message, &flaw));
    rpc_message_clear(&message);
    assert_false(rpc_message_read(text, RPC_BODY_MAX + 1, &message, &flaw));
    assert_int_equal(flaw.status, 413);
}

static void answers_with_the_id(void **state)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\"}";
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};

    (void) state;
    assert_true(rpc_message_read(text, strlen(text), &message, &flaw));
    json_auto_t *result = rpc_result(message.id, json_object());
    assert_string_equal(json_string_value(json_object_get(result, "id")), "a");
    rpc_flaw_set(&flaw, 400, RPC_INVALID_PARAMS, "wrong: %s", "\xff");
    flaw.data = json_pack("{s:i}", "n", 1);
    json_auto_t *error = rpc_error(NULL, &flaw);
    assert_true(json_is_null(json_object_get(error, "id")));
    json_t *inner = json_object_get(error, "error");
    assert_int_equal(json_integer_value(json_object_get(inner, "code")),
                     RPC_INVALID_PARAMS);
    assert_non_null(json_object_get(inner, "message"));
    assert_non_null(json_object_get(inner, "data"));
}

static void cleans_sentences(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"plain\n\tä…", "plain\n\tä…"},
        {"\x1b[2J\x07\x7f\r", "?[2J???"},
        {"\xc2\x9b"
         "31m",
         "??31m"},
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c",
         "a???b???c"},
        {"\xe2\x80", "\xe2\x80"},
        {"", ""},
    };
    char text[64];

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        rpc_text_clean(text);
        assert_string_equal(text, cases[i].clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinguishes_kinds_of_messages),
        cmocka_unit_test(gives_each_flaw_its_code),
        cmocka_unit_test(names_a_nul),
        cmocka_unit_test(limits_ids_methods_and_sizes),
        cmocka_unit_test(answers_with_the_id),
        cmocka_unit_test(cleans_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
