/* See bind.h. */
#include "gateway/channels/bind.h"

#include "base/clock.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

#define BACKLOG  100  /* libzmq's own */
#define BIND_MS  5000 /* a port that is taken is waited for */
#define RETRY_MS 20

static bool is_ipv4(const char *ip)
{
    struct in_addr address;

    return inet_pton(AF_INET, ip, &address) == 1;
}

/* `*port` 0: any, and told which. */
static int open_listener(const char *ip, int *port, int *ret_fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t) *port)};
    socklen_t size = sizeof address;
    const int on = 1;
    cleanup_fd int fd =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (inet_pton(AF_INET, ip, &address.sin_addr) != 1)
        return -EINVAL;
    /* What remains of earlier connections does not hold the port. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0
        || bind(fd, (struct sockaddr *) &address, size) < 0
        || listen(fd, BACKLOG) < 0
        || getsockname(fd, (struct sockaddr *) &address, &size) < 0)
        return -errno;
    *port = ntohs(address.sin_port);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int explain_bind(const char *endpoint, bool is_any, int code,
                        fault_t *fault)
{
    if (is_any && code == EADDRINUSE)
        return fault_set(fault, code,
                         "no port is free on this machine: widen "
                         "net.ipv4.ip_local_port_range or set "
                         "gateway/transport = ipc");
    return fault_set(fault, code, "cannot bind %s: %s", endpoint,
                     zmq_strerror(code));
}

/* By a listening socket of ours where that can be; it is libzmq's then. */
static int bind_listener(void *socket, const connection_t *connection,
                         const char *endpoint, int *port)
{
    cleanup_fd int fd = -1;
    int r = open_listener(connection->ip, port, &fd);

    if (r < 0)
        return r;
    if (zmq_setsockopt(socket, ZMQ_USE_FD, &fd, sizeof fd) < 0
        || zmq_bind(socket, endpoint) < 0)
        return -zmq_errno();
    (void) take_fd(&fd);
    return 0;
}

static int bind_here(void *socket, const connection_t *connection,
                     const char *endpoint, int *port)
{
    if (strcmp(connection->transport, "tcp") == 0 && is_ipv4(connection->ip))
        return bind_listener(socket, connection, endpoint, port);
    return zmq_bind(socket, endpoint) < 0 ? -zmq_errno() : 0;
}

/* A port that was a session's can be somebody's for a moment while there is
 * no gateway: that of an outgoing connection. */
static int bind_patiently(void *socket, const connection_t *connection,
                          const char *endpoint, int *port)
{
    int64_t deadline = clock_monotonic_ms() + (*port ? BIND_MS : 0);
    int r;

    while ((r = bind_here(socket, connection, endpoint, port)) == -EADDRINUSE
           && clock_monotonic_ms() <= deadline)
        zclock_sleep(RETRY_MS);
    return r;
}

/* What libzmq chose, when it was to choose. */
static int find_port(zsock_t *socket, int *port, fault_t *fault)
{
    cleanup_free char *bound = zsock_last_endpoint(socket);
    const char *colon = bound ? strrchr(bound, ':') : NULL;

    if (!colon)
        return fault_set(fault, EIO, "a socket that was bound has no port");
    *port = (int) strtol(colon + 1, NULL, 10);
    return 0;
}

int listener_bind(zsock_t *socket, connection_t *connection, channel_t channel,
                  fault_t *fault)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    int *port = &connection->ports[channel];
    bool is_tcp = strcmp(connection->transport, "tcp") == 0;
    bool is_any = is_tcp && *port == 0;
    int r;

    connection_endpoint(connection, channel, endpoint);
    /* libzmq's own wildcard: czmq's sweeps the port range and costs 50 ms. */
    if (is_any)
        snprintf(endpoint, sizeof endpoint, "tcp://%s:*", connection->ip);
    r = bind_patiently(zsock_resolve(socket), connection, endpoint, port);
    if (r < 0)
        return explain_bind(endpoint, is_any, -r, fault);
    return is_any && *port == 0 ? find_port(socket, port, fault) : 0;
}
