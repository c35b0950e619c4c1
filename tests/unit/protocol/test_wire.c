#include "protocol/czmq_cleanup.h"
#include "protocol/limits.h"
#include "protocol/wire.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define KEY "a0436f6c-1916-498b-8eb9-e81ab9368e84"
#define HEADER                                                                 \
    "{\"msg_id\":\"m1\",\"session\":\"s1\",\"username\":\"u\","                \
    "\"date\":\"2026-01-02T03:04:05.000006Z\","                                \
    "\"msg_type\":\"kernel_info_request\",\"version\":\"5.3\"}"
#define SIGNATURE                                                              \
    "656279cdb5b069fbba1c958e6b909fd8a4407557f0756844e44ff30f66996f86"

static secret_t *secret; /* KEY */
static secret_t *none;   /* no authentication */

static int make_keys(void **state)
{
    (void) state;
    fault_t fault;
    return secret_new(KEY, strlen(KEY), &secret, &fault) < 0
                   || secret_new("", 0, &none, &fault) < 0
               ? -1
               : 0;
}

static int destroy_keys(void **state)
{
    (void) state;
    secret_destroy(&secret);
    secret_destroy(&none);
    return 0;
}

/* The frames of a list that ends with NULL. */
static zmsg_t *frames_of(const char *const *list)
{
    zmsg_t *frames = zmsg_new();
    for (; *list != NULL; list++)
        zmsg_addstr(frames, *list);
    return frames;
}

/* Decodes and destroys; the message goes too unless it is asked for. */
static wire_verdict_t decode(zmsg_t *frames, const secret_t *key,
                             replay_guard_t *history, message_t **ret_message)
{
    cleanup_message message_t *message = NULL;
    fault_t fault = {0};
    wire_verdict_t verdict =
        wire_decode(frames, key, history, &message, &fault);
    zmsg_destroy(&frames);
    assert_true((verdict == WIRE_OK) == (message != NULL));
    assert_true((verdict == WIRE_OK) == (fault.code == 0));
    if (ret_message != NULL)
        *ret_message = take_ptr(message);
    return verdict;
}

static wire_verdict_t decode_list(const secret_t *key, const char *const *list)
{
    return decode(frames_of(list), key, NULL, NULL);
}

#define DECODE(key, ...)                                                       \
    decode_list(key, (const char *const[]){__VA_ARGS__, NULL})

/* A message of the four parts, rightly signed. */
static zmsg_t *encode(const char *header, const char *parent,
                      const char *metadata, const char *content)
{
    cleanup_message message_t *message =
        message_new(text_bytes(header), text_bytes(parent),
                    text_bytes(metadata), text_bytes(content));
    return wire_encode(message, secret);
}

static void reads_messages_signed_by_jupyter(void **state)
{
    (void) state;
    zmsg_t *frames = frames_of(
        (const char *const[]){"id1", "id2", "<IDS|MSG>", SIGNATURE, HEADER,
                              "{}", "{}", "{}", "buffer", "", NULL});
    cleanup_message message_t *message = NULL;
    assert_int_equal(decode(frames, secret, NULL, &message), WIRE_OK);
    assert_string_equal(message_id(message), "m1");
    assert_string_equal(message_type(message), "kernel_info_request");
    assert_string_equal(message_session(message), "s1");
    assert_int_equal(message_header(message).size, strlen(HEADER));
    assert_int_equal(message_identity_count(message), 2);
    assert_memory_equal(message_identity(message, 1).bytes, "id2", 3);
    assert_int_equal(message_buffer_count(message), 2);
    assert_memory_equal(message_buffer(message, 0).bytes, "buffer", 6);
    assert_int_equal(message_buffer(message, 1).size, 0);
}

static void writes_frame_by_frame_what_jupyter_reads(void **state)
{
    (void) state;
    cleanup_message message_t *message = message_new(
        text_bytes(HEADER), (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    message_add_identity(message, "id", 2);
    message_add_buffer(message, "raw", 3);
    zmsg_t *frames = wire_encode(message, secret);
    static const char *const expected[] = {"id", "<IDS|MSG>", SIGNATURE, HEADER,
                                           "{}", "{}",        "{}",      "raw"};
    assert_int_equal(zmsg_size(frames), 8);
    zframe_t *frame = zmsg_first(frames);
    for (size_t i = 0; i < 8; i++, frame = zmsg_next(frames)) {
        assert_int_equal(zframe_size(frame), strlen(expected[i]));
        assert_memory_equal(zframe_data(frame), expected[i],
                            zframe_size(frame));
    }
    assert_int_equal(decode(frames, secret, NULL, NULL), WIRE_OK);
}

static void signs_nothing_without_a_key(void **state)
{
    (void) state;
    cleanup_message message_t *message = message_new(
        text_bytes(HEADER), (bytes_t){0}, (bytes_t){0}, (bytes_t){0});
    zmsg_t *frames = wire_encode(message, none);
    zmsg_first(frames);
    assert_int_equal(zframe_size(zmsg_next(frames)), 0);
    zmsg_destroy(&frames);
    assert_int_equal(DECODE(none, "<IDS|MSG>", "", HEADER, "{}", "{}", "{}"),
                     WIRE_OK);
    assert_int_equal(
        DECODE(none, "<IDS|MSG>", "junk", HEADER, "{}", "{}", "{}"), WIRE_OK);
}

static void refuses_messages_without_delimiter(void **state)
{
    (void) state;
    assert_int_equal(DECODE(secret, ""), WIRE_NO_DELIMITER);
    assert_int_equal(DECODE(secret, "ping"), WIRE_NO_DELIMITER);
    assert_int_equal(
        DECODE(secret, "<IDS|MSG", SIGNATURE, HEADER, "{}", "{}", "{}"),
        WIRE_NO_DELIMITER);
    zmsg_t *empty = zmsg_new();
    assert_int_equal(decode(empty, secret, NULL, NULL), WIRE_NO_DELIMITER);
}

static void refuses_every_truncation(void **state)
{
    (void) state;
    static const char *const list[] = {"<IDS|MSG>", SIGNATURE, HEADER,
                                       "{}",        "{}",      "{}"};
    for (size_t count = 1; count < 6; count++) {
        zmsg_t *frames = zmsg_new();
        for (size_t i = 0; i < count; i++)
            zmsg_addstr(frames, list[i]);
        assert_int_equal(decode(frames, secret, NULL, NULL), WIRE_TOO_SHORT);
    }
}

static void refuses_unsigned_and_wrongly_signed(void **state)
{
    (void) state;
    assert_int_equal(DECODE(secret, "<IDS|MSG>", "", HEADER, "{}", "{}", "{}"),
                     WIRE_UNSIGNED);
    assert_int_equal(
        DECODE(secret, "<IDS|MSG>", SIGNATURE, HEADER, "{}", "{}", "{ }"),
        WIRE_BAD_SIGNATURE);
    assert_int_equal(
        DECODE(secret, "<IDS|MSG>", SIGNATURE "00", HEADER, "{}", "{}", "{}"),
        WIRE_BAD_SIGNATURE);
    assert_int_equal(
        DECODE(secret, "<IDS|MSG>", "656279", HEADER, "{}", "{}", "{}"),
        WIRE_BAD_SIGNATURE);
}

static void verifies_before_it_parses(void **state)
{
    (void) state;
    assert_int_equal(DECODE(secret, "<IDS|MSG>", SIGNATURE, "{", "{", "{", "{"),
                     WIRE_BAD_SIGNATURE);
}

static void refuses_a_replay_once_per_history(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *one =
        replay_guard_new(WIRE_HISTORY_SIZE);
    cleanup_replay_guard replay_guard_t *two =
        replay_guard_new(WIRE_HISTORY_SIZE);
    assert_int_equal(decode(encode(HEADER, "", "", ""), secret, one, NULL),
                     WIRE_OK);
    assert_int_equal(decode(encode(HEADER, "", "", ""), secret, one, NULL),
                     WIRE_REPLAYED);
    assert_int_equal(decode(encode(HEADER, "", "", ""), secret, two, NULL),
                     WIRE_OK);
}

static void remembers_no_forged_signature(void **state)
{
    (void) state;
    cleanup_replay_guard replay_guard_t *history =
        replay_guard_new(WIRE_HISTORY_SIZE);
    zmsg_t *forged = frames_of((const char *const[]){
        "<IDS|MSG>", SIGNATURE, HEADER, "{}", "{}", "{\"x\":1}", NULL});
    assert_int_equal(decode(forged, secret, history, NULL), WIRE_BAD_SIGNATURE);
    assert_int_equal(decode(encode(HEADER, "", "", ""), secret, history, NULL),
                     WIRE_OK);
}

static void requires_four_objects(void **state)
{
    (void) state;
    static const char *const wrong[] = {"[]",
                                        "7",
                                        "null",
                                        "\"{}\"",
                                        "{",
                                        "{}}",
                                        "x",
                                        "{\"a\":\"\xFF\"}",
                                        "{\"a\":\"\xED\xA0\x80\"}",
                                        "{\"a\":NaN}",
                                        "{'a':1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *w = wrong[i];
        assert_int_equal(
            decode(encode(w, "{}", "{}", "{}"), secret, NULL, NULL),
            WIRE_BAD_JSON);
        assert_int_equal(
            decode(encode(HEADER, w, "{}", "{}"), secret, NULL, NULL),
            WIRE_BAD_JSON);
        assert_int_equal(
            decode(encode(HEADER, "{}", w, "{}"), secret, NULL, NULL),
            WIRE_BAD_JSON);
        assert_int_equal(
            decode(encode(HEADER, "{}", "{}", w), secret, NULL, NULL),
            WIRE_BAD_JSON);
    }
    assert_int_equal(DECODE(none, "<IDS|MSG>", "", HEADER, "{}", "", "{}"),
                     WIRE_BAD_JSON);
}

static void refuses_deep_nesting(void **state)
{
    (void) state;
    cleanup_buffer buffer_t deep = BUFFER_EMPTY;
    buffer_text(&deep, "{\"a\":");
    for (int i = 0; i < 100000; i++)
        buffer_text(&deep, "[");
    for (int i = 0; i < 100000; i++)
        buffer_text(&deep, "]");
    buffer_text(&deep, "}");
    assert_int_equal(decode(encode(HEADER, "", "", (const char *) deep.data),
                            secret, NULL, NULL),
                     WIRE_BAD_JSON);
}

static void requires_msg_id_and_msg_type(void **state)
{
    (void) state;
    static const char *const headers[] = {
        "{}",
        "{\"msg_id\":\"a\"}",
        "{\"msg_type\":\"a\"}",
        "{\"msg_id\":\"\",\"msg_type\":\"a\"}",
        "{\"msg_id\":\"a\",\"msg_type\":\"\"}",
        "{\"msg_id\":1,\"msg_type\":\"a\"}",
        "{\"msg_id\":\"a\",\"msg_type\":null}",
        "{\"msg_id\":[\"a\"],\"msg_type\":\"a\"}",
        "{\"msg_id\":\"a\\u0000b\",\"msg_type\":\"a\"}",
        "{\"msg_id\":\"a\",\"msg_type\":\"a\",\"msg_type\":7}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_int_equal(
            decode(encode(headers[i], "", "", ""), secret, NULL, NULL),
            WIRE_BAD_HEADER);
}

/* A message that was found authentic can be answered. */
static void gives_the_head_of_bad_json(void **state)
{
    static const char *const contents[] = {"[", "7"};
    (void) state;
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(zmsg_destroy)
        zmsg_t *frames = encode(HEADER, "", "", contents[i]);
        cleanup_message message_t *head = NULL;

        zmsg_pushstr(frames, "proxy");
        head = wire_decode_head(frames);
        assert_string_equal(message_id(head), "m1");
        assert_int_equal(message_content(head).size, 2);
        assert_int_equal(message_identity_count(head), 1);
        assert_memory_equal(message_identity(head, 0).bytes, "proxy", 5);
    }
    CLEANUP(zmsg_destroy) zmsg_t *headless = encode("[]", "", "", "{}");
    CLEANUP(zmsg_destroy) zmsg_t *alone = zmsg_new();
    assert_null(wire_decode_head(headless));
    assert_null(wire_decode_head(alone));
}

static void bounds_frames_and_identities(void **state)
{
    (void) state;
    zmsg_t *many = encode(HEADER, "", "", "");
    while (zmsg_size(many) < WIRE_FRAMES_MAX)
        zmsg_addstr(many, "");
    zmsg_t *too_many = zmsg_dup(many);
    zmsg_addstr(too_many, "");
    assert_int_equal(decode(many, secret, NULL, NULL), WIRE_OK);
    assert_int_equal(decode(too_many, secret, NULL, NULL), WIRE_TOO_LARGE);

    zmsg_t *proxied = encode(HEADER, "", "", "");
    for (int i = 0; i < WIRE_IDENTITIES_MAX; i++)
        zmsg_pushstr(proxied, "proxy");
    zmsg_t *far_away = zmsg_dup(proxied);
    zmsg_pushstr(far_away, "proxy");
    assert_int_equal(decode(proxied, secret, NULL, NULL), WIRE_OK);
    assert_int_equal(decode(far_away, secret, NULL, NULL), WIRE_TOO_LARGE);

    char wide[WIRE_IDENTITY_MAX + 1] = "";
    zmsg_t *longest = encode(HEADER, "", "", "");
    zmsg_pushmem(longest, wide, WIRE_IDENTITY_MAX);
    zmsg_t *too_long = encode(HEADER, "", "", "");
    zmsg_pushmem(too_long, wide, sizeof wide);
    assert_int_equal(decode(longest, secret, NULL, NULL), WIRE_OK);
    assert_int_equal(decode(too_long, secret, NULL, NULL), WIRE_TOO_LARGE);
}

static void bounds_the_header_and_the_parent(void **state)
{
    (void) state;
    cleanup_buffer buffer_t wide = BUFFER_EMPTY;
    buffer_text(&wide, "{\"msg_id\":\"a\",\"msg_type\":\"b\"");
    while (wide.size < WIRE_HEADER_MAX - 1)
        buffer_text(&wide, " ");
    buffer_text(&wide, "}");
    const char *header = (const char *) wide.data;
    assert_int_equal(
        decode(encode(header, header, header, header), secret, NULL, NULL),
        WIRE_OK);
    buffer_text(&wide, " ");
    header = (const char *) wide.data;
    assert_int_equal(decode(encode(header, "", "", ""), secret, NULL, NULL),
                     WIRE_TOO_LARGE);
    assert_int_equal(decode(encode(HEADER, header, "", ""), secret, NULL, NULL),
                     WIRE_TOO_LARGE);
}

static void bounds_a_frame(void **state)
{
    (void) state;
    zframe_t *large = zframe_new(NULL, (size_t) WIRE_FRAME_MAX + 1);
    zmsg_t *frames = encode(HEADER, "", "", "");
    zmsg_append(frames, &large);
    assert_int_equal(decode(frames, secret, NULL, NULL), WIRE_TOO_LARGE);
}

static void has_a_name_for_each_verdict(void **state)
{
    (void) state;
    assert_string_equal(wire_verdict_name(WIRE_OK), "ok");
    assert_string_equal(wire_verdict_name(WIRE_BAD_SIGNATURE), "bad signature");
    assert_string_equal(wire_verdict_name(WIRE_BAD_HEADER), "bad header");
    assert_string_equal(wire_verdict_name((wire_verdict_t) 99), "unknown");
}

static void sends_the_encoded_frames(void **state)
{
    (void) state;
    zsock_t *router = zsock_new_router("@inproc://wire");
    zsock_t *dealer = zsock_new(ZMQ_DEALER);
    zsock_set_identity(dealer, "peer");
    zsock_set_router_mandatory(router, 1);
    zsock_connect(dealer, "inproc://wire");
    const bytes_t identity = text_bytes("peer");
    const bytes_t buffers[] = {text_bytes("one"), {NULL, 0}};
    wire_parts_t parts = {.identities = &identity,
                          .identity_count = 1,
                          .header = text_bytes(HEADER),
                          .buffers = buffers,
                          .buffer_count = 2};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wire_send(zsock_resolve(router), &parts, secret), 0);
        cleanup_message message_t *message = NULL;
        assert_int_equal(decode(zmsg_recv(dealer), secret, NULL, &message),
                         WIRE_OK);
        assert_string_equal(message_id(message), "m1");
        assert_int_equal(message_content(message).size, 2);
        assert_int_equal(message_buffer_count(message), 2);
        parts.buffer_count = 2;
    }
    parts.buffer_count = 0;
    assert_int_equal(wire_send(zsock_resolve(router), &parts, none), 0);
    zmsg_t *frames = zmsg_recv(dealer);
    assert_int_equal(zmsg_size(frames), 6);
    assert_int_equal(decode(frames, none, NULL, NULL), WIRE_OK);
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

static void reports_a_gone_peer_and_continues(void **state)
{
    (void) state;
    zsock_t *router = zsock_new_router("@inproc://gone");
    zsock_t *dealer = zsock_new(ZMQ_DEALER);
    zsock_set_identity(dealer, "peer");
    zsock_set_router_mandatory(router, 1);
    zsock_connect(dealer, "inproc://gone");
    bytes_t identity = text_bytes("stranger");
    wire_parts_t parts = {.identities = &identity,
                          .identity_count = 1,
                          .header = text_bytes(HEADER)};
    void *raw = zsock_resolve(router);
    assert_int_equal(wire_send(raw, &parts, secret), -EHOSTUNREACH);
    identity = text_bytes("peer");
    assert_int_equal(wire_send(raw, &parts, secret), 0);
    assert_int_equal(decode(zmsg_recv(dealer), secret, NULL, NULL), WIRE_OK);
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

static void publishes_what_subscribers_can_verify(void **state)
{
    (void) state;
    zsock_t *xpub = zsock_new(ZMQ_XPUB);
    zsock_t *sub = zsock_new(ZMQ_SUB);
    const bytes_t buffers[] = {text_bytes("one"), {NULL, 0}};
    wire_parts_t parts = {.header = text_bytes(HEADER)};
    void *raw = zsock_resolve(xpub);
    zsock_bind(xpub, "inproc://publish");
    zsock_set_subscribe(sub, "a");
    zsock_set_subscribe(sub, "<IDS");
    zsock_connect(sub, "inproc://publish");
    for (int i = 0; i < 2; i++)
        zmsg_destroy(&(zmsg_t *){zmsg_recv(xpub)});
    for (size_t count = 0; count < 3; count += 2) {
        parts.buffers = buffers;
        parts.buffer_count = count;
        cleanup_message message_t *topical = NULL, *bare = NULL;
        assert_int_equal(wire_publish(raw, text_bytes("b"), &parts, secret), 0);
        assert_int_equal(wire_publish(raw, text_bytes("ab"), &parts, secret),
                         0);
        assert_int_equal(wire_publish(raw, (bytes_t){0}, &parts, secret), 0);
        assert_int_equal(decode(zmsg_recv(sub), secret, NULL, &topical),
                         WIRE_OK);
        assert_memory_equal(message_identity(topical, 0).bytes, "ab", 2);
        assert_int_equal(message_buffer_count(topical), count);
        assert_int_equal(decode(zmsg_recv(sub), secret, NULL, &bare), WIRE_OK);
        assert_int_equal(message_identity_count(bare), 0);
    }
    zsock_destroy(&sub);
    zsock_destroy(&xpub);
}

/* Returns the content's frame of a message that came without a topic. */
static zframe_t *receive_content(zsock_t *sub)
{
    cleanup_zmsg zmsg_t *frames = zmsg_recv(sub);
    zframe_t *frame = NULL;

    for (int i = 0; i < 6; i++) {
        zframe_destroy(&frame);
        frame = zmsg_pop(frames);
    }
    return frame;
}

static void receivers_share_one_copy_of_the_content(void **state)
{
    static const char *const names[] = {"inproc://share-0", "inproc://share-1"};
    zsock_t *xpubs[2], *subs[2];
    zframe_t *contents[2];
    cleanup_zmq_parcel zmq_parcel_t *parcel = NULL;
    wire_parts_t parts = {
        .header = text_bytes(HEADER),
        .content = text_bytes("{\"text\":\"longer than a frame of its own\"}"),
        .shared_p = &parcel};

    (void) state;
    for (int i = 0; i < 2; i++) {
        xpubs[i] = zsock_new(ZMQ_XPUB);
        subs[i] = zsock_new(ZMQ_SUB);
        zsock_bind(xpubs[i], "%s", names[i]);
        assert_int_equal(
            wire_publish(zsock_resolve(xpubs[i]), (bytes_t){0}, &parts, secret),
            0);
        zsock_set_subscribe(subs[i], "");
        zsock_connect(subs[i], "%s", names[i]);
        zmsg_destroy(&(zmsg_t *){zmsg_recv(xpubs[i])});
    }
    assert_null(parcel); /* no receiver, no copy */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            wire_publish(zsock_resolve(xpubs[i]), (bytes_t){0}, &parts, secret),
            0);
        contents[i] = receive_content(subs[i]);
        assert_true(zframe_size(contents[i]) == parts.content.size);
    }
    assert_ptr_equal(zframe_data(contents[0]), zframe_data(contents[1]));
    assert_true(zmq_parcel_is_held(parcel));
    for (int i = 0; i < 2; i++) {
        zframe_destroy(&contents[i]);
        zsock_destroy(&subs[i]);
        zsock_destroy(&xpubs[i]);
    }
}

static void says_that_the_peer_is_full_and_sends_only_wholes(void **state)
{
    (void) state;
    zsock_t *router = zsock_new(ZMQ_ROUTER);
    zsock_set_sndhwm(router, 3);
    zsock_set_router_mandatory(router, 1);
    zsock_bind(router, "inproc://full");
    zsock_t *dealer = zsock_new(ZMQ_DEALER);
    zsock_set_identity(dealer, "peer");
    zsock_set_rcvhwm(dealer, 3);
    zsock_connect(dealer, "inproc://full");
    const bytes_t identity = text_bytes("peer");
    wire_parts_t parts = {.identities = &identity,
                          .identity_count = 1,
                          .header = text_bytes(HEADER)};
    void *raw = zsock_resolve(router);
    int sent = 0;
    int r = 0;
    while (sent < 100 && (r = wire_send(raw, &parts, secret)) == 0)
        sent++;
    assert_int_equal(r, -EAGAIN);
    for (int i = 0; i < sent; i++)
        assert_int_equal(decode(zmsg_recv(dealer), secret, NULL, NULL),
                         WIRE_OK);
    zsock_set_rcvtimeo(dealer, 0);
    assert_null(zmsg_recv(dealer));
    assert_int_equal(wire_send(raw, &parts, secret), 0);
    zsock_set_rcvtimeo(dealer, 60000);
    assert_int_equal(decode(zmsg_recv(dealer), secret, NULL, NULL), WIRE_OK);
    zsock_destroy(&dealer);
    zsock_destroy(&router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_messages_signed_by_jupyter),
        cmocka_unit_test(writes_frame_by_frame_what_jupyter_reads),
        cmocka_unit_test(signs_nothing_without_a_key),
        cmocka_unit_test(refuses_messages_without_delimiter),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_unsigned_and_wrongly_signed),
        cmocka_unit_test(verifies_before_it_parses),
        cmocka_unit_test(refuses_a_replay_once_per_history),
        cmocka_unit_test(remembers_no_forged_signature),
        cmocka_unit_test(requires_four_objects),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(requires_msg_id_and_msg_type),
        cmocka_unit_test(gives_the_head_of_bad_json),
        cmocka_unit_test(bounds_frames_and_identities),
        cmocka_unit_test(bounds_the_header_and_the_parent),
        cmocka_unit_test(bounds_a_frame),
        cmocka_unit_test(has_a_name_for_each_verdict),
        cmocka_unit_test(sends_the_encoded_frames),
        cmocka_unit_test(reports_a_gone_peer_and_continues),
        cmocka_unit_test(publishes_what_subscribers_can_verify),
        cmocka_unit_test(receivers_share_one_copy_of_the_content),
        cmocka_unit_test(says_that_the_peer_is_full_and_sends_only_wholes),
    };
    return cmocka_run_group_tests(tests, make_keys, destroy_keys);
}
