/* See slow_peers.h. libzmq owns the descriptors and closes them in its own
 * thread: each is looked at by a duplicate, which cannot become another's. */
#include "gateway/channels/slow_peers.h"

#include "base/cleanup.h"
#include "protocol/channel.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
} address_t;

static bool is_of(const connection_t *connection, channel_t channel,
                  const address_t *name)
{
    char path[CONNECTION_ENDPOINT_SIZE];
    int port = connection->ports[channel];

    if (strcmp(connection->transport, "tcp") == 0)
        return (name->any.sa_family == AF_INET
                && ntohs(name->v4.sin_port) == port)
               || (name->any.sa_family == AF_INET6
                   && ntohs(name->v6.sin6_port) == port);
    connection_endpoint(connection, channel, path);
    return name->any.sa_family == AF_UNIX
           && strcmp(path + strlen("ipc://"), name->local.sun_path) == 0;
}

/* Connected, and something that was written waits for the peer. */
static bool is_stuck(const connection_t *connection, channel_t channel, int fd)
{
    address_t name = {0}, peer = {0};
    socklen_t size = sizeof name, peer_size = sizeof peer;
    int unsent = 0;

    return getsockname(fd, &name.any, &size) == 0
           && is_of(connection, channel, &name)
           && getpeername(fd, &peer.any, &peer_size) == 0
           && ioctl(fd, SIOCOUTQ, &unsent) == 0 && unsent > 0;
}

unsigned peers_cut(const connection_t *connection, channel_t channel)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *item;
    unsigned count = 0;

    while (folder && (item = readdir(folder))) {
        cleanup_fd int fd = item->d_name[0] == '.'
                                ? -1
                                : dup((int) strtol(item->d_name, NULL, 10));

        if (fd >= 0 && is_stuck(connection, channel, fd)
            && shutdown(fd, SHUT_RDWR) == 0)
            count++;
    }
    if (folder)
        closedir(folder);
    return count;
}
