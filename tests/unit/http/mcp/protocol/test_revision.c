/* Which revision a request is of, and what each demands. */
#include "gateway/http/mcp/protocol/revision.h"
#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

#define META                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","   \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct {
    const char *method, *params; /* of the body */
    revision_headers_t headers;
    int code; /* 0: it is good */
} tried_request_t;

static int check(const tried_request_t *request, era_t *ret_era)
{
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};
    char text[1024];

    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}",
             request->method, request->params);
    assert_true(rpc_message_read(text, strlen(text), &message, &flaw));
    *ret_era = revision_era(&message, &request->headers);
    if (revision_check(&message, &request->headers, &flaw))
        return 0;
    assert_int_equal(flaw.status, 400);
    if (flaw.code == RPC_UNSUPPORTED_VERSION) {
        assert_non_null(json_object_get(flaw.data, "supported"));
        assert_non_null(json_object_get(flaw.data, "requested"));
    }
    return flaw.code;
}

static void distinguishes_the_eras(void **state)
{
    static const struct {
        tried_request_t request;
        era_t era;
    } cases[] = {
        {{"tools/list", META, {.version = "2026-07-28"}, 0}, ERA_MODERN},
        {{"initialize", META, {0}, 0}, ERA_MODERN},
        {{"tools/list", "", {.version = "2026-07-28"}, 0}, ERA_MODERN},
        {{"tools/list", "", {.version = "2099-01-01"}, 0}, ERA_MODERN},
        {{"initialize", "", {0}, 0}, ERA_LEGACY},
        {{"tools/list", "", {.version = "2025-11-25"}, 0}, ERA_LEGACY},
        {{"tools/list", "", {.version = "2024-11-05"}, 0}, ERA_LEGACY},
        {{"tools/list", "", {.session = "x"}, 0}, ERA_LEGACY},
        {{"tools/list", "\"_meta\":{\"progressToken\":1}", {0}, 0}, ERA_LEGACY},
    };
    era_t era;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void) check(&cases[i].request, &era);
        assert_int_equal(era, cases[i].era);
    }
}

#define LIST(version_, method_)                                                \
    "tools/list", META,                                                        \
    {                                                                          \
        .version = version_, .method = method_                                 \
    }
#define CALL(name_)                                                            \
    "tools/call", "\"name\":\"execute\"," META,                                \
    {                                                                          \
        .version = "2026-07-28", .method = "tools/call", .name = name_         \
    }

static void checks_headers_against_the_body(void **state)
{
    static const tried_request_t cases[] = {
        {LIST("2026-07-28", "tools/list"), 0},
        {LIST("  2026-07-28\t", " tools/list "), 0},
        {LIST(NULL, "tools/list"), RPC_HEADER_MISMATCH},
        {LIST("2025-11-25", "tools/list"), RPC_HEADER_MISMATCH},
        {LIST("2026-07-28", NULL), RPC_HEADER_MISMATCH},
        {LIST("2026-07-28", "TOOLS/LIST"), RPC_HEADER_MISMATCH},
        {LIST("2026-07-28", "prompts/list"), RPC_HEADER_MISMATCH},
        {LIST("2026-07-28", "tools/list\x01"), RPC_HEADER_MISMATCH},
        {CALL("execute"), 0},
        {CALL("=?base64?ZXhlY3V0ZQ==?="), 0},
        {CALL("=?base64?ZXhlY3V0ZQ?="), RPC_HEADER_MISMATCH},
        {CALL("=?base64?ZXhl!3V0ZQ==?="), RPC_HEADER_MISMATCH},
        {CALL("=?base64?"
              "?="),
         RPC_HEADER_MISMATCH},
        {CALL("=?BASE64?ZXhlY3V0ZQ==?="), RPC_HEADER_MISMATCH},
        {CALL("ex\xc3\xa9"
              "cute"),
         RPC_HEADER_MISMATCH},
        {CALL(NULL), RPC_HEADER_MISMATCH},
        {CALL(""), RPC_HEADER_MISMATCH},
        {CALL("wait"), RPC_HEADER_MISMATCH},
    };
    era_t era;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (check(&cases[i], &era) != cases[i].code)
            fail_msg("case %zu", i);
}

static void demands_a_whole_meta(void **state)
{
    static const tried_request_t cases[] = {
        {"x", "", {.version = "2026-07-28", .method = "x"}, RPC_INVALID_PARAMS},
        {"x",
         "\"_meta\":7",
         {.version = "2026-07-28", .method = "x"},
         RPC_INVALID_PARAMS},
        {"x",
         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}",
         {.version = "2026-07-28", .method = "x"},
         RPC_INVALID_PARAMS},
        {"x",
         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}",
         {.method = "x"},
         RPC_INVALID_PARAMS},
        {"x",
         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
         "\"2026-07-28\"}",
         {.version = "2026-07-28", .method = "x"},
         RPC_INVALID_PARAMS},
        {"x",
         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999\"}",
         {.version = "v999", .method = "x"},
         RPC_UNSUPPORTED_VERSION},
        {"x",
         "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999\"}",
         {.version = "2026-07-28", .method = "x"},
         RPC_HEADER_MISMATCH},
    };
    era_t era;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(check(&cases[i], &era), cases[i].code);
}

static void negotiates_a_known_revision(void **state)
{
    json_auto_t *list = revision_list();

    (void) state;
    assert_string_equal(revision_negotiate("2025-03-26"), "2025-03-26");
    assert_string_equal(revision_negotiate("2026-07-28"), REVISION_LEGACY);
    assert_string_equal(revision_negotiate("1999-01-01"), REVISION_LEGACY);
    assert_string_equal(revision_negotiate(NULL), REVISION_LEGACY);
    assert_string_equal(json_string_value(json_array_get(list, 0)),
                        REVISION_NEWEST);
    assert_int_equal(json_array_size(list), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinguishes_the_eras),
        cmocka_unit_test(checks_headers_against_the_body),
        cmocka_unit_test(demands_a_whole_meta),
        cmocka_unit_test(negotiates_a_known_revision),
    };

    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
