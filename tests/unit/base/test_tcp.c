#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/tcp.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static void listens_at_an_address(void **state)
{
    cleanup_fd int listener = -1, client = -1, server = -1;
    tcp_address_t address, own = {0};
    socklen_t size = sizeof own;
    char peer[TCP_PEER_SIZE];

    (void) state;
    assert_int_equal(tcp_address_set(&address, "127.0.0.1", 0), 0);
    assert_int_equal(tcp_listen(&address, 1, &listener), 0);
    assert_in_range(tcp_address_port(&address), 1, 65535);
    assert_int_equal(fcntl(listener, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(listener, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, &address.any, sizeof address.v4), 0);
    assert_int_equal(getsockname(client, &own.any, &size), 0);
    server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server >= 0);
    tcp_peer(server, peer);
    cleanup_free char *expected =
        mem_format("127.0.0.1:%u", tcp_address_port(&own));
    assert_string_equal(peer, expected);
    tcp_peer(listener, peer);
    assert_string_equal(peer, "");
}

static void keeps_a_port_that_is_taken(void **state)
{
    cleanup_fd int one = -1, two = -1;
    tcp_address_t address;

    (void) state;
    assert_int_equal(tcp_address_set(&address, "127.0.0.1", 0), 0);
    assert_int_equal(tcp_listen(&address, 1, &one), 0);
    assert_int_equal(tcp_listen(&address, 1, &two), -EADDRINUSE);
    assert_int_equal(two, -1);
}

static void reads_both_families(void **state)
{
    static const char *const wrong[] = {"", "localhost", "1.2.3.4.5", "[::1]"};
    tcp_address_t address;

    (void) state;
    assert_int_equal(tcp_address_set(&address, "192.0.2.1", 65535), 0);
    assert_int_equal(address.any.sa_family, AF_INET);
    assert_int_equal(tcp_address_port(&address), 65535);
    assert_int_equal(tcp_address_set(&address, "2001:db8::1", 80), 0);
    assert_int_equal(address.any.sa_family, AF_INET6);
    assert_int_equal(tcp_address_port(&address), 80);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tcp_address_set(&address, wrong[i], 80), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listens_at_an_address),
        cmocka_unit_test(keeps_a_port_that_is_taken),
        cmocka_unit_test(reads_both_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
