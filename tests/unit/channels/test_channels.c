#include "base/buffer.h"
#include "base/units.h"
#include "gateway/channels/channels.h"
#include "gateway/gate/gate.h"
#include "protocol/secret.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"
#include "tests/unit/channels/raw_subscriber.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
    gate_t *gate;
    connection_file_t connection;
    channels_t *ports;
    unsigned joined, left;
} rig_t;

static int make_session(void **state)
{
    rig_t *self = mem_new(sizeof *self);
    cleanup_free char *prefix = NULL;
    channel_place_t place = {.name = "a-session"};
    fault_t fault;

    *state = self;
    if (make_folder(state) < 0 || gate_new(NULL, &self->gate, &fault) < 0)
        return -1;
    place.prefix = prefix = inside("z");
    self->connection = (connection_file_t){
        .transport = "tcp", .ip = "127.0.0.1", .secret = secret_new_random()};
    return channels_new(&self->connection, &place, &self->ports, &fault);
}

static int end_session(void **state)
{
    rig_t *self = *state;

    channels_destroy(&self->ports);
    gate_destroy(&self->gate);
    secret_destroy(&self->connection.secret);
    free(self);
    return remove_folder(state);
}

static void publish(channels_t *ports, const char *type)
{
    char header[96];
    int size = snprintf(header, sizeof header,
                        "{\"msg_id\":\"1\",\"msg_type\":\"%s\"}", type);

    channels_publish(ports, type,
                     &(wire_parts_t){.header = {header, (size_t) size}});
}

static void greet(void *arg, bool is_new, bytes_t topic)
{
    rig_t *self = arg;

    assert_int_equal(topic.size, 0);
    if (is_new) {
        self->joined++;
        publish(self->ports, "iopub_welcome");
    } else {
        self->left++;
    }
}

static zsock_t *subscribe_to(rig_t *self, const char *topic)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    zsock_t *socket = zsock_new(ZMQ_SUB);

    connection_file_endpoint(&self->connection, CHANNEL_IOPUB, endpoint);
    zsock_set_subscribe(socket, topic);
    zsock_set_rcvtimeo(socket, 20);
    assert_int_equal(zsock_connect(socket, "%s", endpoint), 0);
    return socket;
}

static zsock_t *subscribe(rig_t *self)
{
    return subscribe_to(self, "");
}

/* Never looks at iopub's own events: libzmq attaches the subscriber, which
 * waits there, when the message goes. */
static void greets_before_the_message_that_goes(void **state)
{
    rig_t *self = *state;

    channels_greet(self->ports, greet, self);
    for (unsigned i = 0; i < 10; i++) {
        zsock_t *socket = subscribe(self);
        zmsg_t *first = NULL;

        zclock_sleep(50); /* nothing shows from outside that it is there */
        for (int tries = 0; !first && tries < 6000; tries++) {
            publish(self->ports, "status");
            first = zmsg_recv(socket);
        }
        assert_non_null(first);
        assert_true(zframe_streq(zmsg_first(first), "iopub_welcome"));
        zmsg_destroy(&first);
        zsock_destroy(&socket);
        assert_int_equal(self->joined, i + 1);
    }
}

/* Gives a content at which a reader is ended by a signal. */
static void does_not_read_what_no_subscriber_gets(void **state)
{
    rig_t *self = *state;
    void *content =
        mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wire_parts_t parts = {.content = {content, MIB}};
    zsock_t *socket;
    zmsg_t *got = NULL;

    assert_ptr_not_equal(content, MAP_FAILED);
    channels_publish(self->ports, "status", &parts);
    channels_publish(self->ports, "", &parts);
    assert_int_equal(channels_untaken(self->ports).outputs, 0);
    socket = subscribe_to(self, "stream");
    for (int tries = 0; !got && tries < 6000; tries++) {
        publish(self->ports, "stream.stdout");
        got = zmsg_recv(socket);
    }
    assert_true(zframe_streq(zmsg_first(got), "stream.stdout"));
    zmsg_destroy(&got);
    channels_publish(self->ports, "status", &parts);
    munmap(content, MIB);
    zsock_destroy(&socket);
}

/* Takes what there is: the welcome, and messages of which each is the one after
 * the one before. Returns true when 100 of them have come. */
static bool take_numbers(zsock_t *socket, int *count, int *last)
{
    zmsg_t *got;

    while (*count < 101 && (got = zmsg_recv(socket))) {
        char *type = zframe_strdup(zmsg_first(got));
        int number = (int) strtol(type, NULL, 10);

        /* It is the second in rare cases: see channels_greet. */
        if (strcmp(type, "iopub_welcome") == 0)
            assert_true(*count < 2);
        else if (*last)
            assert_int_equal(number, *last + 1);
        if (number)
            *last = number;
        (*count)++;
        zstr_free(&type);
        zmsg_destroy(&got);
    }
    return *count == 101;
}

static void loses_nothing_after_the_welcome(void **state)
{
    rig_t *self = *state;

    channels_greet(self->ports, greet, self);
    for (int i = 0; i < 20; i++) {
        zsock_t *socket = subscribe(self);
        int count = 0, last = 0, number = 0;

        zsock_set_rcvtimeo(socket, 0);
        while (!take_numbers(socket, &count, &last)) {
            char type[16];

            assert_true(++number < 10000000);
            snprintf(type, sizeof type, "%d", number);
            publish(self->ports, type);
        }
        zsock_destroy(&socket);
    }
}

static void reply(rig_t *self, const char *content)
{
    const bytes_t identity = {"someone", strlen("someone")};

    channels_send(self->ports, CHANNEL_SHELL,
                  &(wire_parts_t){.identities = &identity,
                                  .identity_count = 1,
                                  .header = {"{}", 2},
                                  .content = {content, strlen(content)}});
}

static zsock_t *connect_someone(rig_t *self)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    zsock_t *socket = zsock_new(ZMQ_DEALER);

    connection_file_endpoint(&self->connection, CHANNEL_SHELL, endpoint);
    zsock_set_identity(socket, "someone");
    zsock_set_rcvtimeo(socket, 60000);
    assert_int_equal(zsock_connect(socket, "%s", endpoint), 0);
    return socket;
}

static void expect_reply(zsock_t *socket, const char *content)
{
    zmsg_t *got = zmsg_recv(socket);

    assert_non_null(got);
    assert_true(zframe_streq(zmsg_last(got), content));
    zmsg_destroy(&got);
}

/* Held messages are not tried in between, as when a client comes back between
 * two ticks of its session. */
static void replies_to_a_returning_client_keep_their_order(void **state)
{
    rig_t *self = *state;
    zsock_t *socket;

    reply(self, "{\"first\":1}");
    reply(self, "{\"second\":2}");
    assert_true(channels_is_holding(self->ports));
    socket = connect_someone(self);
    zclock_sleep(200); /* its greeting is there */
    reply(self, "{\"third\":3}");
    for (int tries = 0; channels_retry(self->ports) && tries < 6000; tries++)
        zclock_sleep(10);
    expect_reply(socket, "{\"first\":1}");
    expect_reply(socket, "{\"second\":2}");
    expect_reply(socket, "{\"third\":3}");
    zsock_destroy(&socket);
}

static void counts_subscribers_that_come_and_go(void **state)
{
    rig_t *self = *state;
    zsock_t *one, *two;

    channels_greet(self->ports, greet, self);
    one = subscribe(self);
    two = subscribe(self);
    for (int tries = 0; self->joined < 2 && tries < 6000; tries++) {
        channels_take_subscriptions(self->ports);
        zclock_sleep(10);
    }
    assert_int_equal(channels_subscribers(self->ports), 2);
    zsock_destroy(&one);
    for (int tries = 0; self->left < 1 && tries < 6000; tries++) {
        channels_take_subscriptions(self->ports);
        zclock_sleep(10);
    }
    assert_int_equal(channels_subscribers(self->ports), 1);
    zsock_destroy(&two);
}

/* Connects to iopub and sends one message several times. */
static int send_raw(rig_t *self, const char *message, int times)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t) self->connection.ports[CHANNEL_IOPUB]),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    const char frame[] = {0, 1, message[0]};
    int fd = raw_subscriber(&address, sizeof address);

    for (int i = 0; i < times; i++)
        assert_int_equal(write(fd, frame, sizeof frame), sizeof frame);
    return fd;
}

static void await_greetings(rig_t *self, unsigned joined, unsigned left)
{
    for (int tries = 0;
         (self->joined < joined || self->left < left) && tries < 6000;
         tries++) {
        channels_take_subscriptions(self->ports);
        zclock_sleep(10);
    }
    assert_int_equal(self->joined, joined);
    assert_int_equal(self->left, left);
}

/* Any program that reaches the port may send them, without the key. */
static void counts_no_ends_of_subscriptions_of_others(void **state)
{
    rig_t *self = *state;
    zsock_t *good = subscribe(self);
    zmsg_t *got = NULL;
    int foe;

    channels_greet(self->ports, greet, self);
    await_greetings(self, 1, 0);
    foe = send_raw(self, "\0", 5);
    await_greetings(self, 1, 5);
    assert_int_equal(channels_subscribers(self->ports), 1);
    zsock_set_rcvtimeo(good, 60000);
    publish(self->ports, "last");
    do {
        zmsg_destroy(&got);
        got = zmsg_recv(good);
        assert_non_null(got);
    } while (!zframe_streq(zmsg_first(got), "last"));
    zmsg_destroy(&got);
    close(foe);
    zsock_destroy(&good);
}

static void counts_a_connection_once(void **state)
{
    rig_t *self = *state;
    int foe = send_raw(self, "\1", 5);
    zsock_t *good;

    channels_greet(self->ports, greet, self);
    await_greetings(self, 5, 0);
    assert_int_equal(channels_subscribers(self->ports), 1);
    good = subscribe(self);
    await_greetings(self, 6, 0);
    assert_int_equal(channels_subscribers(self->ports), 2);
    close(foe);
    await_greetings(self, 6, 1);
    assert_int_equal(channels_subscribers(self->ports), 1);
    zsock_destroy(&good);
    await_greetings(self, 6, 2);
    assert_int_equal(channels_subscribers(self->ports), 0);
}

/* Waits for the next message, which has that topic. */
static void expect(zsock_t *socket, const char *topic)
{
    zmsg_t *got = zmsg_recv(socket);

    assert_non_null(got);
    assert_true(zframe_streq(zmsg_first(got), topic));
    zmsg_destroy(&got);
}

/* 40 MiB are more than two sockets and their queues hold. */
static void disconnects_only_the_slow_peer(void **state)
{
    rig_t *self = *state;
    cleanup_free char *content = mem_new(MIB);
    zsock_t *slow, *quick = subscribe(self);
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    unsigned joined;

    memset(content, ' ', MIB);
    zsock_set_rcvtimeo(quick, 60000);
    slow = zsock_new(ZMQ_SUB);
    connection_file_endpoint(&self->connection, CHANNEL_IOPUB, endpoint);
    zsock_set_subscribe(slow, "");
    zsock_set_rcvhwm(slow, 1);
    assert_int_equal(zsock_connect(slow, "%s", endpoint), 0);
    for (int tries = 0; channels_subscribers(self->ports) < 2 && tries < 6000;
         tries++) {
        channels_take_subscriptions(self->ports);
        zclock_sleep(10);
    }
    joined = channels_subscribers(self->ports);
    assert_int_equal(joined, 2);
    assert_int_equal(channels_disconnect_slow(self->ports, CHANNEL_IOPUB), 0);
    for (int i = 0; i < 40; i++) {
        channels_publish(
            self->ports, "x",
            &(wire_parts_t){.header = {"{}", 2}, .content = {content, MIB}});
        expect(quick, "x");
    }
    assert_int_equal(channels_disconnect_slow(self->ports, CHANNEL_IOPUB), 1);
    for (int tries = 0;
         channels_untaken(self->ports).outputs > MIB && tries < 6000; tries++) {
        channels_take_subscriptions(self->ports);
        zclock_sleep(10);
    }
    assert_true(channels_untaken(self->ports).outputs <= MIB);
    publish(self->ports, "status");
    expect(quick, "status");
    zsock_destroy(&slow);
    zsock_destroy(&quick);
}

/* A REP socket says that it has input for what is no request. */
static void takes_heartbeats_beside_noise(void **state)
{
    rig_t *self = *state;
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    zsock_t *noise = zsock_new(ZMQ_DEALER), *client = zsock_new(ZMQ_REQ);
    char *echo = NULL;

    alarm(120); /* a beat that waits for the next one waits for ever */
    connection_file_endpoint(&self->connection, CHANNEL_HB, endpoint);
    assert_int_equal(zsock_connect(noise, "%s", endpoint), 0);
    for (int i = 0; i < 200; i++)
        zstr_send(noise, "x");
    channels_beat(self->ports);
    zsock_set_rcvtimeo(client, 10);
    assert_int_equal(zsock_connect(client, "%s", endpoint), 0);
    zstr_send(client, "ping");
    for (int tries = 0; !echo && tries < 6000; tries++) {
        channels_beat(self->ports);
        echo = zstr_recv(client);
    }
    assert_non_null(echo);
    assert_string_equal(echo, "ping");
    zstr_free(&echo);
    zsock_destroy(&noise);
    zsock_destroy(&client);
    alarm(0);
}

/* Sends the shell a message that one of its sockets has received from there. */
static void send_signed(rig_t *self, const char *session)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    char header[160];
    int size = snprintf(header, sizeof header,
                        "{\"msg_id\":\"%s-1\",\"msg_type\":\"comm_msg\","
                        "\"session\":\"%s\"}",
                        session, session);
    zsock_t *socket = zsock_new(ZMQ_DEALER);

    connection_file_endpoint(&self->connection, CHANNEL_SHELL, endpoint);
    zsock_set_linger(socket, 10000);
    assert_int_equal(zsock_connect(socket, "%s", endpoint), 0);
    assert_int_equal(
        wire_send(zsock_resolve(socket),
                  &(wire_parts_t){.header = {header, (size_t) size}},
                  self->connection.secret),
        0);
    zsock_destroy(&socket);
}

static void note_dropped(void *arg, channel_t channel, const char *verdict,
                         uint64_t count)
{
    char *last = arg;

    assert_int_equal(channel, CHANNEL_SHELL);
    assert_int_equal(count, 1);
    snprintf(last, 32, "%s", verdict);
}

/* Both sides sign with one key. */
static void drops_messages_that_the_gateway_signed(void **state)
{
    rig_t *self = *state;
    cleanup_message message_t *came = NULL;
    char verdict[32] = "";

    channels_watch(self->ports, note_dropped, verdict);
    send_signed(self, MESSAGE_GATEWAY_SESSION "12345678");
    for (int tries = 0; !verdict[0] && tries < 6000; tries++) {
        assert_null(channels_receive(self->ports, CHANNEL_SHELL));
        zclock_sleep(10);
    }
    assert_string_equal(verdict, "reflected");
    assert_int_equal(channels_dropped(self->ports), 1);
    send_signed(self, "a-client");
    for (int tries = 0; !came && tries < 6000; tries++) {
        came = channels_receive(self->ports, CHANNEL_SHELL);
        if (!came)
            zclock_sleep(10);
    }
    assert_non_null(came);
    assert_string_equal(message_session(came), "a-client");
}

/* The client's request says by which connection its replies go. */
static void disconnects_a_client_that_takes_no_replies(void **state)
{
    rig_t *self = *state;
    cleanup_free char *content = mem_new(MIB + 1);
    cleanup_message message_t *came = NULL;
    zsock_t *client = zsock_new(ZMQ_DEALER);
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    unsigned count = 0;

    memset(content, ' ', MIB);
    zsock_set_identity(client, "someone");
    zsock_set_rcvhwm(client, 1);
    connection_file_endpoint(&self->connection, CHANNEL_SHELL, endpoint);
    assert_int_equal(zsock_connect(client, "%s", endpoint), 0);
    assert_int_equal(
        wire_send(zsock_resolve(client),
                  &(wire_parts_t){
                      .header = text_bytes("{\"msg_id\":\"1\",\"msg_type\":"
                                           "\"x\",\"session\":\"a\"}")},
                  self->connection.secret),
        0);
    for (int tries = 0; !came && tries < 6000; tries++) {
        came = channels_receive(self->ports, CHANNEL_SHELL);
        if (!came)
            zclock_sleep(10);
    }
    assert_non_null(came);
    for (int i = 0; i < 40; i++)
        reply(self, content);
    /* libzmq's thread writes them when it has its turn. */
    for (int tries = 0; !count && tries < 6000; tries++) {
        count = channels_disconnect_slow(self->ports, CHANNEL_SHELL);
        if (!count)
            zclock_sleep(10);
    }
    assert_int_equal(count, 1);
    zsock_destroy(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(greets_before_the_message_that_goes,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(does_not_read_what_no_subscriber_gets,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(loses_nothing_after_the_welcome,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(
            disconnects_a_client_that_takes_no_replies, make_session,
            end_session),
        cmocka_unit_test_setup_teardown(disconnects_only_the_slow_peer,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(counts_subscribers_that_come_and_go,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(
            counts_no_ends_of_subscriptions_of_others, make_session,
            end_session),
        cmocka_unit_test_setup_teardown(counts_a_connection_once, make_session,
                                        end_session),
        cmocka_unit_test_setup_teardown(
            replies_to_a_returning_client_keep_their_order, make_session,
            end_session),
        cmocka_unit_test_setup_teardown(takes_heartbeats_beside_noise,
                                        make_session, end_session),
        cmocka_unit_test_setup_teardown(drops_messages_that_the_gateway_signed,
                                        make_session, end_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
