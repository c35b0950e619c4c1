/* The kernel watches a client's connection: when it probes a silent one, and
 * when it gives it up. The time is the kernel's. */
#include "gateway/http/server/listener.h"

#include "base/fd.h"

#include "tests/lib/test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int accepted = -1; /* the client's connection, as the gateway has it */

struct lws *__wrap_lws_adopt_socket_vhost(struct lws_vhost *vhost,
                                          lws_sockfd_type fd);

/* libwebsockets closes the descriptor if it does not take it: the test does. */
struct lws *__wrap_lws_adopt_socket_vhost(struct lws_vhost *vhost,
                                          lws_sockfd_type fd)
{
    (void) vhost;
    accepted = fd;
    return NULL;
}

static int option(int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    assert_int_equal(getsockopt(accepted, level, name, &value, &size), 0);
    return value;
}

/* Accepts a client of a gateway with that peer_timeout. */
static void accept_with(int64_t peer_timeout_ms)
{
    char ip[] = "127.0.0.1";
    options_t options = {
        .http = {.ip = ip, .peer_timeout_ms = peer_timeout_ms}};
    server_t server = {.http = {.options = &options, .connections = {.max = 1}},
                       .listener = -1};
    struct sockaddr_in address = {.sin_family = AF_INET};
    cleanup_fd int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fault_t fault;

    assert_int_equal(listener_bind(&server, &fault), 0);
    address.sin_port = htons((uint16_t) server.http.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(
        connect(client, (const struct sockaddr *) &address, sizeof address), 0);
    listener_accept(&server);
    close(server.listener);
    assert_true(accepted >= 0);
    assert_int_equal(option(SOL_SOCKET, SO_KEEPALIVE), 1);
}

static void end_client(void)
{
    close(accepted);
    accepted = -1;
}

static void a_silent_client_is_probed_after_a_minute_at_the_latest(void **state)
{
    static const struct {
        int64_t timeout_ms;
        int idle_s, interval_s;
    } rows[] = {
        {1000, 1, 1},       {10000, 2, 1},    {120000, 24, 6},
        {299995, 59, 14},   {300000, 60, 15}, {305000, 60, 15},
        {86400000, 60, 15},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        accept_with(rows[i].timeout_ms);
        assert_int_equal(option(IPPROTO_TCP, TCP_KEEPIDLE), rows[i].idle_s);
        assert_int_equal(option(IPPROTO_TCP, TCP_KEEPINTVL),
                         rows[i].interval_s);
        end_client();
    }
}

static void a_client_that_acknowledges_nothing_is_given_up(void **state)
{
    (void) state;
    accept_with(45000);
    assert_int_equal(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 45000);
    end_client();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_silent_client_is_probed_after_a_minute_at_the_latest),
        cmocka_unit_test(a_client_that_acknowledges_nothing_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
