/* What clients send, as they send it: whole, byte by byte, and cut in two at
 * every place. */
#include "base/buffer.h"
#include "gateway/gate/zmtp_follower.h"
#include "tests/lib/test.h"

#include <string.h>

#define MORE    1
#define COMMAND 4

static const zmtp_limits_t limits = {
    .frame = 1000, .message = 3000, .frames = 8, .subscriptions = 500};

static void add_greeting(buffer_t *to)
{
    uint8_t greeting[ZMTP_GREETING] = {0xff, 0, 0, 0,    0, 0,
                                       0,    0, 1, 0x7f, 3, 1};

    memcpy(greeting + 12, "NULL", 4);
    buffer_append(to, greeting, sizeof greeting);
}

static void add_frame(buffer_t *to, uint8_t flags, const void *body,
                      size_t size)
{
    uint8_t header[9] = {(uint8_t) (flags | (size > 255 ? 2 : 0))};

    if (size > 255) {
        header[7] = (uint8_t) (size >> 8);
        header[8] = (uint8_t) size;
    } else {
        header[1] = (uint8_t) size;
    }
    buffer_append(to, header, size > 255 ? 9 : 2);
    buffer_append(to, body, size);
}

static void add_blank(buffer_t *to, uint8_t flags, size_t size)
{
    cleanup_free char *body = mem_new(size + 1);

    add_frame(to, flags, body, size);
}

static void add_ready(buffer_t *to)
{
    static const char ready[] = "\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER\x08Identity\0\0\0\x02me";

    add_frame(to, COMMAND, ready, sizeof ready - 1);
}

static zmtp_verdict_t follow(const buffer_t *bytes, size_t cut,
                             zmtp_follower_t *follower)
{
    zmtp_verdict_t verdict;

    *follower = (zmtp_follower_t){0};
    verdict = zmtp_follow(follower, &limits, bytes->data, cut);
    return verdict != ZMTP_OK
               ? verdict
               : zmtp_follow(follower, &limits, bytes->data + cut,
                             bytes->size - cut);
}

static void assert_same(const zmtp_follower_t *left,
                        const zmtp_follower_t *right)
{
    assert_int_equal(left->unfinished, right->unfinished);
    assert_int_equal(left->finished, right->finished);
    assert_int_equal(left->subscribed, right->subscribed);
    assert_int_equal(left->is_settled, right->is_settled);
    assert_int_equal(left->is_in_body, right->is_in_body);
    assert_int_equal(left->left, right->left);
}

/* Returns where the follower is after all of it, however it is cut. */
static zmtp_follower_t follow_each_way(const buffer_t *bytes,
                                       zmtp_verdict_t expected)
{
    zmtp_follower_t whole, other = {0};
    zmtp_verdict_t verdict = ZMTP_OK;

    assert_int_equal(follow(bytes, bytes->size, &whole), expected);
    for (size_t i = 0; i < bytes->size && verdict == ZMTP_OK; i++)
        verdict = zmtp_follow(&other, &limits, bytes->data + i, 1);
    assert_int_equal(verdict, expected);
    for (size_t cut = 0; cut < bytes->size; cut++) {
        zmtp_follower_t halves;

        assert_int_equal(follow(bytes, cut, &halves), expected);
        if (expected == ZMTP_OK)
            assert_same(&whole, &halves);
    }
    if (expected == ZMTP_OK)
        assert_same(&whole, &other);
    return whole;
}

static void follows_a_client(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zmtp_follower_t follower;

    (void) state;
    add_greeting(&bytes);
    follower = follow_each_way(&bytes, ZMTP_OK);
    assert_int_equal(follower.greeted, ZMTP_GREETING);
    assert_false(follower.is_settled);
    add_ready(&bytes);
    follower = follow_each_way(&bytes, ZMTP_OK);
    assert_true(follower.is_settled);
    add_frame(&bytes, MORE, "first", 5);
    add_frame(&bytes, MORE, "", 0);
    add_blank(&bytes, 0, 300);
    follower = follow_each_way(&bytes, ZMTP_OK);
    assert_int_equal(follower.finished, 305 + 3 * ZMTP_FRAME_COST);
    assert_int_equal(follower.unfinished, 0);
    assert_int_equal(follower.subscribed, 0);
}

/* Also what a frame that has begun has brought so far; a command between two
 * frames ends no message. */
static void counts_what_is_not_complete(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zmtp_follower_t follower;

    (void) state;
    add_greeting(&bytes);
    add_ready(&bytes);
    add_blank(&bytes, MORE, 700);
    add_frame(&bytes, COMMAND, "\x04PING\0\0", 7);
    add_blank(&bytes, 0, 400);
    bytes.size -= 250;
    follower = follow_each_way(&bytes, ZMTP_OK);
    assert_int_equal(follower.unfinished, 700 + 150 + 2 * ZMTP_FRAME_COST);
    assert_int_equal(follower.finished, 0);
}

static void refuses_a_message_that_does_not_end(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    (void) state;
    add_greeting(&bytes);
    add_ready(&bytes);
    add_blank(&bytes, MORE, 1000);
    add_blank(&bytes, MORE, 1000);
    follow_each_way(&bytes, ZMTP_OK);
    add_blank(&bytes, MORE, 1000);
    follow_each_way(&bytes, ZMTP_BIG_MESSAGE);
}

/* The length is enough: none of the bytes has to come. */
static void refuses_a_frame_by_its_length(void **state)
{
    static const uint8_t lengths[][8] = {
        {0, 0, 0, 0, 0, 0, 3, 0xe9}, /* 1001 */
        {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
    };

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

        add_greeting(&bytes);
        add_ready(&bytes);
        buffer_append(&bytes, "\x02", 1);
        buffer_append(&bytes, lengths[i], 8);
        follow_each_way(&bytes, ZMTP_BIG_FRAME);
    }
}

static void refuses_frames_without_end(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    (void) state;
    add_greeting(&bytes);
    add_ready(&bytes);
    for (unsigned i = 0; i < limits.frames; i++)
        add_frame(&bytes, MORE, "", 0);
    follow_each_way(&bytes, ZMTP_OK);
    add_frame(&bytes, 0, "", 0);
    follow_each_way(&bytes, ZMTP_MANY_FRAMES);
}

static void refuses_unknown_flags(void **state)
{
    static const char *const frames[] = {"\x08\x01x", "\x80\x01x",
                                         "\x05\x01x", /* a command with MORE */
                                         "\x02\x80\0\0\0\0\0\0\1"};
    static const size_t sizes[] = {3, 3, 3, 9};

    (void) state;
    for (size_t i = 0; i < 4; i++) {
        cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

        add_greeting(&bytes);
        buffer_append(&bytes, frames[i], sizes[i]);
        follow_each_way(&bytes, ZMTP_BAD_FRAME);
    }
}

static void refuses_other_protocols(void **state)
{
    static const char *const others[] = {
        "POST / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03",
        "\xff........\x7e",
    };
    static const size_t sizes[] = {18, 10, 10};

    (void) state;
    for (size_t i = 0; i < 3; i++) {
        cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

        buffer_append(&bytes, others[i], sizes[i]);
        follow_each_way(&bytes, ZMTP_NO_GREETING);
    }
}

static void refuses_old_versions(void **state)
{
    (void) state;
    for (uint8_t version = 0; version < 3; version++) {
        cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

        add_greeting(&bytes);
        bytes.data[ZMTP_SIGNATURE] = version;
        follow_each_way(&bytes, ZMTP_OLD);
    }
}

/* Each way to subscribe counts: a command, a message, a later frame of one. To
 * cancel counts nothing and frees nothing. */
static void counts_subscriptions(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zmtp_follower_t follower;

    (void) state;
    add_greeting(&bytes);
    add_ready(&bytes);
    add_frame(&bytes, COMMAND, "\x09SUBSCRIBEtopic", 15);
    add_frame(&bytes, COMMAND,
              "\x06"
              "CANCELtopic",
              12);
    add_frame(&bytes, 0, "\1topic", 6);
    add_frame(&bytes, 0, "\0topic", 6);
    add_frame(&bytes, 0, "other\1", 6);
    add_frame(&bytes, MORE, "\2", 1);
    add_frame(&bytes, 0, "\1", 1);
    follower = follow_each_way(&bytes, ZMTP_OK);
    assert_int_equal(follower.subscribed, 15 + 6 + 1 + 3 * ZMTP_FRAME_COST);
    for (int i = 0; i < 4; i++)
        add_frame(&bytes, 0, "\1", 1);
    follow_each_way(&bytes, ZMTP_OK);
    add_frame(&bytes, 0, "\1", 1);
    follow_each_way(&bytes, ZMTP_MANY_SUBSCRIPTIONS);
}

/* A socket of requests has none, and its messages may begin with any byte. */
static void knows_sockets_without_subscriptions(void **state)
{
    const zmtp_limits_t none = {.frame = 1000, .message = 3000, .frames = 8};
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zmtp_follower_t follower = {0};

    (void) state;
    add_greeting(&bytes);
    add_ready(&bytes);
    add_frame(&bytes, 0, "\1topic", 6);
    assert_int_equal(zmtp_follow(&follower, &none, bytes.data, bytes.size),
                     ZMTP_OK);
    buffer_clear(&bytes);
    add_frame(&bytes, COMMAND, "\x09SUBSCRIBE", 10);
    assert_int_equal(zmtp_follow(&follower, &none, bytes.data, bytes.size),
                     ZMTP_MANY_SUBSCRIPTIONS);
}

static void refuses_commands_that_are_too_big(void **state)
{
    const zmtp_limits_t large = {
        .frame = 1 << 20, .message = 1 << 20, .frames = 8};
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zmtp_follower_t follower = {0};

    (void) state;
    add_greeting(&bytes);
    add_blank(&bytes, COMMAND, 4096);
    assert_int_equal(zmtp_follow(&follower, &large, bytes.data, bytes.size),
                     ZMTP_OK);
    buffer_clear(&bytes);
    add_blank(&bytes, COMMAND, 4097);
    assert_int_equal(zmtp_follow(&follower, &large, bytes.data, bytes.size),
                     ZMTP_BIG_FRAME);
}

static void names_each_verdict(void **state)
{
    (void) state;
    for (unsigned i = 0; i <= ZMTP_MANY_SUBSCRIPTIONS; i++)
        assert_true(strlen(zmtp_verdict_text((zmtp_verdict_t) i)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_a_client),
        cmocka_unit_test(counts_what_is_not_complete),
        cmocka_unit_test(refuses_a_message_that_does_not_end),
        cmocka_unit_test(refuses_a_frame_by_its_length),
        cmocka_unit_test(refuses_frames_without_end),
        cmocka_unit_test(refuses_unknown_flags),
        cmocka_unit_test(refuses_other_protocols),
        cmocka_unit_test(refuses_old_versions),
        cmocka_unit_test(counts_subscriptions),
        cmocka_unit_test(knows_sockets_without_subscriptions),
        cmocka_unit_test(refuses_commands_that_are_too_big),
        cmocka_unit_test(names_each_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
