/* See listener.h. */
#include "gateway/gate/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#define BACKLOG 100 /* libzmq's own */

/* Reads an address; one of IPv6 may have brackets. */
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

int listener_retry(tcp_address_t *address, int *ret_fd)
{
    return tcp_listen(address, BACKLOG, ret_fd);
}

static int open_at(const char *ip, int port, bool is_waited_for,
                   listener_t *ret_listener, fault_t *fault)
{
    listener_t self = {.fd = -1};
    int r = find_address(ip, &self.address);

    if (r == 0) {
        self.address.v4.sin_port = htons((uint16_t) port); /* and of v6 */
        r = listener_retry(&self.address, &self.fd);
    }
    if (r < 0 && !(is_waited_for && r == -EADDRINUSE))
        return explain(ip, port, -r, fault);
    *ret_listener = self;
    return 0;
}

int listener_open(const char *ip, int port, listener_t *ret_listener,
                  fault_t *fault)
{
    return open_at(ip, port, false, ret_listener, fault);
}

int listener_reopen(const char *ip, int port, listener_t *ret_listener,
                    fault_t *fault)
{
    return open_at(ip, port, port != 0, ret_listener, fault);
}
