#include "base/clock.h"
#include "base/fd.h"
#include "protocol/client.h"
#include "protocol/connection_file.h"
#include "protocol/limits.h"
#include "protocol/wire.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The kernel's end of the channels, in a folder of its own. */
typedef struct {
    char folder[64];
    char *file; /* the connection file */
    connection_file_t connection;
    zsock_t *sockets[CHANNEL_COUNT];
    client_t *client;
} kernel_sockets_t;

static const int types[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) kernel,
    CHANNELS(X)
#undef X
};

static int make_peer(void **state)
{
    kernel_sockets_t *peer = mem_new(sizeof *peer);
    *state = peer;
    fault_t fault;
    (void) snprintf(peer->folder, sizeof peer->folder,
                    "/tmp/hearth-test-client-XXXXXX");
    if (mkdtemp(peer->folder) == NULL)
        return -1;
    peer->file = mem_format("%s/connection.json", peer->folder);
    peer->connection = (connection_file_t){.transport = "ipc",
                                           .ports = {1, 2, 3, 4, 5},
                                           .secret = secret_new_random()};
    (void) snprintf(peer->connection.ip, sizeof peer->connection.ip, "%s/k",
                    peer->folder);
    if (connection_file_write(&peer->connection, peer->file, &fault) < 0)
        return -1;
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        char endpoint[CONNECTION_ENDPOINT_SIZE];
        connection_file_endpoint(&peer->connection, (channel_t) i, endpoint);
        peer->sockets[i] = zsock_new(types[i]);
        zsock_set_rcvtimeo(peer->sockets[i], 60000);
        if (zsock_bind(peer->sockets[i], "%s", endpoint) < 0)
            return -1;
    }
    return client_new(peer->file, &peer->client, &fault);
}

static int destroy_peer(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    client_destroy(&peer->client);
    for (size_t i = 0; i < CHANNEL_COUNT; i++)
        zsock_destroy(&peer->sockets[i]);
    connection_file_clear(&peer->connection);
    int r = path_remove_tree(peer->folder, &fault);
    free(peer->file);
    free(peer);
    return r;
}

/* Returns the client's message on a channel. */
static message_t *receive(kernel_sockets_t *peer, channel_t channel)
{
    zmsg_t *frames = zmsg_recv(peer->sockets[channel]);
    assert_non_null(frames);
    message_t *message = NULL;
    fault_t fault;
    assert_int_equal(
        wire_decode(frames, peer->connection.secret, NULL, &message, &fault),
        WIRE_OK);
    zmsg_destroy(&frames);
    return message;
}

static int send_from(kernel_sockets_t *peer, channel_t channel,
                     const bytes_t *identity, const char *msg_id,
                     const secret_t *secret)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    message_write_header(&header, msg_id, "kernel", "some_type", 0);
    wire_parts_t parts = {
        .identities = identity,
        .identity_count = identity != NULL ? 1 : 0,
        .header = {.bytes = header.data, .size = header.size}};
    return wire_send(zsock_resolve(peer->sockets[channel]), &parts, secret);
}

static void asks_and_is_answered(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    const char *msg_id = NULL;
    assert_int_equal(client_send(peer->client,
                                 &(client_request_t){
                                     .channel = CHANNEL_SHELL,
                                     .type = "execute_request",
                                     .content = text_bytes("{\"code\":\"1\"}")},
                                 &msg_id, &fault),
                     0);
    cleanup_message message_t *request = receive(peer, CHANNEL_SHELL);
    assert_string_equal(message_id(request), msg_id);
    assert_string_equal(message_type(request), "execute_request");
    assert_memory_equal(message_content(request).bytes, "{\"code\":\"1\"}", 12);
    assert_int_equal(message_identity_count(request), 1);

    bytes_t identity = message_identity(request, 0);
    assert_int_equal(send_from(peer, CHANNEL_SHELL, &identity, "r1",
                               peer->connection.secret),
                     0);
    channel_t channel = CHANNEL_COUNT;
    cleanup_message message_t *reply = NULL;
    assert_int_equal(
        client_receive(peer->client, 60000, &channel, &reply, &fault), 0);
    assert_int_equal(channel, CHANNEL_SHELL);
    assert_string_equal(message_id(reply), "r1");
}

/* No receiver would take it. Its bytes are not looked at. */
static void sends_nothing_that_is_too_large(void **state)
{
    kernel_sockets_t *peer = *state;
    const bytes_t most = {.bytes = "", .size = WIRE_FRAME_MAX};
    const bytes_t large = {.bytes = "", .size = most.size + 1};
    const client_request_t requests[] = {
        {.channel = CHANNEL_SHELL, .type = "x", .content = large},
        {.channel = CHANNEL_SHELL, .type = "x", .metadata = large},
        {.channel = CHANNEL_SHELL, .type = "x", .data = large},
        {.channel = CHANNEL_SHELL, .type = "x", .content = most, .data = most},
    };
    fault_t fault;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        assert_int_equal(client_send(peer->client, &requests[i], NULL, &fault),
                         -EMSGSIZE);
        assert_non_null(strstr(fault.text, i < 3 ? "134217728" : "268435456"));
    }
}

static void has_one_identity_on_all_channels(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    static const channel_t channels[] = {CHANNEL_SHELL, CHANNEL_CONTROL,
                                         CHANNEL_STDIN};
    bytes_t identity = {0};
    cleanup_message message_t *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(client_send(peer->client,
                                     &(client_request_t){.channel = channels[i],
                                                         .type = "x"},
                                     NULL, &fault),
                         0);
        cleanup_message message_t *got = receive(peer, channels[i]);
        bytes_t here = message_identity(got, 0);
        if (first != NULL) {
            assert_int_equal(here.size, identity.size);
            assert_memory_equal(here.bytes, identity.bytes, here.size);
            continue;
        }
        first = take_ptr(got);
        identity = here;
    }
}

static void receives_published_messages(void **state)
{
    kernel_sockets_t *peer = *state;
    zmsg_t *subscription = zmsg_recv(peer->sockets[CHANNEL_IOPUB]);
    assert_non_null(subscription);
    assert_int_equal(zframe_size(zmsg_first(subscription)), 1);
    zmsg_destroy(&subscription);
    const bytes_t topic = text_bytes("stream.stdout");
    assert_int_equal(
        send_from(peer, CHANNEL_IOPUB, &topic, "p1", peer->connection.secret),
        0);
    channel_t channel = CHANNEL_COUNT;
    cleanup_message message_t *message = NULL;
    fault_t fault;
    assert_int_equal(
        client_receive(peer->client, 60000, &channel, &message, &fault), 0);
    assert_int_equal(channel, CHANNEL_IOPUB);
    assert_string_equal(message_id(message), "p1");
}

static void drops_and_counts_forged_and_repeated_messages(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    assert_int_equal(
        client_send(peer->client,
                    &(client_request_t){.channel = CHANNEL_SHELL, .type = "x"},
                    NULL, &fault),
        0);
    cleanup_message message_t *request = receive(peer, CHANNEL_SHELL);
    bytes_t identity = message_identity(request, 0);
    cleanup_secret secret_t *other = secret_new_random();
    const secret_t *own = peer->connection.secret;
    assert_int_equal(send_from(peer, CHANNEL_SHELL, &identity, "forged", other),
                     0);
    assert_int_equal(send_from(peer, CHANNEL_SHELL, &identity, "true", own), 0);
    assert_int_equal(send_from(peer, CHANNEL_SHELL, &identity, "true", own), 0);
    channel_t channel = CHANNEL_COUNT;
    cleanup_message message_t *message = NULL;
    assert_int_equal(
        client_receive(peer->client, 60000, &channel, &message, &fault), 0);
    assert_string_equal(message_id(message), "true");
    message_destroy(&message);
    assert_int_equal(
        client_receive(peer->client, 100, &channel, &message, &fault),
        -ETIMEDOUT);
    assert_null(message);
    assert_int_equal(client_dropped(peer->client), 2);
}

static void gives_up_at_its_deadline(void **state)
{
    kernel_sockets_t *peer = *state;
    channel_t channel = CHANNEL_COUNT;
    message_t *message = NULL;
    fault_t fault;
    int64_t start = clock_monotonic_ms();
    assert_int_equal(
        client_receive(peer->client, 0, &channel, &message, &fault),
        -ETIMEDOUT);
    assert_int_equal(
        client_receive(peer->client, 30, &channel, &message, &fault),
        -ETIMEDOUT);
    int64_t took = clock_monotonic_ms() - start;
    assert_true(took >= 29 && took < 60000);
}

static void refuses_to_send_on_iopub_and_heartbeat(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    assert_int_equal(
        client_send(peer->client,
                    &(client_request_t){.channel = CHANNEL_IOPUB, .type = "x"},
                    NULL, &fault),
        -EINVAL);
    assert_int_equal(
        client_send(peer->client,
                    &(client_request_t){.channel = CHANNEL_HB, .type = "x"},
                    NULL, &fault),
        -EINVAL);
}

static void manages_with_the_key_of_a_private_file(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    cleanup_free char *path = mem_format("%s/management.key", peer->folder);
    cleanup_free char *line =
        mem_format("%s\n", secret_text(peer->connection.secret));
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    connection_file_endpoint(&peer->connection, CHANNEL_CONTROL, endpoint);
    cleanup_client client_t *client = NULL;
    assert_int_equal(client_new_management(endpoint, path, &client, &fault),
                     -ENOENT);
    assert_int_equal(file_write_atomic(path, 0640, line, strlen(line), &fault),
                     0);
    assert_int_equal(client_new_management(endpoint, path, &client, &fault),
                     -EPERM);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(client_new_management(endpoint, path, &client, &fault), 0);
    assert_int_equal(client_send(client,
                                 &(client_request_t){.channel = CHANNEL_CONTROL,
                                                     .type = "x"},
                                 NULL, &fault),
                     0);
    cleanup_message message_t *request = receive(peer, CHANNEL_CONTROL);
    assert_string_equal(message_type(request), "x");
    assert_int_equal(
        client_send(client,
                    &(client_request_t){.channel = CHANNEL_SHELL, .type = "x"},
                    NULL, &fault),
        -EINVAL);
}

static void says_what_is_wrong_with_its_files(void **state)
{
    kernel_sockets_t *peer = *state;
    fault_t fault;
    client_t *client = NULL;
    assert_int_equal(client_new("/nowhere/c.json", &client, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nowhere/c.json"));
    cleanup_free char *path = mem_format("%s/empty.key", peer->folder);
    assert_int_equal(file_write_atomic(path, 0600, "\n", 1, &fault), 0);
    assert_int_equal(client_new_management("ipc:///x", path, &client, &fault),
                     -EINVAL);
    assert_null(client);
}

#define WITH_PEER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, make_peer, destroy_peer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PEER(asks_and_is_answered),
        WITH_PEER(sends_nothing_that_is_too_large),
        WITH_PEER(has_one_identity_on_all_channels),
        WITH_PEER(receives_published_messages),
        WITH_PEER(drops_and_counts_forged_and_repeated_messages),
        WITH_PEER(gives_up_at_its_deadline),
        WITH_PEER(refuses_to_send_on_iopub_and_heartbeat),
        WITH_PEER(manages_with_the_key_of_a_private_file),
        WITH_PEER(says_what_is_wrong_with_its_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
