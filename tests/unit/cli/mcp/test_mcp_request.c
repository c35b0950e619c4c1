/* The request of HTTP that a line of an MCP client becomes. */
#include "gateway/cli/mcp/mcp_request.h"
#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

#define META                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"

static const mcp_place_t place = {.host = (char[]){"h"},
                                  .port = (char[]){"1"},
                                  .path = (char[]){"/mcp"},
                                  .token = (char[]){"t"}};

static char *request_of(const char *line, const mcp_client_t *client)
{
    json_auto_t *message = json_loads(line, 0, NULL);
    buffer_t out = BUFFER_EMPTY;

    mcp_request_write(&place, client, message, line, strlen(line), &out);
    return (char *) out.data;
}

static void repeats_the_message_in_headers(void **state)
{
    static const mcp_client_t client = {0};
    cleanup_free char *plain = request_of(
        "{\"method\":\"tools/call\",\"params\":{\"name\":\"wait\"," META "}}",
        &client);
    cleanup_free char *coded = request_of(
        "{\"method\":\"resources/read\",\"params\":{\"uri\":\"\xc3\xa9\"," META
        "}}",
        &client);

    (void) state;
    assert_non_null(strstr(plain, "POST /mcp HTTP/1.1\r\nHost: h:1\r\n"));
    assert_non_null(strstr(plain, "\r\nAuthorization: Bearer t\r\n"));
    assert_non_null(strstr(plain, "\r\nMCP-Protocol-Version: 2026-07-28\r\n"));
    assert_non_null(strstr(plain, "\r\nMcp-Method: tools/call\r\n"));
    assert_non_null(strstr(plain, "\r\nMcp-Name: wait\r\n"));
    assert_non_null(strstr(coded, "\r\nMcp-Name: =?base64?w6k=?=\r\n"));
}

/* The gateway compares the header with the member that the method is about. */
static void repeats_the_name_of_its_method(void **state)
{
    static const char params[] =
        "{\"method\":\"%s\",\"params\":{\"name\":\"n\",\"uri\":\"u\","
        "\"taskId\":\"t\"," META "}}";
    static const struct {
        const char *method, *line;
    } rows[] = {{"tools/call", "\r\nMcp-Name: n\r\n"},
                {"resources/read", "\r\nMcp-Name: u\r\n"},
                {"tasks/get", "\r\nMcp-Name: t\r\n"}};
    static const mcp_client_t client = {0};

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_free char *line = mem_format(params, rows[i].method);
        cleanup_free char *text = request_of(line, &client);

        assert_non_null(strstr(text, rows[i].line));
    }
}

static void no_line_is_made_by_a_client(void **state)
{
    static const mcp_client_t client = {0};
    cleanup_free char *text = request_of(
        "{\"method\":\"a\\r\\nX: 1\",\"params\":{\"name\":\"b\\nY: 1\"," META
        "}}",
        &client);

    (void) state;
    *strstr(text, "\r\n\r\n") = '\0';
    assert_null(strstr(text, "X:"));
    assert_null(strstr(text, "Y:"));
}

static void names_the_negotiated_revision(void **state)
{
    static const mcp_client_t client = {"2025-11-25", "abc"};
    cleanup_free char *text =
        request_of("{\"method\":\"tools/list\"}", &client);
    cleanup_free char *broken = request_of("{", &client);

    (void) state;
    assert_non_null(strstr(text, "\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
    assert_non_null(strstr(text, "\r\nMcp-Session-Id: abc\r\n"));
    assert_null(strstr(text, "Mcp-Method"));
    assert_non_null(strstr(broken, "Content-Length: 1\r\n"));
    assert_non_null(strstr(broken, "\r\n\r\n{"));
}

/* Checks a request that has no body. */
static void check_plain(void (*write)(const mcp_place_t *place,
                                      const mcp_client_t *client,
                                      buffer_t *out),
                        const char *method, const char *accepted)
{
    static const mcp_client_t client = {"2025-06-18", "abc"};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *wanted =
        mem_format("%s /mcp HTTP/1.1\r\nHost: h:1\r\n"
                   "Connection: close\r\nAccept: %s\r\n"
                   "Authorization: Bearer t\r\n"
                   "MCP-Protocol-Version: 2025-06-18\r\n"
                   "Mcp-Session-Id: abc\r\n\r\n",
                   method, accepted);

    write(&place, &client, &out);
    assert_string_equal((char *) out.data, wanted);
}

static void asks_for_the_stream_of_notifications(void **state)
{
    (void) state;
    check_plain(mcp_request_write_get, "GET", "text/event-stream");
}

static void ends_the_client(void **state)
{
    (void) state;
    check_plain(mcp_request_write_delete, "DELETE", "application/json");
}

static void leaves_out_what_a_client_does_not_have(void **state)
{
    static const mcp_client_t client = {"2025-06-18", ""};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *posted = request_of("{}", &client);

    (void) state;
    mcp_request_write_get(&place, &client, &out);
    assert_non_null(strstr((char *) out.data, "\r\nMCP-Protocol-Version: 2"));
    assert_null(strstr((char *) out.data, "Mcp-Session-Id"));
    assert_non_null(strstr(posted, "\r\nMCP-Protocol-Version: 2"));
    assert_null(strstr(posted, "Mcp-Session-Id"));
}

static const mcp_place_t six = {
    .host = (char[]){"::1"}, .port = (char[]){"1"}, .path = (char[]){"/mcp"}};

static void puts_an_address_into_brackets(void **state)
{
    static const mcp_client_t client = {0};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    mcp_request_write(&six, &client, NULL, "{", 1, &out);
    assert_non_null(strstr((const char *) out.data, "\r\nHost: [::1]:1\r\n"));
}

static void gives_calls_a_key(void **state)
{
    json_auto_t *call = json_loads(
        "{\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}", 0, NULL);
    json_auto_t *keyed = json_loads(
        "{\"method\":\"tools/call\",\"params\":{\"_meta\":{\"hearth/key\":"
        "\"mine\"}}}",
        0, NULL);
    json_auto_t *list = json_loads("{\"method\":\"tools/list\"}", 0, NULL);
    json_auto_t *before = json_deep_copy(list);
    json_auto_t *kept = json_deep_copy(keyed);

    (void) state;
    mcp_request_add_key(call);
    const json_t *meta =
        json_object_get(json_object_get(call, "params"), "_meta");
    assert_int_equal(json_string_length(json_object_get(meta, "hearth/key")),
                     32);
    mcp_request_add_key(keyed);
    assert_true(json_equal(keyed, kept));
    mcp_request_add_key(list);
    assert_true(json_equal(list, before));
}

static void knows_a_cancellation(void **state)
{
    json_auto_t *cancelled =
        json_loads("{\"method\":\"notifications/cancelled\"}", 0, NULL);
    json_auto_t *other = json_loads("{\"method\":7}", 0, NULL);

    (void) state;
    assert_true(mcp_request_is_cancellation(cancelled));
    assert_false(mcp_request_is_cancellation(other));
    assert_false(mcp_request_is_cancellation(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_the_message_in_headers),
        cmocka_unit_test(no_line_is_made_by_a_client),
        cmocka_unit_test(repeats_the_name_of_its_method),
        cmocka_unit_test(names_the_negotiated_revision),
        cmocka_unit_test(asks_for_the_stream_of_notifications),
        cmocka_unit_test(ends_the_client),
        cmocka_unit_test(leaves_out_what_a_client_does_not_have),
        cmocka_unit_test(puts_an_address_into_brackets),
        cmocka_unit_test(gives_calls_a_key),
        cmocka_unit_test(knows_a_cancellation),
    };

    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
