#include "gateway/http/core/chunked.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define MAX 1000

/* All at once, and a byte at a time: the same comes out. */
static int feed(const char *text, size_t size, uint64_t max, buffer_t *body)
{
    chunked_t whole = {0}, slow = {0};
    cleanup_buffer buffer_t other = BUFFER_EMPTY;
    int r, s = 0;

    r = chunked_feed(&whole, text, size, max, body);
    for (size_t i = 0; i < size && s == 0; i++)
        s = chunked_feed(&slow, text + i, 1, max, &other);
    assert_int_equal(r, s);
    if (r >= 0) {
        assert_int_equal(body->size, other.size);
        if (body->size)
            assert_memory_equal(body->data, other.data, other.size);
    }
    return r;
}

static void joins_chunks(void **state)
{
    static const char text[] = "4\r\nWiki\r\n6;a=\"b\"\r\npedia \r\n"
                               "0A\r\nin\r\nchunks\r\n000\r\nX: y\r\n\r\n";
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(feed(text, sizeof text - 1, MAX, &body), 1);
    assert_string_equal((const char *) body.data, "Wikipedia in\r\nchunks");
    assert_int_equal(body.size, 20);
}

static void accepts_an_empty_body(void **state)
{
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(feed("0\r\n\r\n", 5, MAX, &body), 1);
    assert_int_equal(body.size, 0);
}

static void waits_for_the_end(void **state)
{
    static const char text[] = "2\r\n{}\r\n0\r\n\r\n";

    (void) state;
    for (size_t size = 0; size < sizeof text - 1; size++) {
        cleanup_buffer buffer_t body = BUFFER_EMPTY;
        assert_int_equal(feed(text, size, MAX, &body), 0);
    }
}

static void skips_bytes_after_the_last_chunk(void **state)
{
    static const char text[] = "1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n";
    cleanup_buffer buffer_t body = BUFFER_EMPTY;
    chunked_t chunks = {0};

    (void) state;
    assert_int_equal(chunked_feed(&chunks, text, sizeof text - 1, MAX, &body),
                     1);
    assert_int_equal(chunked_feed(&chunks, "1\r\nx\r\n", 6, MAX, &body), 1);
    assert_int_equal(body.size, 1);
}

static void refuses_invalid_input(void **state)
{
    static const char *const texts[] = {
        "x",      "\r\n",     ";\r\n",       " 1\r\n",
        "+1\r\n", "0x1\r\n",  "1 \r\n",      "1\n",
        "1\rx",   "1\r\nab",  "1\r\na\n",    "1\r\na\rx",
        "1;a\nb", "0\r\n\rx", "1\r\na\r\n-", "1\r\na\r\n\r\n",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_buffer buffer_t body = BUFFER_EMPTY;
        assert_int_equal(feed(texts[i], strlen(texts[i]), MAX, &body),
                         -EBADMSG);
    }
}

static void bounds_extensions_and_trailers(void **state)
{
    cleanup_buffer buffer_t body = BUFFER_EMPTY;
    chunked_t chunks = {0};
    int r = chunked_feed(&chunks, "1;", 2, MAX, &body);
    size_t size = 0;

    (void) state;
    for (; r == 0 && size < 10 * CHUNKED_LINE_MAX; size++)
        r = chunked_feed(&chunks, "x", 1, MAX, &body);
    assert_int_equal(r, -EBADMSG);
    assert_int_equal(size, CHUNKED_LINE_MAX + 1);
    chunks = (chunked_t){0};
    r = chunked_feed(&chunks, "0\r\n", 3, MAX, &body);
    for (size = 0; r == 0 && size < 10 * CHUNKED_TRAILER_MAX; size += 6)
        r = chunked_feed(&chunks, "A: b\r\n", 6, MAX, &body);
    assert_int_equal(r, -EBADMSG);
    assert_true(size <= CHUNKED_TRAILER_MAX + 6);
}

static void refuses_a_long_body_when_it_is_announced(void **state)
{
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(feed("4\r\n", 3, 4, &body), 0);
    assert_int_equal(feed("5\r\n", 3, 4, &body), -EMSGSIZE);
    assert_int_equal(feed("3\r\nabc\r\n2", 9, 4, &body), -EMSGSIZE);
    assert_int_equal(feed("fffffffffffffff\r\n", 17, MAX, &body), -EMSGSIZE);
    assert_int_equal(feed("0000000000000000", 16, MAX, &body), -EMSGSIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_chunks),
        cmocka_unit_test(accepts_an_empty_body),
        cmocka_unit_test(waits_for_the_end),
        cmocka_unit_test(skips_bytes_after_the_last_chunk),
        cmocka_unit_test(refuses_invalid_input),
        cmocka_unit_test(bounds_extensions_and_trailers),
        cmocka_unit_test(refuses_a_long_body_when_it_is_announced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
