/* An answer of HTTP as it comes in, in pieces of any size. */
#include "gateway/cli/client/http_reply.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static void expect(const char *answer, const char *messages)
{
    for (size_t step = 1; step < 40; step++) {
        cleanup_http_reply http_reply_t reply = {0};
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        size_t size = strlen(answer);
        for (size_t at = 0; at < size; at += step) {
            size_t part = size - at < step ? size - at : step;
            assert_int_equal(http_reply_feed(&reply, answer + at, part), 0);
            while (http_reply_next(&reply, &out))
                buffer_text(&out, "|");
        }
        assert_true(reply.is_over);
        assert_string_equal(out.data ? (const char *) out.data : "", messages);
    }
}

static void takes_json_as_one_message(void **state)
{
    (void) state;
    expect("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
           "Content-Length: 8\r\n\r\n{\"a\": 1}",
           "{\"a\": 1}|");
    expect("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "");
    expect("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
           "3\r\n{}\n\r\n0\r\n\r\n",
           "{}\n|");
}

static void takes_each_event_as_one(void **state)
{
    (void) state;
    expect("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
           "Transfer-Encoding: chunked\r\n\r\n"
           "3\r\n:\n\n\r\n1e\r\nevent: message\ndata: {\"a\":1}\n\n\r\n"
           "9\r\ndata: {}\n\r\n0\r\n\r\n",
           "{\"a\":1}|{}|");
}

static void keeps_the_session(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\n"
                               "Content-Length: 2\r\n\r\n{}";
    cleanup_http_reply http_reply_t reply = {0};

    (void) state;
    assert_int_equal(http_reply_feed(&reply, text, strlen(text)), 0);
    assert_string_equal(reply.session, "abc");
    assert_int_equal(reply.status, 200);
}

static void refuses_an_invalid_answer(void **state)
{
    static const char *const wrong[] = {
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 99 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_http_reply http_reply_t reply = {0};
        assert_int_equal(http_reply_feed(&reply, wrong[i], strlen(wrong[i])),
                         -EBADMSG);
    }
}

static void knows_what_is_refused_only_for_now(void **state)
{
    static const struct {
        int status;
        bool is_for_now;
    } cases[] = {
        {200, false}, {403, false}, {429, true}, {500, false}, {501, false},
        {502, true},  {503, true},  {504, true}, {505, false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const http_reply_t reply = {.status = cases[i].status};
        assert_int_equal(http_reply_is_for_now(&reply), cases[i].is_for_now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_json_as_one_message),
        cmocka_unit_test(takes_each_event_as_one),
        cmocka_unit_test(keeps_the_session),
        cmocka_unit_test(refuses_an_invalid_answer),
        cmocka_unit_test(knows_what_is_refused_only_for_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
