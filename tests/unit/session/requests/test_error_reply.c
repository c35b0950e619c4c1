#include "gateway/session/requests/error_reply.h"
#include "tests/lib/test.h"

#include <string.h>

static void writes_an_error_with_one_line_of_traceback(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    error_reply_write_event("QueueFull", "no \"room\"", &out);
    assert_string_equal((const char *) out.data,
                        "{\"ename\":\"QueueFull\",\"evalue\":\"no "
                        "\\\"room\\\"\",\"traceback\":[\"QueueFull: no "
                        "\\\"room\\\"\"]}");
}

static void a_cells_reply_has_a_count(void **state)
{
    cleanup_buffer buffer_t cell = BUFFER_EMPTY, other = BUFFER_EMPTY;
    request_t request = {.frame_type = FRAME_EXECUTE};

    (void) state;
    error_reply_write(&request, 4, "E", "v", &cell);
    assert_string_equal((const char *) cell.data,
                        "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":"
                        "\"v\",\"traceback\":[\"E: v\"],\"execution_count\":4,"
                        "\"user_expressions\":{},\"payload\":[]}");
    request.frame_type = 0;
    error_reply_write(&request, 4, "E", "v", &other);
    assert_string_equal((const char *) other.data,
                        "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":"
                        "\"v\",\"traceback\":[\"E: v\"]}");
}

static void assert_version(const char *type, bool is_there)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m\",\"msg_type\":\"%s\"}", type);
    cleanup_message message_t *message =
        message_new(text_bytes(header), text_bytes("{}"), text_bytes("{}"),
                    text_bytes("{}"));
    const request_t request = {.message = message};

    error_reply_write(&request, 4, "E", "v", &out);
    assert_int_equal(strstr((const char *) out.data,
                            ",\"protocol_version\":\"" MESSAGE_PROTOCOL_VERSION
                            "\"}")
                         != NULL,
                     is_there);
}

static void only_a_kernels_description_has_a_version(void **state)
{
    (void) state;
    assert_version("kernel_info_request", true);
    assert_version("complete_request", false);
}

static void an_aborted_cell_is_no_error(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    error_reply_write_aborted(4, &out);
    assert_string_equal((const char *) out.data,
                        "{\"status\":\"aborted\",\"execution_count\":4}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_an_error_with_one_line_of_traceback),
        cmocka_unit_test(a_cells_reply_has_a_count),
        cmocka_unit_test(only_a_kernels_description_has_a_version),
        cmocka_unit_test(an_aborted_cell_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
