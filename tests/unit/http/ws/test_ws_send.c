/* What waits for a WebSocket has a bound, and what is too big for its client
 * becomes a preview. */
#include "gateway/http/ws/ws_send.h"

#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

#define QUEUE_MAX (100u << 10)

static options_t options = {.http.queue_max = QUEUE_MAX};
static http_t http = {.options = &options};
static ws_client_t *client;

static int prepare(void **state)
{
    (void) state;
    if (sodium_init() < 0)
        return -1;
    http.memory = (memory_quotas_t){.max = 1u << 30};
    http.url = (char[]){"http://localhost/"};
    client = mem_new(sizeof *client);
    client->http = &http;
    client->frame_max = SIZE_MAX;
    return 0;
}

static int clean_up(void **state)
{
    (void) state;
    ws_client_drop_frames(client);
    assert_int_equal(client->queued, 0);
    assert_int_equal(client->loose, 0);
    assert_int_equal(http.memory.untaken, 0);
    free(client);
    return 0;
}

/* Queues a stream message of at least that size. */
static void queue_as(const char *header, uint64_t seq, size_t size)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    buffer_text(&content, "{\"text\":\"");
    memset(buffer_reserve(&content, size), 'x', size);
    content.size += size;
    buffer_text(&content, "\"}");
    const websocket_parts_t parts = {.header = {header, strlen(header)},
                                     .parent = {"{}", 2},
                                     .metadata = {"{}", 2},
                                     .content = {content.data, content.size}};
    ws_client_queue(client, seq, CHANNEL_IOPUB, &parts);
}

/* Queues one that cannot be split, because it has no id. */
static void queue(uint64_t seq, size_t size)
{
    queue_as("{\"msg_type\":\"stream\"}", seq, size);
}

static void is_full_at_its_bound(void **state)
{
    (void) state;
    assert_false(ws_client_is_full(client));
    queue(1, QUEUE_MAX / 2);
    assert_false(ws_client_is_full(client));
    queue(2, QUEUE_MAX / 2);
    assert_true(ws_client_is_full(client));
    assert_int_equal(http.memory.untaken, client->queued);
    ws_client_drop_frames(client);
    assert_false(ws_client_is_full(client));
}

static void is_flooded_by_messages_that_are_not_journaled(void **state)
{
    (void) state;
    for (uint64_t seq = 1; seq <= 8; seq++)
        queue(seq, QUEUE_MAX);
    assert_true(ws_client_is_full(client));
    assert_false(ws_client_is_flooded(client));
    assert_false(ws_client_end_flooded(client));
    for (unsigned i = 0; i < 4; i++)
        queue(0, QUEUE_MAX);
    assert_true(ws_client_is_flooded(client));
    assert_int_equal(client->close.status, 0);
    assert_true(ws_client_end_flooded(client));
    assert_int_equal(client->close.status, LWS_CLOSE_STATUS_POLICY_VIOLATION);
    assert_non_null(strstr(client->close.text, "too slowly"));
}

static void keeps_the_first_reason_to_end(void **state)
{
    (void) state;
    ws_client_end(client, 1012, "the gateway restarts");
    ws_client_end(client, 1000, "another");
    assert_int_equal(client->close.status, 1012);
    assert_string_equal(client->close.text, "the gateway restarts");
    assert_true(ws_client_end_flooded(client));
    assert_int_equal(client->close.status, 1012);
}

static void cuts_a_long_reason(void **state)
{
    char text[300];

    (void) state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ws_client_end(client, 1000, text);
    assert_int_equal(strlen(client->close.text), 99);
}

static void shortens_a_message_beyond_a_clients_frame_limit(void **state)
{
    (void) state;
    client->frame_max = 100000;
    queue(1, 1000000);
    assert_true(client->queued < 100000);
    ws_client_drop_frames(client);
    queue(2, 10000);
    assert_true(client->queued > 10000);
}

static void splits_a_stream_at_a_clients_frame_limit(void **state)
{
    static const char header[] = "{\"msg_id\":\"m\",\"msg_type\":\"stream\"}";

    (void) state;
    client->frame_max = 100000;
    queue_as(header, 1, 1000000);
    assert_true(client->queued > 1000000);
    assert_true(client->queued < 1010000);
    ws_client_drop_frames(client);
    /* Another connection took most of it: the rest, also if all would fit. */
    client->cursor.partial = 1;
    client->cursor.bytes = 999000;
    queue_as(header, 1, 1000000);
    assert_true(client->queued < 2000);
    ws_client_drop_frames(client);
    client->frame_max = SIZE_MAX;
    queue_as(header, 1, 1000000);
    assert_true(client->queued < 2000);
    queue_as(header, 2, 1000000);
    assert_true(client->queued > 1000000);
}

static void writes_nothing_when_nothing_waits(void **state)
{
    (void) state;
    assert_int_equal(ws_client_write(client), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_full_at_its_bound),
        TEST(is_flooded_by_messages_that_are_not_journaled),
        TEST(keeps_the_first_reason_to_end),
        TEST(cuts_a_long_reason),
        TEST(shortens_a_message_beyond_a_clients_frame_limit),
        TEST(splits_a_stream_at_a_clients_frame_limit),
        TEST(writes_nothing_when_nothing_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
