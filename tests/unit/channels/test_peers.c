#include "gateway/channels/peers.h"

#include "base/buffer.h"

#include "tests/lib/folder.h"
#include "tests/lib/test.h"
#include "tests/unit/channels/raw_subscriber.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TRIES 100

typedef struct {
    zsock_t *socket;
    char *path;
    peers_t peers;
    int joined, left;
} rig_t;

static int make_server(void **state)
{
    rig_t *self = mem_new(sizeof *self);
    int on = 1;

    *state = self;
    if (make_folder(state) < 0)
        return -1;
    self->path = inside("iopub");
    self->socket = zsock_new(ZMQ_XPUB);
    zmq_setsockopt(zsock_resolve(self->socket), ZMQ_XPUB_VERBOSER, &on,
                   sizeof on);
    zsock_set_rcvtimeo(self->socket, 60000);
    return zsock_bind(self->socket, "ipc://%s", self->path) < 0;
}

static int end_server(void **state)
{
    rig_t *self = *state;

    peers_clear(&self->peers);
    zsock_destroy(&self->socket);
    free(self->path);
    free(self);
    return remove_folder(state);
}

/* Returns the client's end of a connection that has subscribed to nothing. */
static int connect_to(const rig_t *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", self->path);
    return raw_subscriber(&address, sizeof address);
}

/* Takes the next subscription, or the end of one. */
static void take(rig_t *self)
{
    zmq_msg_t message;
    bool is_new;

    zmq_msg_init(&message);
    assert_int_equal(zmq_msg_recv(&message, zsock_resolve(self->socket), 0), 1);
    is_new = *(const char *) zmq_msg_data(&message) == 1;
    peers_subscribe(&self->peers, &message, is_new);
    zmq_msg_close(&message);
}

static void subscribe(rig_t *self, int fd)
{
    static const char frame[] = {0, 1, 1};

    assert_int_equal(write(fd, frame, sizeof frame), sizeof frame);
    take(self);
}

static bool has_connection(const rig_t *self, int fd)
{
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;

    return getsockname(fd, (struct sockaddr *) &address, &size) == 0
           && strcmp(address.sun_path, self->path) == 0
           && getpeername(fd, (struct sockaddr *) &address, &size) == 0;
}

/* libzmq gives a closed connection's descriptor to the next one, which may be
 * there before the end of the first one is taken. */
static void a_connection_has_no_subscriptions_of_the_one_before(void **state)
{
    rig_t *self = *state;
    bool is_reused = false;

    for (int i = 0; i < TRIES && !is_reused; i++) {
        int client = connect_to(self), fd;

        subscribe(self, client);
        assert_int_equal(peers_subscribers(&self->peers, self->path), 1);
        fd = self->peers.peers[0].fd;
        close(client);
        while (has_connection(self, fd))
            zclock_sleep(1);
        client = connect_to(self);
        is_reused = has_connection(self, fd);
        take(self);
        assert_int_equal(peers_subscribers(&self->peers, self->path), 0);
        subscribe(self, client);
        assert_int_equal(peers_subscribers(&self->peers, self->path), 1);
        close(client);
        take(self);
        assert_int_equal(peers_subscribers(&self->peers, self->path), 0);
    }
    assert_true(is_reused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_connection_has_no_subscriptions_of_the_one_before, make_server,
            end_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
