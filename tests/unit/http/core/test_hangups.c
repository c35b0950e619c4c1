/* Connections that are not read, and whose clients close them. */
#include "gateway/http/core/hangups.h"

#include "base/fd.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <sys/socket.h>

typedef struct {
    int own, client;
} socket_pair_t;

static hangups_t *hangups;

static socket_pair_t connect_one(void)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                     0);
    return (socket_pair_t){pair[0], pair[1]};
}

static void close_both(const socket_pair_t *connection)
{
    close(connection->own);
    if (connection->client >= 0)
        close(connection->client);
}

static bool is_readable(void)
{
    struct pollfd look = {hangups_fd(hangups), POLLIN, 0};

    return poll(&look, 1, 0) == 1;
}

static int begin(void **state)
{
    fault_t fault;

    (void) state;
    return hangups_new(&hangups, &fault);
}

static int end(void **state)
{
    (void) state;
    hangups_destroy(&hangups);
    return 0;
}

static void reports_a_closed_connection_once(void **state)
{
    socket_pair_t one = connect_one(), other = connect_one();

    (void) state;
    hangups_watch(hangups, one.own, &one);
    hangups_watch(hangups, other.own, &other);
    assert_false(is_readable());
    assert_null(hangups_next(hangups));
    close(one.client);
    one.client = -1;
    assert_true(is_readable());
    assert_ptr_equal(hangups_next(hangups), &one);
    assert_null(hangups_next(hangups));
    assert_false(is_readable());
    close_both(&one);
    close_both(&other);
}

/* A next request, or a part of one, is no end. */
static void what_a_client_sends_is_no_end(void **state)
{
    socket_pair_t one = connect_one();

    (void) state;
    hangups_watch(hangups, one.own, &one);
    assert_int_equal(write(one.client, "GET", 3), 3);
    assert_false(is_readable());
    assert_int_equal(shutdown(one.client, SHUT_WR), 0);
    assert_ptr_equal(hangups_next(hangups), &one);
    close_both(&one);
}

static void what_was_closed_before_is_reported(void **state)
{
    socket_pair_t one = connect_one();

    (void) state;
    assert_int_equal(shutdown(one.client, SHUT_WR), 0);
    hangups_watch(hangups, one.own, &one);
    assert_ptr_equal(hangups_next(hangups), &one);
    /* It can be watched again. */
    hangups_forget(hangups, one.own);
    hangups_watch(hangups, one.own, &one);
    assert_ptr_equal(hangups_next(hangups), &one);
    close_both(&one);
}

static void what_is_forgotten_is_not_reported(void **state)
{
    socket_pair_t one = connect_one();

    (void) state;
    hangups_watch(hangups, one.own, &one);
    close(one.client);
    one.client = -1;
    hangups_forget(hangups, one.own);
    assert_false(is_readable());
    assert_null(hangups_next(hangups));
    close_both(&one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reports_a_closed_connection_once),
        TEST(what_a_client_sends_is_no_end),
        TEST(what_was_closed_before_is_reported),
        TEST(what_is_forgotten_is_not_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
