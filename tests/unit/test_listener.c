/* Time is the test's own: a wait costs none, and something may happen in it. */
#include "gateway/channels/bind.h"
#include "tests/lib/test.h"

#include "base/clock.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int64_t now_ms;     /* what the clock says */
static int release;        /* a descriptor that is closed ... */
static int64_t release_ms; /* ... at that time */

int64_t __wrap_clock_monotonic_ms(void);
void __wrap_zclock_sleep(int ms);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

void __wrap_zclock_sleep(int ms)
{
    assert_true(ms > 0);
    now_ms += ms;
    if (release >= 0 && now_ms >= release_ms) {
        close(release);
        release = -1;
    }
}

static int set_up(void **state)
{
    (void) state;
    now_ms = 1000;
    release = -1;
    return 0;
}

static connection_t connection_to(const char *transport, const char *ip)
{
    connection_t connection = {0};

    snprintf(connection.transport, sizeof connection.transport, "%s",
             transport);
    snprintf(connection.ip, sizeof connection.ip, "%s", ip);
    return connection;
}

/* A listening socket that is not libzmq's. */
static int take_port(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on),
                     0);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int connect_port(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr =
                                            htonl(INADDR_LOOPBACK),
                                        .sin_port = htons((uint16_t) port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(
        connect(fd, (const struct sockaddr *) &address, sizeof address), 0);
    return fd;
}

/* A word goes through, by what the connection says. */
static void assert_reachable(zsock_t *rep, const connection_t *connection,
                             channel_t channel)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    cleanup_zsock zsock_t *req = zsock_new(ZMQ_REQ);

    connection_endpoint(connection, channel, endpoint);
    zsock_set_rcvtimeo(rep, 20000);
    zsock_set_linger(req, 0);
    assert_int_equal(zsock_connect(req, "%s", endpoint), 0);
    assert_int_equal(zstr_send(req, "word"), 0);
    cleanup_free char *word = zstr_recv(rep);
    assert_non_null(word);
    assert_string_equal(word, "word");
}

/* A session's programs do not get it, and nobody waits for a client who has
 * gone between poll and accept. */
static void assert_shut(zsock_t *socket)
{
    int fd = -1;
    size_t size = sizeof fd;

    assert_int_equal(
        zmq_getsockopt(zsock_resolve(socket), ZMQ_USE_FD, &fd, &size), 0);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static int bind_one(zsock_t *socket, connection_t *connection, fault_t *fault)
{
    return listener_bind(socket, connection, CHANNEL_SHELL, fault);
}

static void finds_a_port_for_each_channel(void **state)
{
    connection_t connection = connection_to("tcp", "127.0.0.1");
    zsock_t *sockets[CHANNEL_COUNT];
    fault_t fault;

    (void) state;
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        sockets[i] = zsock_new(ZMQ_REP);
        assert_int_equal(
            listener_bind(sockets[i], &connection, (channel_t) i, &fault), 0);
        assert_in_range(connection.ports[i], 1, 65535);
        assert_shut(sockets[i]);
        for (int before = 0; before < i; before++)
            assert_int_not_equal(connection.ports[before], connection.ports[i]);
    }
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        assert_reachable(sockets[i], &connection, (channel_t) i);
        zsock_destroy(&sockets[i]);
    }
}

/* Where libzmq binds, it is asked what it chose. */
static void finds_a_port_at_an_interface(void **state)
{
    connection_t connection = connection_to("tcp", "lo");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    fault_t fault;

    (void) state;
    assert_int_equal(bind_one(socket, &connection, &fault), 0);
    assert_in_range(connection.ports[CHANNEL_SHELL], 1, 65535);
    snprintf(connection.ip, sizeof connection.ip, "127.0.0.1");
    assert_reachable(socket, &connection, CHANNEL_SHELL);
}

/* A connection that was ended from here leaves its port behind for a minute.
 * It is no reason to wait. */
static void takes_the_port_of_connections_that_were(void **state)
{
    connection_t connection = connection_to("tcp", "127.0.0.1");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    int *port = &connection.ports[CHANNEL_SHELL], given;
    int64_t begun = now_ms;
    int fd = take_port(port), client, server;
    fault_t fault;
    char byte;

    (void) state;
    client = connect_port(*port);
    server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(fd);
    close(server);
    assert_int_equal(read(client, &byte, 1), 0);
    close(client);
    given = *port;
    assert_int_equal(bind_one(socket, &connection, &fault), 0);
    assert_int_equal(*port, given);
    assert_int_equal(now_ms, begun);
    assert_reachable(socket, &connection, CHANNEL_SHELL);
}

static void waits_for_a_port_that_is_somebody_elses(void **state)
{
    connection_t connection = connection_to("tcp", "127.0.0.1");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    fault_t fault;

    (void) state;
    release = take_port(&connection.ports[CHANNEL_SHELL]);
    release_ms = now_ms + 4000;
    assert_int_equal(bind_one(socket, &connection, &fault), 0);
    assert_int_equal(release, -1);
    assert_in_range(now_ms, release_ms, release_ms + 100);
    assert_reachable(socket, &connection, CHANNEL_SHELL);
}

static void does_not_wait_for_ever(void **state)
{
    connection_t connection = connection_to("tcp", "127.0.0.1");
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    int64_t begun = now_ms;
    cleanup_fd int fd = take_port(&connection.ports[CHANNEL_SHELL]);
    cleanup_free char *port =
        mem_format(":%d: ", connection.ports[CHANNEL_SHELL]);
    fault_t fault;

    (void) state;
    assert_int_equal(bind_one(socket, &connection, &fault), -EADDRINUSE);
    assert_in_range(now_ms, begun + 5000, begun + 5100);
    assert_non_null(strstr(fault.text, port));
}

static void refuses_an_address_that_is_none(void **state)
{
    static const struct {
        const char *ip;
        int code;
    } cases[] = {
        {"192.0.2.1", EADDRNOTAVAIL}, /* not of this machine */
        {"no-such-interface", ENODEV},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        connection_t connection = connection_to("tcp", cases[i].ip);
        cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
        int64_t begun = now_ms;
        fault_t fault = {0};
        assert_int_equal(bind_one(socket, &connection, &fault), -cases[i].code);
        assert_true(strncmp(fault.text, "cannot bind tcp://", 18) == 0);
        assert_int_equal(connection.ports[CHANNEL_SHELL], 0);
        /* Only a port that is taken is worth waiting for. */
        assert_int_equal(now_ms, begun);
    }
}

static void names_a_file_where_there_are_no_ports(void **state)
{
    char folder[] = "/tmp/hearth-listener-XXXXXX";

    (void) state;
    assert_non_null(mkdtemp(folder));
    cleanup_free char *prefix = mem_format("%s/ipc", folder);
    cleanup_free char *file = mem_format("%s-7", prefix);
    connection_t connection = connection_to("ipc", prefix);
    cleanup_zsock zsock_t *socket = zsock_new(ZMQ_REP);
    fault_t fault;
    connection.ports[CHANNEL_SHELL] = 7;
    assert_int_equal(bind_one(socket, &connection, &fault), 0);
    assert_int_equal(connection.ports[CHANNEL_SHELL], 7);
    assert_int_equal(access(file, F_OK), 0);
    assert_reachable(socket, &connection, CHANNEL_SHELL);
    zsock_destroy(&socket);
    (void) unlink(file);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_a_port_for_each_channel, set_up),
        cmocka_unit_test_setup(finds_a_port_at_an_interface, set_up),
        cmocka_unit_test_setup(takes_the_port_of_connections_that_were, set_up),
        cmocka_unit_test_setup(waits_for_a_port_that_is_somebody_elses, set_up),
        cmocka_unit_test_setup(does_not_wait_for_ever, set_up),
        cmocka_unit_test_setup(refuses_an_address_that_is_none, set_up),
        cmocka_unit_test_setup(names_a_file_where_there_are_no_ports, set_up),
    };

    zsys_handler_set(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
