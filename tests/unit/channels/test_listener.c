/* Time is the test's own: a wait costs none, and something may happen in it. */
#include "gateway/gate/listener.h"
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

static void finds_a_free_port(void **state)
{
    cleanup_fd int one = -1, two = -1;
    int port = 0, other = 0;
    fault_t fault;

    (void) state;
    assert_int_equal(listener_open("127.0.0.1", &port, &one, &fault), 0);
    assert_int_equal(listener_open("127.0.0.1", &other, &two, &fault), 0);
    assert_in_range(port, 1, 65535);
    assert_int_not_equal(port, other);
    assert_shut(one);
    assert_reachable(one, port);
    assert_reachable(two, other);
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
        cleanup_fd int fd = -1;
        int port = 0;
        fault_t fault;
        int r = listener_open(cases[i].ip, &port, &fd, &fault);

        if (cases[i].family == AF_INET6
            && (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT))
            continue; /* a machine without IPv6 */
        assert_int_equal(r, 0);
        assert_int_equal(family_of(fd), cases[i].family);
        assert_in_range(port, 1, 65535);
    }
}

/* A connection that was ended from here leaves its port occupied for a minute.
 * It is no reason to wait. */
static void takes_the_port_of_connections_that_were(void **state)
{
    cleanup_fd int listener = -1;
    int port, given;
    int64_t begun = now_ms;
    int fd = take_port(&port), client, server;
    fault_t fault;
    char byte;

    (void) state;
    client = connect_port(port);
    server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    close(fd);
    close(server);
    assert_int_equal(read(client, &byte, 1), 0);
    close(client);
    given = port;
    assert_int_equal(listener_open("127.0.0.1", &port, &listener, &fault), 0);
    assert_int_equal(port, given);
    assert_int_equal(now_ms, begun);
    assert_reachable(listener, port);
}

static void waits_for_a_port_in_use(void **state)
{
    cleanup_fd int listener = -1;
    int port;
    fault_t fault;

    (void) state;
    release = take_port(&port);
    release_ms = now_ms + 4000;
    assert_int_equal(listener_open("127.0.0.1", &port, &listener, &fault), 0);
    assert_int_equal(release, -1);
    assert_in_range(now_ms, release_ms, release_ms + 100);
    assert_reachable(listener, port);
}

static void does_not_wait_for_ever(void **state)
{
    int64_t begun = now_ms;
    int port;
    cleanup_fd int fd = take_port(&port), listener = -1;
    cleanup_free char *named = mem_format(":%d: ", port);
    fault_t fault;

    (void) state;
    assert_int_equal(listener_open("127.0.0.1", &port, &listener, &fault),
                     -EADDRINUSE);
    assert_in_range(now_ms, begun + 5000, begun + 5100);
    assert_non_null(strstr(fault.text, named));
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
        int64_t begun = now_ms;
        int port = 0, fd = -1;
        fault_t fault = {0};

        assert_int_equal(listener_open(cases[i].ip, &port, &fd, &fault),
                         -cases[i].code);
        assert_true(strncmp(fault.text, "cannot bind tcp://", 18) == 0);
        assert_int_equal(port, 0);
        assert_int_equal(fd, -1);
        /* Only a port that is taken is worth waiting for. */
        assert_int_equal(now_ms, begun);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_a_free_port, set_up),
        cmocka_unit_test_setup(knows_each_form_of_an_address, set_up),
        cmocka_unit_test_setup(takes_the_port_of_connections_that_were, set_up),
        cmocka_unit_test_setup(waits_for_a_port_in_use, set_up),
        cmocka_unit_test_setup(does_not_wait_for_ever, set_up),
        cmocka_unit_test_setup(refuses_an_invalid_address, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
