#include "gateway/session/requests/request.h"
#include "protocol/frame.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static message_t *message_of(const char *type, const char *metadata,
                             const char *content)
{
    char header[256];

    snprintf(header, sizeof header,
             "{\"msg_id\":\"m1\",\"session\":\"s\",\"msg_type\":\"%s\"}", type);
    return message_new(text_bytes(header), text_bytes("{}"),
                       text_bytes(metadata), text_bytes(content));
}

static void reads_an_execute_request(void **state)
{
    message_t *message =
        message_of("execute_request", "{\"hearth\":{\"time_limit\":1.5}}",
                   "{\"code\":\"1\",\"silent\":false,\"stop_on_error\":false}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    (void) state;
    assert_null(message);
    assert_int_equal(request->frame_type, FRAME_EXECUTE);
    assert_true(request->is_execute);
    assert_true(request->store_history);
    assert_false(request->stop_on_error);
    assert_int_equal(request->time_limit_ms, 1500);
}

static void uses_defaults_for_missing_members(void **state)
{
    message_t *message =
        message_of("execute_request", "{}", "{\"code\":\"1\",\"silent\":true}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    (void) state;
    assert_true(request->silent);
    assert_false(request->store_history);
    assert_true(request->stop_on_error);
    assert_int_equal(request->time_limit_ms, 0);
}

static const char *limit_flaw(const char *metadata, int64_t *ret_limit_ms)
{
    message_t *message =
        message_of("execute_request", metadata, "{\"code\":\"1\"}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    *ret_limit_ms = request->time_limit_ms;
    return request_flaw(request);
}

static void refuses_a_time_limit_that_is_none(void **state)
{
    static const char *const wrong[] = {"0",    "-1",    "0.0009", "1000000001",
                                        "true", "\"1\"", "[]"};
    char metadata[64];
    int64_t limit_ms;

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(metadata, sizeof metadata, "{\"hearth\":{\"time_limit\":%s}}",
                 wrong[i]);
        assert_non_null(limit_flaw(metadata, &limit_ms));
        assert_int_equal(limit_ms, 0);
    }
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":null}}", &limit_ms));
    assert_int_equal(limit_ms, 0);
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":0.001}}", &limit_ms));
    assert_int_equal(limit_ms, 1);
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":1e9}}", &limit_ms));
    assert_int_equal(limit_ms, 1000000000000);
}

static size_t bytes_of(const char *metadata)
{
    message_t *message =
        message_of("execute_request", metadata, "{\"code\":\"1\"}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    return request->bytes;
}

/* A note lies there twice: as it came, and for the journal. */
static void counts_its_memory(void **state)
{
    size_t least = bytes_of("{\"hearth\":{\"note\":\"a\"}}");

    (void) state;
    assert_true(bytes_of("{}") > sizeof(request_t));
    assert_int_equal(bytes_of("{\"hearth\":{\"note\":\"abc\"}}"), least + 4);
}

static void names_the_reply(void **state)
{
    message_t *complete = message_of("complete_request", "{}", "{}");
    message_t *comm = message_of("comm_msg", "{}", "{}");
    cleanup_request request_t *first = request_new(1, CHANNEL_SHELL, &complete);
    cleanup_request request_t *second = request_new(2, CHANNEL_SHELL, &comm);
    char type[64];

    (void) state;
    assert_true(request_reply_type(first, type));
    assert_string_equal(type, "complete_reply");
    assert_false(request_reply_type(second, type));
}

static void knows_which_requests_kernels_answer(void **state)
{
    (void) state;
    assert_int_equal(request_frame_type("execute_request"), FRAME_EXECUTE);
    assert_int_equal(request_frame_type("comm_open"), FRAME_COMM_OPEN_IN);
    assert_int_equal(request_frame_type("kernel_info_request"), 0);
    assert_int_equal(request_frame_type("shutdown_request"), 0);
    assert_int_equal(request_frame_type("stream"), 0);
    assert_int_equal(request_frame_type(""), 0);
}

/* Into the journal and back: what a restarted gateway owes its clients. */
static void survives_the_journal(void **state)
{
    static const uint8_t identity[] = {0x00, 0xff, 0x10, 'a'};
    message_t *message =
        message_of("execute_request", "{}", "{\"code\":\"x = 1\"}");
    cleanup_request request_t *request =
        request_new(77, CHANNEL_CONTROL, &message);
    cleanup_request request_t *again = NULL;
    cleanup_free char *origin = NULL;
    journal_record_t record = {.kind = JOURNAL_REQUEST, .request = 77};
    bytes_t kept;

    (void) state;
    message_add_identity(request->message, identity, sizeof identity);
    message_add_buffer(request->message, "abc", 3);
    snprintf(request->frontend, sizeof request->frontend, "http");
    origin = request_origin(request);
    record.origin = text_bytes(origin);
    kept = message_header(request->message);
    record.header = kept;
    kept = message_content(request->message);
    record.content = kept;
    record.buffers = &(bytes_t){"abc", 3};
    record.buffer_count = 1;
    again = request_from_record(&record);
    assert_non_null(again);
    assert_int_equal(again->number, 77);
    assert_int_equal(again->channel, CHANNEL_CONTROL);
    assert_string_equal(message_id(again->message), "m1");
    assert_int_equal(message_identity_count(again->message), 1);
    assert_int_equal(message_identity(again->message, 0).size, sizeof identity);
    assert_memory_equal(message_identity(again->message, 0).bytes, identity,
                        sizeof identity);
    assert_int_equal(message_buffer_count(again->message), 1);
    assert_string_equal(again->frontend, "http");
    assert_true(request_is_of(again, "http", (bytes_t){identity, 4}));
    assert_false(request_is_of(again, "", (bytes_t){identity, 4}));
    assert_false(request_is_of(again, "http", (bytes_t){identity, 3}));
}

static void refuses_a_record_that_is_no_request(void **state)
{
    journal_record_t record = {.kind = JOURNAL_REQUEST};

    (void) state;
    record.origin = (bytes_t){"{\"channel\":\"moon\"}", 18};
    record.header = (bytes_t){"{}", 2};
    assert_null(request_from_record(&record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_execute_request),
        cmocka_unit_test(uses_defaults_for_missing_members),
        cmocka_unit_test(refuses_a_time_limit_that_is_none),
        cmocka_unit_test(counts_its_memory),
        cmocka_unit_test(names_the_reply),
        cmocka_unit_test(knows_which_requests_kernels_answer),
        cmocka_unit_test(survives_the_journal),
        cmocka_unit_test(refuses_a_record_that_is_no_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
