/* What pages send over the feed. */
#include "gateway/http/window/feed_message.h"

#include "tests/lib/test.h"

#include <string.h>

static const char *read_text(const char *text, feed_message_t *ret_message)
{
    return feed_message_read(text, strlen(text), ret_message);
}

static void reads_each_kind(void **state)
{
    feed_message_t message;

    (void) state;
    assert_null(read_text("{\"token\":\"a\\u00e9\"}", &message));
    assert_int_equal(message.kind, FEED_MESSAGE_TOKEN);
    assert_string_equal(message.text, "a\303\251");
    feed_message_clear(&message);
    assert_null(read_text(" {\"credit\": 65536, \"x\": []} ", &message));
    assert_int_equal(message.kind, FEED_MESSAGE_CREDIT);
    assert_int_equal(message.credit, 65536);
    assert_null(read_text("{\"close\":\"sessions\"}", &message));
    assert_int_equal(message.kind, FEED_MESSAGE_CLOSE);
    assert_string_equal(message.text, "sessions");
    feed_message_clear(&message);
    assert_null(message.text);
}

static void reads_where_a_topic_begins(void **state)
{
    feed_message_t message;

    (void) state;
    assert_null(read_text("{\"open\":\"session/0a-1\",\"since\":0}", &message));
    assert_int_equal(message.kind, FEED_MESSAGE_OPEN);
    assert_true(message.has_since);
    assert_int_equal(message.since, 0);
    assert_string_equal(feed_message_session(message.text), "0a-1");
    feed_message_clear(&message);
    assert_null(read_text("{\"open\":\"session/a\",\"tail\":500}", &message));
    assert_false(message.has_since);
    assert_int_equal(message.tail, 500);
    feed_message_clear(&message);
    assert_null(feed_message_session("sessions"));
}

/* As long as an id with its NUL may be. */
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void refuses_what_it_does_not_know(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"token\"",
        "{\"token\":3}",
        "{\"token\":\"a\\u0000b\"}",
        "{\"other\":1}",
        "{\"credit\":-1}",
        "{\"credit\":1.5}",
        "{\"credit\":16777217}",
        "{\"credit\":99999999999999999999999}",
        "{\"open\":3}",
        "{\"open\":\"\"}",
        "{\"open\":\"session/\"}",
        "{\"open\":\"session/../a\"}",
        "{\"open\":\"session/a\\u0000\"}",
        "{\"open\":\"session/" LONG "\"}",
        "{\"open\":\"gateway\"}",
        "{\"open\":\"session/a\",\"since\":-1}",
        "{\"open\":\"session/a\",\"since\":\"1\"}",
        "{\"open\":\"session/a\",\"since\":1,\"tail\":1}",
        "{\"open\":\"session/a\",\"tail\":9223372036854775808}",
        "{\"close\":null}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_feed_message feed_message_t message;
        assert_non_null(read_text(texts[i], &message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_kind),
        cmocka_unit_test(reads_where_a_topic_begins),
        cmocka_unit_test(refuses_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
