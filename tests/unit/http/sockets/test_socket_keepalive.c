/* When a WebSocket is pinged and vouched for: libwebsockets is replaced. */
#include "gateway/http/sockets/socket_keepalive.h"
#include "tests/lib/test.h"

#define HOUR_MS (3600 * 1000)

static unsigned vouched, pings;
static int outcome; /* of the next write */

void __wrap_lws_validity_confirmed(struct lws *wsi);
int __wrap_lws_write(struct lws *wsi, unsigned char *bytes, size_t size,
                     enum lws_write_protocol how);

void __wrap_lws_validity_confirmed(struct lws *wsi)
{
    (void) wsi;
    vouched++;
}

int __wrap_lws_write(struct lws *wsi, unsigned char *bytes, size_t size,
                     enum lws_write_protocol how)
{
    (void) wsi;
    (void) bytes;
    assert_int_equal(size, 0);
    assert_int_equal(how, LWS_WRITE_PING);
    pings++;
    return outcome;
}

static int begin(void **state)
{
    (void) state;
    vouched = pings = 0;
    outcome = 0;
    return 0;
}

static void pings_in_the_interval(void **state)
{
    socket_keepalive_t keepalive;

    (void) state;
    socket_keepalive_begin(&keepalive, 500, 1000);
    assert_false(socket_keepalive_tick(&keepalive, NULL, 500, 1499));
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_int_equal(pings, 0);
    assert_true(socket_keepalive_tick(&keepalive, NULL, 500, 1500));
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_int_equal(pings, 1);
    /* One ping is written once. */
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_int_equal(pings, 1);
    assert_false(socket_keepalive_tick(&keepalive, NULL, 500, 1999));
    assert_true(socket_keepalive_tick(&keepalive, NULL, 500, 2000));
}

static void does_not_ping_without_an_interval(void **state)
{
    socket_keepalive_t keepalive;

    (void) state;
    socket_keepalive_begin(&keepalive, 0, 1000);
    assert_false(socket_keepalive_tick(&keepalive, NULL, 0, 1000));
    assert_false(socket_keepalive_tick(&keepalive, NULL, 0, HOUR_MS));
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_int_equal(pings, 0);
}

static void a_reload_changes_the_interval_or_ends_the_pings(void **state)
{
    socket_keepalive_t keepalive;

    (void) state;
    socket_keepalive_begin(&keepalive, 500, 1000);
    assert_true(socket_keepalive_tick(&keepalive, NULL, 2000, 1500));
    assert_false(socket_keepalive_tick(&keepalive, NULL, 2000, 3499));
    assert_true(socket_keepalive_tick(&keepalive, NULL, 2000, 3500));
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_false(socket_keepalive_tick(&keepalive, NULL, 0, 5500));
    assert_false(socket_keepalive_tick(&keepalive, NULL, 0, 6500));
    assert_int_equal(socket_keepalive_write(&keepalive, NULL), 0);
    assert_int_equal(pings, 1);
}

static void vouches_at_once_and_each_hour(void **state)
{
    socket_keepalive_t keepalive;

    (void) state;
    socket_keepalive_begin(&keepalive, 0, 1000);
    (void) socket_keepalive_tick(&keepalive, NULL, 0, 1000);
    assert_int_equal(vouched, 1);
    (void) socket_keepalive_tick(&keepalive, NULL, 0, 999 + HOUR_MS);
    assert_int_equal(vouched, 1);
    (void) socket_keepalive_tick(&keepalive, NULL, 0, 1000 + HOUR_MS);
    assert_int_equal(vouched, 2);
}

static void a_ping_that_cannot_be_written_closes(void **state)
{
    socket_keepalive_t keepalive;

    (void) state;
    socket_keepalive_begin(&keepalive, 500, 1000);
    assert_true(socket_keepalive_tick(&keepalive, NULL, 500, 1500));
    outcome = -1;
    assert_true(socket_keepalive_write(&keepalive, NULL) < 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pings_in_the_interval, begin),
        cmocka_unit_test_setup(does_not_ping_without_an_interval, begin),
        cmocka_unit_test_setup(a_reload_changes_the_interval_or_ends_the_pings,
                               begin),
        cmocka_unit_test_setup(vouches_at_once_and_each_hour, begin),
        cmocka_unit_test_setup(a_ping_that_cannot_be_written_closes, begin),
    };

    return cmocka_run_group_tests_name("socket_keepalive", tests, NULL, NULL);
}
