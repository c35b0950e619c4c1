/* Replies wait for clients that are away: in their order, for a time, and
 * within bounds. */
#include "gateway/channels/held_replies.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DID(text)                                                              \
    do {                                                                       \
        assert_string_equal(did, text);                                        \
        did[0] = '\0';                                                         \
    } while (0)

static char did[200];
static const char *away; /* the client that is not there; NULL: all are */

static int send_reply(void *arg, channel_t channel, const wire_parts_t *parts)
{
    size_t size = strlen(did);

    assert_ptr_equal(arg, &away);
    assert_int_equal(parts->identity_count, 1);
    if (away && parts->identities[0].size == strlen(away)
        && memcmp(parts->identities[0].bytes, away, strlen(away)) == 0)
        return -EHOSTUNREACH;
    snprintf(did + size, sizeof did - size, "%d:%.*s:%.*s+%zu ", (int) channel,
             (int) parts->identities[0].size,
             (const char *) parts->identities[0].bytes,
             (int) (parts->content.size < 9 ? parts->content.size : 9),
             (const char *) parts->content.bytes, parts->buffer_count);
    return 0;
}

static void add_bytes(held_replies_t *self, channel_t channel,
                      const char *client, bytes_t content)
{
    const bytes_t identity = text_bytes(client), buffer = {"b", 1};
    const wire_parts_t parts = {.identities = &identity,
                                .identity_count = 1,
                                .header = text_bytes("{}"),
                                .content = content,
                                .buffers = &buffer,
                                .buffer_count = 1};

    held_replies_add(self, channel, &parts, 1000);
}

static void add(held_replies_t *self, const char *client, const char *content)
{
    add_bytes(self, CHANNEL_SHELL, client, text_bytes(content));
}

static void retry(held_replies_t *self, int64_t now)
{
    held_replies_retry(self, now, send_reply, &away);
}

static int begin(void **state)
{
    away = NULL;
    did[0] = '\0';
    *state = held_replies_new();
    return 0;
}

static int end(void **state)
{
    held_replies_t *self = *state;

    held_replies_destroy(&self);
    assert_null(self);
    return 0;
}

static void a_reply_is_sent_whole_when_its_client_is_back(void **state)
{
    held_replies_t *self = *state;
    cleanup_free char *sent = mem_format("%d:a:1+1 ", (int) CHANNEL_SHELL);

    assert_false(held_replies_are_there(self));
    add(self, "a", "1");
    away = "a";
    retry(self, 2000);
    DID("");
    assert_true(held_replies_are_there(self));
    away = NULL;
    retry(self, 2000);
    DID(sent);
    assert_false(held_replies_are_there(self));
}

static void each_client_has_its_order(void **state)
{
    held_replies_t *self = *state;
    int shell = CHANNEL_SHELL;
    cleanup_free char *first = mem_format("%d:b:2+1 ", shell);
    cleanup_free char *then = mem_format("%d:a:1+1 %d:a:3+1 ", shell, shell);

    add(self, "a", "1");
    add(self, "b", "2");
    add(self, "a", "3");
    away = "a";
    retry(self, 2000);
    DID(first);
    away = NULL;
    retry(self, 2000);
    DID(then);
}

static void a_client_is_its_identity_on_its_channel(void **state)
{
    held_replies_t *self = *state;

    add(self, "ab", "1");
    assert_true(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("ab")));
    assert_false(
        held_replies_wait_for(self, CHANNEL_CONTROL, text_bytes("ab")));
    assert_false(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("ac")));
    assert_false(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("a")));
}

static void a_reply_that_is_too_old_is_given_up(void **state)
{
    held_replies_t *self = *state;

    add(self, "a", "1");
    away = "a";
    retry(self, 1000 + HELD_REPLIES_MS - 1);
    assert_true(held_replies_are_there(self));
    away = NULL; /* it is back, a moment too late */
    retry(self, 1000 + HELD_REPLIES_MS);
    DID("");
    assert_false(held_replies_are_there(self));
}

static void bounds_waiting_replies(void **state)
{
    held_replies_t *self = *state;

    add(self, "first", "1");
    for (int i = 1; i < HELD_REPLIES_MAX; i++)
        add(self, "a", "1");
    assert_true(
        held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("first")));
    add(self, "a", "1");
    assert_false(
        held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("first")));
}

/* One may have any size. */
static void bounds_waiting_bytes(void **state)
{
    held_replies_t *self = *state;
    size_t size = (size_t) HELD_REPLIES_BYTES / 2;
    cleanup_free char *content = mem_new(2 * size + 1);

    add_bytes(self, CHANNEL_SHELL, "a", (bytes_t){content, 2 * size + 1});
    assert_true(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("a")));
    add_bytes(self, CHANNEL_SHELL, "b", (bytes_t){content, size - 10});
    assert_false(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("a")));
    add_bytes(self, CHANNEL_SHELL, "c", (bytes_t){content, size - 10});
    assert_true(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("b")));
    add_bytes(self, CHANNEL_SHELL, "d", (bytes_t){content, 20});
    assert_false(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("b")));
    assert_true(held_replies_wait_for(self, CHANNEL_SHELL, text_bytes("c")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reply_is_sent_whole_when_its_client_is_back),
        TEST(each_client_has_its_order),
        TEST(a_client_is_its_identity_on_its_channel),
        TEST(a_reply_that_is_too_old_is_given_up),
        TEST(bounds_waiting_replies),
        TEST(bounds_waiting_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
