/* Which Unix socket belongs to a channel, and which TCP port leads to it. */
#include "base/fd.h"
#include "gateway/channels/bind.h"
#include "gateway/gate/gate.h"
#include "gateway/gate/listener.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static connection_file_t connection_to(const char *transport, const char *ip)
{
    connection_file_t connection = {0};

    snprintf(connection.transport, sizeof connection.transport, "%s",
             transport);
    snprintf(connection.ip, sizeof connection.ip, "%s", ip);
    return connection;
}

/* A word goes through, by what the connection says. */
static void assert_reachable(zsock_t *rep, const connection_file_t *connection,
                             channel_t channel)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    cleanup_zsock zsock_t *req = zsock_new(ZMQ_REQ);

    connection_file_endpoint(connection, channel, endpoint);
    zsock_set_rcvtimeo(rep, 60000);
    zsock_set_linger(req, 0);
    assert_int_equal(zsock_connect(req, "%s", endpoint), 0);
    assert_int_equal(zstr_send(req, "word"), 0);
    cleanup_free char *word = zstr_recv(rep);
    assert_non_null(word);
    assert_string_equal(word, "word");
}

static void leads_a_port_to_each_channel(void **state)
{
    cleanup_free char *prefix = inside("z");
    const channel_place_t place = {.name = "a-session", .prefix = prefix};
    connection_file_t connection = connection_to("tcp", "127.0.0.1");
    channel_binding_t bindings[CHANNEL_COUNT];
    zsock_t *sockets[CHANNEL_COUNT];
    cleanup_gate gate_t *gate = NULL;
    struct stat about;
    fault_t fault;

    (void) state;
    assert_int_equal(gate_new(NULL, &gate, &fault), 0);
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        sockets[i] = zsock_new(ZMQ_REP);
        assert_int_equal(channel_bind(sockets[i], &connection, (channel_t) i,
                                      &place, &bindings[i], &fault),
                         0);
        assert_in_range(connection.ports[i], 1, 65535);
        assert_non_null(bindings[i].port);
        assert_int_equal(stat(bindings[i].path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0600);
        assert_true(strncmp(bindings[i].path, prefix, strlen(prefix)) == 0);
        for (int before = 0; before < i; before++)
            assert_int_not_equal(connection.ports[before], connection.ports[i]);
    }
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (i != CHANNEL_IOPUB) /* which takes subscriptions alone */
            assert_reachable(sockets[i], &connection, (channel_t) i);
        zsock_destroy(&sockets[i]);
        channel_unbind(&bindings[i]);
        assert_null(bindings[i].port);
    }
}

/* A client that chooses the port of a new session hears that it is taken. One
 * that was the session's is waited for. */
static void waits_for_a_port_of_its_own(void **state)
{
    cleanup_free char *prefix = inside("z");
    channel_place_t place = {.name = "a-session", .prefix = prefix};
    connection_file_t connection = connection_to("tcp", "127.0.0.1");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    cleanup_gate gate_t *gate = NULL;
    channel_binding_t binding;
    listener_t other;
    fault_t fault;
    int port;

    (void) state;
    assert_int_equal(gate_new(NULL, &gate, &fault), 0);
    assert_int_equal(listener_open("127.0.0.1", 0, &other, &fault), 0);
    port = (int) tcp_address_port(&other.address);
    connection.ports[CHANNEL_SHELL] = port;
    assert_int_equal(channel_bind(socket, &connection, CHANNEL_SHELL, &place,
                                  &binding, &fault),
                     -EADDRINUSE);
    assert_null(binding.port);
    channel_unbind(&binding);
    place.is_restored = true;
    assert_int_equal(channel_bind(socket, &connection, CHANNEL_SHELL, &place,
                                  &binding, &fault),
                     0);
    assert_int_equal(connection.ports[CHANNEL_SHELL], port);
    close(other.fd);
    assert_reachable(socket, &connection, CHANNEL_SHELL);
    channel_unbind(&binding);
}

static void names_a_file_where_there_are_no_ports(void **state)
{
    cleanup_free char *prefix = inside("ipc");
    cleanup_free char *file = inside("ipc-7");
    const channel_place_t place = {.name = "a-session", .prefix = "/nowhere"};
    connection_file_t connection = connection_to("ipc", prefix);
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    channel_binding_t binding;
    fault_t fault;

    (void) state;
    connection.ports[CHANNEL_SHELL] = 7;
    assert_int_equal(channel_bind(socket, &connection, CHANNEL_SHELL, &place,
                                  &binding, &fault),
                     0);
    assert_int_equal(connection.ports[CHANNEL_SHELL], 7);
    assert_string_equal(binding.path, file);
    assert_null(binding.port);
    assert_int_equal(access(file, F_OK), 0);
    assert_reachable(socket, &connection, CHANNEL_SHELL);
    channel_unbind(&binding);
}

static void refuses_a_path_that_is_too_long(void **state)
{
    char prefix[107];
    const channel_place_t place = {.name = "a-session", .prefix = prefix};
    connection_file_t connection = connection_to("tcp", "127.0.0.1");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    channel_binding_t binding;
    fault_t fault = {0};

    (void) state;
    memset(prefix, 'x', sizeof prefix);
    prefix[0] = '/';
    prefix[sizeof prefix - 1] = '\0';
    assert_int_equal(channel_bind(socket, &connection, CHANNEL_SHELL, &place,
                                  &binding, &fault),
                     -ENAMETOOLONG);
    assert_non_null(strstr(fault.text, "gateway/runtime_dir"));
    channel_unbind(&binding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leads_a_port_to_each_channel,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(waits_for_a_port_of_its_own,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(names_a_file_where_there_are_no_ports,
                                        make_folder, remove_folder),
        cmocka_unit_test(refuses_a_path_that_is_too_long),
    };

    zsys_handler_set(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
