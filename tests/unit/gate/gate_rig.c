/* See gate_rig.h. */
#include "tests/unit/gate/gate_rig.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/units.h"
#include "gateway/gate/listener.h"
#include "gateway/gate/traffic.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

_Atomic int64_t ahead_ms;
static _Atomic bool is_over; /* the test: time passes by itself */
pthread_mutex_t gate_may_go = PTHREAD_MUTEX_INITIALIZER;
static pthread_t test_thread;
atomic_uint gate_turns;

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    if (!pthread_equal(pthread_self(), test_thread)) {
        gate_turns++;
        pthread_mutex_lock(&gate_may_go);
        pthread_mutex_unlock(&gate_may_go);
    }
    if (is_over)
        ahead_ms += TRAFFIC_STOP_MS;
    return 1000 + ahead_ms;
}

gate_rig_t rig;

static int set_up_for(channel_t channel)
{
    listener_t listener;
    fault_t fault;

    ahead_ms = 0;
    test_thread = pthread_self();
    rig = (gate_rig_t){.memory = memory_budget_new(8 * MIB)};
    if (make_folder(NULL) < 0)
        return -1;
    rig.path = inside("z-1");
    return gate_new(rig.memory, &rig.gate, &fault) < 0
                   || fd_listen_unix(rig.path, &rig.inner, &fault) < 0
                   || listener_open("127.0.0.1", 0, &listener, &fault) < 0
                   || gate_open("some-session", channel, rig.path, listener,
                                &rig.port, &fault)
                          < 0
               ? -1
               : (rig.number = (int) tcp_address_port(&listener.address)) < 1;
}

int gate_rig_set_up(void **state)
{
    (void) state;
    return set_up_for(CHANNEL_SHELL);
}

int gate_rig_set_up_subscriptions(void **state)
{
    (void) state;
    return set_up_for(CHANNEL_IOPUB);
}

int gate_rig_tear_down(void **state)
{
    gate_close(&rig.port);
    /* A test that has failed leaves connections, for which the gate waits. */
    is_over = true;
    gate_destroy(&rig.gate);
    is_over = false;
    ahead_ms = 0;
    assert_int_equal(memory_budget_held(rig.memory), 0);
    memory_budget_destroy(&rig.memory);
    close(rig.inner);
    free(rig.path);
    return remove_folder(state);
}

int dial_port(int number)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr =
                                            htonl(INADDR_LOOPBACK),
                                        .sin_port = htons((uint16_t) number)};
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    return connect(fd, (const struct sockaddr *) &address, sizeof address) == 0
               ? take_fd(&fd)
               : -1;
}

int dial(void)
{
    int fd = dial_port(rig.number);

    assert_true(fd >= 0);
    return fd;
}

bool is_ready(int fd, int wait_ms)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};

    return poll(&item, 1, wait_ms) > 0;
}

bool is_writable(int fd, int wait_ms)
{
    struct pollfd item = {.fd = fd, .events = POLLOUT};

    return poll(&item, 1, wait_ms) > 0;
}

int answer(void)
{
    int fd;

    assert_true(is_ready(rig.inner, WAIT_MS));
    fd = accept4(rig.inner, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void say(int fd, const void *bytes, size_t size)
{
    fault_t fault;

    assert_int_equal(fd_write_all(fd, bytes, size, &fault), 0);
}

void hear(int fd, size_t size)
{
    char bytes[4096];

    while (size > 0) {
        size_t most = size < sizeof bytes ? size : sizeof bytes;
        ssize_t r;

        assert_true(is_ready(fd, WAIT_MS));
        r = read(fd, bytes, most);
        assert_true(r > 0);
        size -= (size_t) r;
    }
}

void assert_ended(int fd)
{
    char bytes[4096];
    ssize_t r;

    do {
        assert_true(is_ready(fd, WAIT_MS));
        r = read(fd, bytes, sizeof bytes);
    } while (r > 0);
    close(fd);
}

void greet(int fd)
{
    static const uint8_t greeting[ZMTP_GREETING] = {
        0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 'N', 'U', 'L', 'L'};

    say(fd, greeting, sizeof greeting);
    say(fd, "\4\x06\5READY", 8);
}

void begin_frame(int fd, unsigned flags, size_t size, size_t part)
{
    uint8_t header[9] = {(uint8_t) (flags | 2)};
    cleanup_free char *body = mem_new(part + 1);

    for (int i = 0; i < 8; i++)
        header[8 - i] = (uint8_t) (size >> (8 * i));
    say(fd, header, sizeof header);
    say(fd, body, part);
}
