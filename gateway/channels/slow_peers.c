/* See slow_peers.h. libzmq owns the descriptors and closes them in its own
 * thread: each is looked at by a duplicate, which cannot become another's, and
 * counts only while its own address is the socket's. */
#include "gateway/channels/slow_peers.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <linux/sockios.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_un local;
} address_t;

/* Returns true if the descriptor is still a connection of the socket. */
static bool is_connection(const char *path, int fd)
{
    address_t name = {0}, peer = {0};
    socklen_t size = sizeof name, peer_size = sizeof peer;

    return getsockname(fd, &name.any, &size) == 0
           && name.any.sa_family == AF_UNIX
           && strncmp(path, name.local.sun_path, sizeof name.local.sun_path)
                  == 0
           && getpeername(fd, &peer.any, &peer_size) == 0;
}

void slow_peers_clear(slow_peers_t *self)
{
    free(self->fds);
    *self = (slow_peers_t){0};
}

void slow_peers_note(slow_peers_t *self, zmq_msg_t *message)
{
    int fd = zmq_msg_get(message, ZMQ_SRCFD);

    for (size_t i = 0; i < self->count; i++)
        if (self->fds[i] == fd)
            return;
    if (fd < 0)
        return;
    self->fds = mem_resize(self->fds, (self->count + 1) * sizeof *self->fds);
    self->fds[self->count++] = fd;
}

bool slow_peers_take(slow_peers_t *self, void *socket, zmsg_t *frames)
{
    bool is_more = false;
    zmq_msg_t frame;

    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= 0) {
        if (self)
            slow_peers_note(self, &frame);
        zmsg_addmem(frames, zmq_msg_data(&frame), zmq_msg_size(&frame));
        is_more = zmq_msg_more(&frame) != 0;
    }
    zmq_msg_close(&frame);
    return is_more;
}

unsigned slow_peers_disconnect(slow_peers_t *self, const char *path)
{
    size_t kept = 0;
    unsigned count = 0;

    for (size_t i = 0; i < self->count; i++) {
        cleanup_fd int fd = dup(self->fds[i]);
        int unsent = 0;

        if (fd < 0 || !is_connection(path, fd))
            continue;
        self->fds[kept++] = self->fds[i];
        if (ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0
            && shutdown(fd, SHUT_RDWR) == 0)
            count++;
    }
    self->count = kept;
    return count;
}
