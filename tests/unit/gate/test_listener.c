#include "gateway/gate/listener.h"
#include "tests/lib/test.h"

#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

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

static void assert_reachable(int fd, int port)
{
    int client = connect_port(port), server;

    server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(server);
    close(client);
}

/* A session's programs do not get it, and no thread waits for a client that has
 * gone between poll and accept. */
static void assert_shut(int fd)
{
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static listener_t open_port(int port)
{
    listener_t listener = {.fd = -1};
    fault_t fault;

    assert_int_equal(listener_open("127.0.0.1", port, &listener, &fault), 0);
    return listener;
}

static void finds_a_free_port(void **state)
{
    listener_t one = open_port(0), two = open_port(0);
    int port = (int) tcp_address_port(&one.address),
        other = (int) tcp_address_port(&two.address);

    (void) state;
    assert_in_range(port, 1, 65535);
    assert_int_not_equal(port, other);
    assert_shut(one.fd);
    assert_reachable(one.fd, port);
    assert_reachable(two.fd, other);
    close(one.fd);
    close(two.fd);
}

static int family_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;

    assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &size), 0);
    return address.ss_family;
}

static void knows_each_form_of_an_address(void **state)
{
    static const struct {
        const char *ip;
        int family;
    } cases[] = {
        {"lo", AF_INET},   {"*", AF_INET},      {"0.0.0.0", AF_INET},
        {"::1", AF_INET6}, {"[::1]", AF_INET6},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        listener_t listener = {.fd = -1};
        fault_t fault;
        int r = listener_open(cases[i].ip, 0, &listener, &fault);

        if (cases[i].family == AF_INET6
            && (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT))
            continue; /* a machine without IPv6 */
        assert_int_equal(r, 0);
        assert_int_equal(family_of(listener.fd), cases[i].family);
        assert_in_range(tcp_address_port(&listener.address), 1, 65535);
        close(listener.fd);
    }
}

/* A connection that was ended from here leaves its port occupied for a minute.
 * It does not keep the port from its owner. */
static void takes_the_port_of_connections_that_were(void **state)
{
    listener_t listener;
    int port, fd = take_port(&port), client, server;
    char byte;

    (void) state;
    client = connect_port(port);
    server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(fd);
    close(server);
    assert_int_equal(read(client, &byte, 1), 0);
    close(client);
    listener = open_port(port);
    assert_int_equal(tcp_address_port(&listener.address), port);
    assert_reachable(listener.fd, port);
    close(listener.fd);
}

static void refuses_a_port_in_use(void **state)
{
    int port;
    cleanup_fd int fd = take_port(&port);
    cleanup_free char *named = mem_format(":%d: ", port);
    listener_t listener = {.fd = -2};
    fault_t fault;

    (void) state;
    assert_int_equal(listener_open("127.0.0.1", port, &listener, &fault),
                     -EADDRINUSE);
    assert_int_equal(listener.fd, -2);
    assert_non_null(strstr(fault.text, named));
}

static void tries_again_for_a_port_that_was_its_own(void **state)
{
    int port, fd = take_port(&port);
    listener_t listener = {.fd = -2};
    fault_t fault;

    (void) state;
    assert_int_equal(listener_reopen("127.0.0.1", port, &listener, &fault), 0);
    assert_int_equal(listener.fd, -1);
    assert_int_equal(tcp_address_port(&listener.address), port);
    assert_int_equal(listener_retry(&listener.address, &listener.fd),
                     -EADDRINUSE);
    assert_int_equal(listener.fd, -1);
    close(fd);
    assert_int_equal(listener_retry(&listener.address, &listener.fd), 0);
    assert_shut(listener.fd);
    assert_reachable(listener.fd, port);
    close(listener.fd);
}

static void reopens_a_port_that_is_free(void **state)
{
    int port, fd = take_port(&port);
    listener_t listener = {.fd = -1};
    fault_t fault;

    (void) state;
    close(fd);
    assert_int_equal(listener_reopen("127.0.0.1", port, &listener, &fault), 0);
    assert_reachable(listener.fd, port);
    close(listener.fd);
}

static void refuses_an_invalid_address(void **state)
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
        listener_t listener = {.fd = -2};
        fault_t fault = {0};

        assert_int_equal(listener_open(cases[i].ip, 0, &listener, &fault),
                         -cases[i].code);
        assert_true(strncmp(fault.text, "cannot bind tcp://", 18) == 0);
        /* Only a port that is taken is worth waiting for. */
        assert_int_equal(listener_reopen(cases[i].ip, 1, &listener, &fault),
                         -cases[i].code);
        assert_int_equal(listener.fd, -2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_free_port),
        cmocka_unit_test(knows_each_form_of_an_address),
        cmocka_unit_test(takes_the_port_of_connections_that_were),
        cmocka_unit_test(refuses_a_port_in_use),
        cmocka_unit_test(tries_again_for_a_port_that_was_its_own),
        cmocka_unit_test(reopens_a_port_that_is_free),
        cmocka_unit_test(refuses_an_invalid_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
