#include "protocol/message.h"
#include "tests/lib/test.h"

#include <string.h>

static void assert_text(bytes_t part, const char *expected)
{
    assert_int_equal(part.size, strlen(expected));
    assert_memory_equal(part.bytes, expected, part.size);
}

static void keeps_its_parts_unchanged(void **state)
{
    (void) state;
    char header[] = "{ \"msg_id\":\"m\\u0031\", \"msg_type\":\"status\","
                    "\"session\":\"s\" }";
    cleanup_message message_t *message =
        message_new(text_bytes(header), text_bytes("{\"a\":1}"), text_bytes(""),
                    text_bytes("{ }"));
    char kept[sizeof header];
    memcpy(kept, header, sizeof header);
    memset(header, 'x', sizeof header); /* it has its own copy */

    assert_text(message_header(message), kept);
    assert_text(message_parent(message), "{\"a\":1}");
    assert_text(message_metadata(message), "{}");
    assert_text(message_content(message), "{ }");
    assert_string_equal(message_id(message), "m1");
    assert_string_equal(message_type(message), "status");
    assert_string_equal(message_session(message), "s");
}

static void has_empty_names_for_missing_header_members(void **state)
{
    (void) state;
    static const char *const headers[] = {
        "", "{}", "[1]", "7", "{\"msg_id\":1,\"msg_type\":null}", "no JSON"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        cleanup_message message_t *message = message_new(
            text_bytes(headers[i]), (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
        assert_string_equal(message_id(message), "");
        assert_string_equal(message_type(message), "");
        assert_string_equal(message_session(message), "");
        assert_text(message_content(message), "{}");
    }
}

static void keeps_identities_and_buffers_in_order(void **state)
{
    (void) state;
    cleanup_message message_t *message =
        message_new((bytes_t){0}, (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    for (char i = 0; i < 40; i++) {
        message_add_identity(message, &i, 1);
        message_add_buffer(message, "buffer", (size_t) i % 7);
    }
    assert_int_equal(message_identity_count(message), 40);
    assert_int_equal(message_buffer_count(message), 40);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(*(const char *) message_identity(message, i).bytes, i);
        assert_int_equal(message_buffer(message, i).size, i % 7);
    }
}

static size_t bytes_of(const char *content, size_t identity, size_t buffer)
{
    cleanup_message message_t *message = message_new(
        (bytes_t){0}, (bytes_t){0}, (bytes_t){0}, text_bytes(content));
    char bytes[1000] = {0};

    message_add_identity(message, bytes, identity);
    message_add_buffer(message, bytes, buffer);
    return message_bytes(message);
}

/* All that a peer may make bigger. */
static void knows_its_size(void **state)
{
    size_t least = bytes_of("{}", 0, 0);

    (void) state;
    assert_in_range(least, 2 * 16, 4096);
    assert_int_equal(bytes_of("{\"a\":1}", 0, 0), least + 5);
    assert_int_equal(bytes_of("{}", 200, 0), least + 200);
    assert_int_equal(bytes_of("{}", 0, 1000), least + 1000);
    cleanup_message message_t *many =
        message_new((bytes_t){0}, (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    for (size_t i = 0; i < 1000; i++)
        message_add_buffer(many, "", 0);
    assert_true(message_bytes(many) >= 1000 * sizeof(bytes_t));
}

static void writes_a_header_byte_for_byte(void **state)
{
    (void) state;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    message_write_header(&out, "id\"1", "s1", "status", 1767323045000006);
    assert_string_equal(
        (char *) out.data,
        "{\"msg_id\":\"id\\\"1\",\"session\":\"s1\",\"username\":\"hearth\","
        "\"date\":\"2026-01-02T03:04:05.000006Z\",\"msg_type\":\"status\","
        "\"version\":\"5.4\"}");
    cleanup_message message_t *message = message_new(
        buffer_bytes(&out), (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    assert_string_equal(message_id(message), "id\"1");
    assert_string_equal(message_type(message), "status");
    assert_string_equal(message_session(message), "s1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_its_parts_unchanged),
        cmocka_unit_test(has_empty_names_for_missing_header_members),
        cmocka_unit_test(keeps_identities_and_buffers_in_order),
        cmocka_unit_test(knows_its_size),
        cmocka_unit_test(writes_a_header_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
