/* The ports of the gate: taken by another program, closed, and free again. */
#include "base/fd.h"
#include "gateway/gate/listener.h"
#include "tests/lib/test.h"
#include "tests/unit/gate/gate_rig.h"

#include <errno.h>
#include <fcntl.h>

/* A program that gets the port next does not wait for the gate's thread. */
static void frees_its_port_at_once(void **state)
{
    listener_t listener = {.fd = -1};
    fault_t fault;
    int r;

    (void) state;
    pthread_mutex_lock(&gate_may_go);
    gate_close(&rig.port);
    r = listener_open("127.0.0.1", rig.number, &listener, &fault);
    pthread_mutex_unlock(&gate_may_go);
    assert_int_equal(r, 0);
    close(listener.fd);
}

/* Opens a port that another program has, so that the gate looks at its ports.
 */
static gate_port_t *open_taken(listener_t *ret_other)
{
    gate_port_t *port = NULL;
    listener_t listener = {.fd = -1};
    fault_t fault;

    assert_int_equal(listener_open("127.0.0.1", 0, ret_other, &fault), 0);
    assert_int_equal(
        listener_reopen("127.0.0.1",
                        (int) tcp_address_port(&ret_other->address), &listener,
                        &fault),
        0);
    assert_int_equal(listener.fd, -1);
    assert_int_equal(
        gate_open("later", CHANNEL_SHELL, rig.path, listener, &port, &fault),
        0);
    return port;
}

static void await_looks(void)
{
    unsigned before = gate_turns;

    while (gate_turns - before < 3)
        assert_false(is_ready(rig.inner, 10));
}

/* Another program has the port while the gate begins. */
static void waits_for_a_port_that_is_taken(void **state)
{
    listener_t other;
    gate_port_t *port = open_taken(&other);
    int number = (int) tcp_address_port(&other.address), client, inner;

    (void) state;
    await_looks(); /* it has tried */
    close(other.fd);
    client = dial_port(number);
    for (int left = WAIT_MS / 10; client < 0 && left; left--) {
        assert_false(is_ready(rig.inner, 10));
        client = dial_port(number);
    }
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    gate_close(&port);
    assert_int_equal(dial_port(number), -1);
    close(client);
    close(inner);
}

/* Its connections go on, and the gate still looks at the ports. */
static void leaves_a_closed_port_closed(void **state)
{
    int client = dial(), inner, again;
    listener_t other;
    gate_port_t *port;

    (void) state;
    greet(client);
    inner = answer();
    hear(inner, GREETING);
    gate_close(&rig.port);
    port = open_taken(&other);
    await_looks();
    again = dial_port(rig.number);
    gate_close(&port);
    close(other.fd);
    close(client);
    close(inner);
    assert_int_equal(again, -1);
}

/* It was closed before it ever listened. */
static void forgets_a_port_that_it_waited_for(void **state)
{
    listener_t other;
    gate_port_t *port = open_taken(&other);
    bool listens;

    (void) state;
    pthread_mutex_lock(&gate_may_go);
    gate_port_vacate(port);
    close(other.fd);
    listens = gate_port_listen(port);
    pthread_mutex_unlock(&gate_may_go);
    gate_close(&port);
    assert_false(listens);
}

static void needs_a_gate(void **state)
{
    gate_port_t *port = NULL;
    fault_t fault;
    listener_t listener;

    (void) state;
    assert_int_equal(listener_open("127.0.0.1", 0, &listener, &fault), 0);
    assert_int_equal(
        gate_open("s", CHANNEL_SHELL, "/z", listener, &port, &fault),
        -ENOTCONN);
    assert_null(port);
    assert_int_equal(fcntl(listener.fd, F_GETFD), -1); /* it was taken */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_a_gate),
        RIGGED(frees_its_port_at_once),
        RIGGED(waits_for_a_port_that_is_taken),
        RIGGED(leaves_a_closed_port_closed),
        RIGGED(forgets_a_port_that_it_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
