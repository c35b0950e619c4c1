/* The stream of notifications of an older client, against a server that is
 * this process. Time passes when the test says so. */
#include "gateway/cli/mcp/mcp_stream.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/tcp.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000 /* until something that comes has come */
#define URIS    10

static int64_t now_ms;
static int64_t step_ms; /* that each look at the clock takes */

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms += step_ms;
}

static int listener;
static char port[8];
static mcp_place_t place = {
    .host = (char[]){"127.0.0.1"}, .port = port, .path = (char[]){"/mcp"}};
static const mcp_client_t client = {"2025-06-18", "abc"};

static int set_up(void **state)
{
    tcp_address_t address;

    (void) state;
    now_ms = 1000000;
    step_ms = 0;
    if (tcp_address_set(&address, "127.0.0.1", 0) < 0
        || tcp_listen(&address, 2 * URIS, &listener) < 0)
        return -1;
    snprintf(port, sizeof port, "%u", tcp_address_port(&address));
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    return close(listener);
}

/* --- The server --- */

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t length = strlen(end);

    return size >= length && memcmp(text + size - length, end, length) == 0;
}

/* Accepts a connection and reads its request. Returns -1 once the listener is
 * shut down. */
static int take_request(bool *ret_is_get)
{
    struct pollfd one = {.fd = listener, .events = POLLIN};
    char text[4096] = "";
    size_t size = 0;
    ssize_t got = 1;
    int fd = poll(&one, 1, WAIT_MS) == 1 ? accept(listener, NULL, NULL) : -1;

    while (fd >= 0 && got > 0 && !ends_with(text, size, "\"}}")
           && !(*text == 'G' && ends_with(text, size, "\r\n\r\n"))) {
        got = read(fd, text + size, sizeof text - size);
        size += got > 0 ? (size_t) got : 0;
    }
    *ret_is_get = *text == 'G';
    return fd;
}

static void answer(int fd, bool is_get)
{
    const char *text = is_get ? "HTTP/1.1 200 OK\r\n"
                                "Content-Type: text/event-stream\r\n"
                                "Content-Length: 1000\r\n\r\n: begins\n\n"
                              : "HTTP/1.1 200 OK\r\n"
                                "Content-Type: application/json\r\n"
                                "Content-Length: 2\r\n\r\n{}";
    fault_t fault;

    (void) fd_write_all(fd, text, strlen(text), &fault);
    close(fd);
}

static atomic_uint subscribed; /* requests that the thread has answered */

static void *serve(void *arg)
{
    bool is_get;
    int fd;

    while ((fd = take_request(&is_get)) >= 0) {
        answer(fd, is_get);
        subscribed += !is_get;
    }
    return arg;
}

/* --- The client --- */

static void note(mcp_stream_t *stream, const char *message, const char *reply)
{
    json_auto_t *said = json_loads(message, 0, NULL);
    json_auto_t *answered = json_loads(reply, 0, NULL);

    assert_non_null(said);
    mcp_stream_note(stream, said, answered);
}

static void introduce(mcp_stream_t *stream)
{
    note(stream, "{\"method\":\"initialize\"}", "{\"result\":{}}");
    note(stream, "{\"method\":\"notifications/initialized\"}", "");
    assert_int_equal(mcp_stream_wait_ms(stream), 0);
}

/* Reads until the stream has ended. */
static void read_all(mcp_stream_t *stream)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    while (stream->stream.fd >= 0) {
        struct pollfd one = {.fd = stream->stream.fd, .events = POLLIN};

        assert_int_equal(poll(&one, 1, WAIT_MS), 1);
        assert_false(mcp_stream_next(stream, &out));
    }
}

/* Opens a stream that the server begins, and cuts after that time. */
static void live(mcp_stream_t *stream, int64_t age_ms)
{
    bool is_get;
    int fd;

    mcp_stream_open(stream, &place, &client);
    assert_int_equal(mcp_stream_wait_ms(stream), -1);
    fd = take_request(&is_get);
    assert_true(fd >= 0 && is_get);
    answer(fd, true);
    now_ms += age_ms;
    read_all(stream);
}

static void waits_longer_after_each_stream_that_is_cut(void **state)
{
    CLEANUP(mcp_stream_clear) mcp_stream_t stream = MCP_STREAM_CLOSED;

    (void) state;
    introduce(&stream);
    for (int pause = 200; pause <= 1600; pause *= 2) {
        live(&stream, 1000);
        assert_int_equal(mcp_stream_wait_ms(&stream), pause);
    }
    live(&stream, 5000);
    assert_int_equal(mcp_stream_wait_ms(&stream), 200);
}

static void subscribe_to_many(mcp_stream_t *stream)
{
    for (int i = 0; i < URIS; i++) {
        cleanup_free char *message =
            mem_format("{\"method\":\"resources/subscribe\","
                       "\"params\":{\"uri\":\"hearth://%d\"}}",
                       i);
        note(stream, message, "{\"result\":{}}");
    }
}

/* Tries to open a stream after ten subscriptions, with a server that answers
 * each. Returns whether it was opened, and how many requests came. */
static bool try_after_many(mcp_stream_t *stream, unsigned *ret_subscribed)
{
    pthread_t server;
    bool is_open;

    subscribed = 0;
    introduce(stream);
    subscribe_to_many(stream);
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    mcp_stream_open(stream, &place, &client);
    is_open = stream->stream.fd >= 0;
    shutdown(listener, SHUT_RDWR);
    assert_int_equal(pthread_join(server, NULL), 0);
    *ret_subscribed = subscribed;
    return is_open;
}

static void subscribes_before_the_stream_opens(void **state)
{
    CLEANUP(mcp_stream_clear) mcp_stream_t stream = MCP_STREAM_CLOSED;
    unsigned count;

    (void) state;
    assert_true(try_after_many(&stream, &count));
    assert_int_equal(count, URIS);
}

static void all_subscriptions_have_one_deadline(void **state)
{
    CLEANUP(mcp_stream_clear) mcp_stream_t stream = MCP_STREAM_CLOSED;
    unsigned count;

    (void) state;
    step_ms = 500; /* more than a second for each */
    assert_false(try_after_many(&stream, &count));
    assert_true(count < URIS);
    step_ms = 0;
    assert_in_range(mcp_stream_wait_ms(&stream), 1, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            waits_longer_after_each_stream_that_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(subscribes_before_the_stream_opens,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_subscriptions_have_one_deadline,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
