/* See listener.h. */
#include "gateway/gate/listener.h"

#include "base/clock.h"
#include "base/tcp.h"

#include <arpa/inet.h>
#include <czmq.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#define BACKLOG  100  /* libzmq's own */
#define BIND_MS  5000 /* a port that is taken is waited for */
#define RETRY_MS 20

/* IPv6 addresses may have brackets. */
static int parse_number(const char *ip, tcp_address_t *ret_address)
{
    char plain[108];
    bool has_brackets = ip[0] == '[';

    snprintf(plain, sizeof plain, "%s", ip + (has_brackets ? 1 : 0));
    if (has_brackets)
        plain[strcspn(plain, "]")] = '\0';
    return tcp_address_set(ret_address, plain, 0);
}

static int find_interface(const char *name, tcp_address_t *ret_address)
{
    struct ifaddrs *all = NULL;
    int r = -ENODEV;

    if (getifaddrs(&all) < 0)
        return -errno;
    for (const struct ifaddrs *at = all; at && r < 0; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET
            || strcmp(at->ifa_name, name) != 0)
            continue;
        memcpy(&ret_address->v4, at->ifa_addr, sizeof ret_address->v4);
        r = 0;
    }
    freeifaddrs(all);
    return r;
}

static int find_address(const char *ip, tcp_address_t *ret_address)
{
    if (strcmp(ip, "*") == 0) {
        ret_address->v4 = (struct sockaddr_in){.sin_family = AF_INET};
        return 0;
    }
    return parse_number(ip, ret_address) == 0 ? 0
                                              : find_interface(ip, ret_address);
}

static int listen_at(const char *ip, int *port, int *ret_fd)
{
    tcp_address_t address = {0};
    int r = find_address(ip, &address);

    if (r < 0)
        return r;
    address.v4.sin_port = htons((uint16_t) *port); /* v6 has it there, too */
    if ((r = tcp_listen(&address, BACKLOG, ret_fd)) < 0)
        return r;
    *port = (int) tcp_address_port(&address);
    return 0;
}

static int explain(const char *ip, int port, int code, fault_t *fault)
{
    if (port == 0 && code == EADDRINUSE)
        return fault_set(fault, code,
                         "no port is free on this machine: widen "
                         "net.ipv4.ip_local_port_range or set "
                         "gateway/transport = ipc");
    return fault_set(fault, code, "cannot bind tcp://%s:%d: %s", ip, port,
                     strerror(code));
}

/* A port that was a session's can be another program's for a moment while there
 * is no gateway: that of an outgoing connection. */
int listener_open(const char *ip, int *port, int *ret_fd, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + (*port ? BIND_MS : 0);
    int r;

    while ((r = listen_at(ip, port, ret_fd)) == -EADDRINUSE
           && clock_monotonic_ms() <= deadline)
        zclock_sleep(RETRY_MS);
    return r < 0 ? explain(ip, *port, -r, fault) : 0;
}
