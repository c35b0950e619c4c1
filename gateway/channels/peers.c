/* See peers.h. libzmq owns the descriptors and closes them in its own thread:
 * each is looked at by a duplicate, which cannot become another's, and counts
 * only while its own address is the socket's. */
#include "gateway/channels/peers.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <linux/sockios.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

static ino_t inode_of(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

void peers_clear(peers_t *self)
{
    free(self->peers);
    *self = (peers_t){0};
}

/* Returns the place of that descriptor, which is added if there is none. */
static peer_t *place_of(peers_t *self, int fd)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->peers[i].fd == fd)
            return &self->peers[i];
    self->peers =
        mem_resize(self->peers, (self->count + 1) * sizeof *self->peers);
    self->peers[self->count] = (peer_t){.fd = fd};
    return &self->peers[self->count++];
}

/* Returns the message's connection, which is noted if it is new; NULL if the
 * message names none. */
static peer_t *note(peers_t *self, zmq_msg_t *message)
{
    int fd = zmq_msg_get(message, ZMQ_SRCFD);
    peer_t *peer = fd < 0 ? NULL : place_of(self, fd);
    ino_t inode = inode_of(fd);

    if (peer && peer->inode != inode)
        *peer = (peer_t){.fd = fd, .inode = inode};
    return peer;
}

bool peers_take(peers_t *self, void *socket, zmsg_t *frames)
{
    bool is_more = false;
    zmq_msg_t frame;

    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) >= 0) {
        if (self)
            (void) note(self, &frame);
        zmsg_addmem(frames, zmq_msg_data(&frame), zmq_msg_size(&frame));
        is_more = zmq_msg_more(&frame) != 0;
    }
    zmq_msg_close(&frame);
    return is_more;
}

/* Forgets the connections that have ended. */
static void forget_ended(peers_t *self, const char *path)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        cleanup_fd int fd = dup(self->peers[i].fd);

        if (fd >= 0 && inode_of(fd) == self->peers[i].inode
            && is_connection(path, fd))
            self->peers[kept++] = self->peers[i];
    }
    self->count = kept;
    self->has_ended = false;
}

/* Counts subscriptions. A connection's end ends its subscriptions: libzmq
 * closes the descriptor, and then reports each of them without one. There may
 * be many, so the connections are looked at once for all, when they are
 * counted. */
void peers_subscribe(peers_t *self, zmq_msg_t *message, bool is_new)
{
    peer_t *peer = note(self, message);

    if (!peer)
        self->has_ended = true;
    else if (is_new)
        peer->subscriptions++;
    else if (peer->subscriptions)
        peer->subscriptions--;
}

unsigned peers_subscribers(peers_t *self, const char *path)
{
    unsigned count = 0;

    if (self->has_ended)
        forget_ended(self, path);
    for (size_t i = 0; i < self->count; i++)
        count += self->peers[i].subscriptions > 0;
    return count;
}

unsigned peers_disconnect_slow(peers_t *self, const char *path)
{
    unsigned count = 0;

    forget_ended(self, path);
    for (size_t i = 0; i < self->count; i++) {
        cleanup_fd int fd = dup(self->peers[i].fd);
        int unsent = 0;

        if (fd >= 0 && is_connection(path, fd)
            && ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0
            && shutdown(fd, SHUT_RDWR) == 0)
            count++;
    }
    return count;
}
