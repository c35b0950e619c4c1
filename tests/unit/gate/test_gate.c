/* A client without the key, and a Unix socket in libzmq's place, which takes
 * what comes or does not: what the gate passes on, and its bounds. */
#include "base/fd.h"
#include "base/units.h"
#include "gateway/gate/traffic.h"
#include "tests/lib/test.h"
#include "tests/unit/gate/gate_rig.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void passes_bytes_on(void **state)
{
    int client = dial(), inner;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    say(client, "\0\5hello", 7);
    hear(inner, 7);
    say(inner, "back", 4);
    hear(client, 4);
    /* What was said before the end arrives. */
    say(client, "\0\3bye", 5);
    close(client);
    hear(inner, 5);
    assert_ended(inner);
    client = dial();
    greet(client);
    inner = answer();
    say(inner, "last", 4);
    close(inner);
    hear(client, 4);
    assert_ended(client);
}

/* More than any socket between the two holds, to a side that takes late. */
static void passes_much_on(void **state)
{
    const size_t size = 64 * MIB;
    cleanup_free char *bytes = mem_new(MIB);
    int client = dial(), inner;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    assert_int_equal(fd_set_nonblocking(inner, &(fault_t){0}), 0);
    for (size_t said = 0, heard = 0; heard < size;) {
        size_t left = size - said;
        ssize_t r =
            left > 0 ? write(inner, bytes, left < MIB ? left : MIB) : -1;

        said += r > 0 ? (size_t) r : 0;
        if (r < 0) {
            hear(client, MIB / 16);
            heard += MIB / 16;
        }
    }
    close(inner);
    assert_ended(client);
}

/* libzmq never sees it, and has no descriptor for it. */
static void keeps_other_protocols_out(void **state)
{
    int client = dial();

    (void) state;
    say(client, "GET / HTTP/1.0\r\n\r\n", 18);
    assert_ended(client);
    assert_false(is_ready(rig.inner, QUIET_MS));
}

static void waits_for_a_greeting_for_a_time(void **state)
{
    int silent = dial(), slow = dial(), good = dial(), inner;

    (void) state;
    say(slow, "\xff", 1);
    greet(good);
    inner = answer();
    assert_false(is_ready(silent, QUIET_MS));
    ahead_ms += TRAFFIC_GREETING_MS;
    assert_ended(silent);
    assert_ended(slow);
    assert_false(is_ready(good, 2 * QUIET_MS));
    close(good);
    hear(inner, GREETING);
    assert_ended(inner);
}

/* 8 MiB are the memory of messages: one client may have two thirds of it. */
static void ends_the_oldest_unfinished_message(void **state)
{
    int clients[4], inner[4];

    (void) state;
    for (int i = 0; i < 4; i++) {
        clients[i] = dial();
        greet(clients[i]);
        inner[i] = answer();
        hear(inner[i], GREETING);
        begin_frame(clients[i], 1, 2 * MIB, 3 * MIB / 2);
        hear(inner[i], 9 + 3 * MIB / 2);
        ahead_ms += 1000;
    }
    assert_ended(clients[0]);
    assert_ended(inner[0]);
    for (int i = 1; i < 4; i++)
        assert_false(is_ready(clients[i], QUIET_MS / 3));
    assert_in_range(memory_budget_held(rig.memory), 3 * MIB, 5 * MIB);
    for (int i = 1; i < 4; i++) {
        close(clients[i]);
        assert_ended(inner[i]);
    }
}

static bool is_heard(int fd)
{
    return is_ready(fd, QUIET_MS);
}

/* Whole messages: the owner has to take them before more is read. */
static void holds_a_port_whose_owner_is_slow(void **state)
{
    const size_t size = GATE_WAITING_MAX + 1;
    int client = dial(), inner;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    gate_port_leave(rig.port);
    for (int i = 0; i < 16; i++) {
        begin_frame(client, 0, MIB, MIB);
        hear(inner, 9 + MIB);
    }
    assert_true(gate_port_waiting(rig.port) > GATE_WAITING_MAX);
    say(client, "\0\1x", 3);
    ahead_ms += 60000;
    assert_false(is_heard(inner));
    assert_true(memory_budget_held(rig.memory) > 0);
    gate_port_looked(rig.port, true);
    gate_port_took(rig.port, size, 16);
    hear(inner, 3);
    close(client);
    assert_ended(inner);
}

/* libzmq has dropped it with a connection that it refused. */
static void forgets_what_is_lost(void **state)
{
    int client = dial(), inner;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    for (int i = 0; i < 16; i++) {
        begin_frame(client, 0, MIB, MIB);
        hear(inner, 9 + MIB);
    }
    say(client, "\0\1x", 3);
    ahead_ms += GATE_LOST_MS + 1;
    hear(inner, 3);
    close(client);
    assert_ended(inner);
}

/* No sum falls below zero, where it would hide what comes. */
static void counts_from_zero(void **state)
{
    (void) state;
    gate_port_took(rig.port, MIB, 1);
    gate_port_add(rig.port, 1000);
    assert_int_equal(gate_port_waiting(rig.port), 1000);
    gate_port_looked(rig.port, false);
    assert_int_equal(gate_port_waiting(rig.port), 0);
}

static void bounds_the_connections_of_a_port(void **state)
{
    int clients[GATE_PORT_LINKS_MAX], late;

    (void) state;
    for (int i = 0; i < GATE_PORT_LINKS_MAX; i++)
        clients[i] = dial();
    late = dial();
    assert_ended(late);
    close(clients[0]);
    close(clients[1]);
    for (int tries = 0; tries < WAIT_MS / 100; tries++) {
        late = dial();
        if (!is_ready(late, 100))
            break;
        close(late);
    }
    assert_false(is_ready(late, QUIET_MS));
    close(late);
    for (int i = 2; i < GATE_PORT_LINKS_MAX; i++)
        close(clients[i]);
}

static void bounds_subscriptions(void **state)
{
    int client = dial(), inner;
    uint8_t topic[258] = {0, 255, 1};

    (void) state;
    greet(client);
    inner = answer();
    for (int i = 0; i < 40; i++) {
        topic[3] = (uint8_t) i;
        (void) send(client, topic, 257, MSG_NOSIGNAL);
    }
    assert_ended(client);
    assert_ended(inner);
}

#define SUBSCRIPTION 3

/* Subscribes to all. */
static void subscribe(int client)
{
    say(client, "\0\1\1", SUBSCRIPTION);
}

/* Says to a subscriber as much as it does not take. */
static void stall(int inner)
{
    cleanup_free char *bytes = mem_new(MIB);
    fault_t fault;
    int waits = 0;

    assert_int_equal(fd_set_nonblocking(inner, &fault), 0);
    while (waits < 5) {
        if (write(inner, bytes, MIB) > 0)
            waits = 0;
        else
            waits += !is_writable(inner, QUIET_MS / 3);
    }
}

static void ends_a_subscriber_that_holds_up_the_others(void **state)
{
    int stalled = dial(), quick, inner, other;

    (void) state;
    greet(stalled);
    subscribe(stalled);
    inner = answer();
    stall(inner);
    /* As long as no other one is there, and the owner does not wait. */
    gate_port_wait(rig.port, true);
    ahead_ms += GATE_STALLED_MS;
    assert_false(is_writable(inner, 2 * QUIET_MS));
    gate_port_wait(rig.port, false);
    quick = dial();
    greet(quick);
    other = answer();
    assert_false(is_writable(inner, 2 * QUIET_MS));
    assert_int_equal(gate_port_take_ended(rig.port), 0);
    gate_port_wait(rig.port, true);
    /* One that has not subscribed is no other. */
    assert_false(is_writable(inner, 2 * QUIET_MS));
    assert_int_equal(gate_port_take_ended(rig.port), 0);
    subscribe(quick);
    assert_true(is_writable(inner, WAIT_MS)); /* it has ended */
    assert_int_equal(gate_port_take_ended(rig.port), 1);
    say(other, "more", 4);
    hear(quick, 4);
    close(inner);
    close(stalled);
    close(quick);
    hear(other, GREETING + SUBSCRIPTION);
    assert_ended(other);
}

/* A little, now and then, is enough. */
static void keeps_a_subscriber_that_is_slow(void **state)
{
    int slow = dial(), quick = dial(), inner, other;

    (void) state;
    greet(slow);
    subscribe(slow);
    inner = answer();
    stall(inner);
    greet(quick);
    subscribe(quick);
    other = answer();
    gate_port_wait(rig.port, true);
    for (int i = 0; i < 4; i++) {
        while (!is_writable(inner, 20))
            hear(slow, MIB / 16);
        stall(inner);
        ahead_ms += GATE_STALLED_MS - 100;
    }
    assert_int_equal(gate_port_take_ended(rig.port), 0);
    close(slow);
    close(inner);
    close(quick);
    hear(other, GREETING + SUBSCRIPTION);
    assert_ended(other);
}

/* As a test that has failed does. */
static void ends_with_connections_that_are_left(void **state)
{
    int client = dial();

    (void) state;
    greet(client);
    hear(answer(), GREETING);
}

static void ends_its_connections_with_the_inner_side(void **state)
{
    int client = dial(), inner, code;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    gate_close(&rig.port);
    do { /* the command is on its way */
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                      .sin_port = htons((uint16_t) rig.number)};
        int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = connect(late, (struct sockaddr *) &address, sizeof address);

        code = r < 0 ? errno : 0;
        close(late);
        /* One that was not accepted yet is reset when the port closes. */
    } while (!code || code == ECONNRESET);
    assert_int_equal(code, ECONNREFUSED);
    say(inner, "bye", 3);
    hear(client, 3);
    close(inner);
    assert_ended(client);
}

/* The path that it would lead to may soon be another socket's. */
static void ends_connections_that_have_not_begun(void **state)
{
    int silent = dial(), begun = dial(), good = dial(), inner;
    bool has_ended, has_stayed;

    (void) state;
    say(begun, "\xff", 1);
    greet(good);
    inner = answer();
    gate_close(&rig.port);
    has_ended = is_ready(silent, WAIT_MS) && is_ready(begun, WAIT_MS);
    has_stayed = !is_ready(good, QUIET_MS);
    /* Before the first assertion: the gate's end waits for connections. */
    close(silent);
    close(begun);
    close(good);
    hear(inner, GREETING);
    assert_ended(inner);
    assert_true(has_ended);
    assert_true(has_stayed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(passes_bytes_on),
        RIGGED(passes_much_on),
        RIGGED(keeps_other_protocols_out),
        RIGGED(waits_for_a_greeting_for_a_time),
        RIGGED(ends_the_oldest_unfinished_message),
        RIGGED(holds_a_port_whose_owner_is_slow),
        RIGGED(forgets_what_is_lost),
        RIGGED(counts_from_zero),
        RIGGED(bounds_the_connections_of_a_port),
        cmocka_unit_test_setup_teardown(bounds_subscriptions,
                                        gate_rig_set_up_subscriptions,
                                        gate_rig_tear_down),
        cmocka_unit_test_setup_teardown(
            ends_a_subscriber_that_holds_up_the_others,
            gate_rig_set_up_subscriptions, gate_rig_tear_down),
        cmocka_unit_test_setup_teardown(keeps_a_subscriber_that_is_slow,
                                        gate_rig_set_up_subscriptions,
                                        gate_rig_tear_down),
        RIGGED(ends_with_connections_that_are_left),
        RIGGED(ends_its_connections_with_the_inner_side),
        RIGGED(ends_connections_that_have_not_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
