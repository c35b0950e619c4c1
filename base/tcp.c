/* See tcp.h. */
#include "base/tcp.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool is_v4(const tcp_address_t *self)
{
    return self->any.sa_family == AF_INET;
}

static socklen_t size_of(const tcp_address_t *self)
{
    return is_v4(self) ? sizeof self->v4 : sizeof self->v6;
}

int tcp_address_set(tcp_address_t *self, const char *ip, unsigned port)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;

    if (!ip[0] || getaddrinfo(ip, NULL, &hints, &found) != 0)
        return -EINVAL;
    memcpy(self, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (is_v4(self))
        self->v4.sin_port = htons((uint16_t) port);
    else
        self->v6.sin6_port = htons((uint16_t) port);
    return 0;
}

unsigned tcp_address_port(const tcp_address_t *self)
{
    return ntohs(is_v4(self) ? self->v4.sin_port : self->v6.sin6_port);
}

int tcp_listen(tcp_address_t *address, int backlog, int *ret_fd)
{
    socklen_t size = size_of(address);
    const int on = 1;
    cleanup_fd int fd = socket(address->any.sa_family,
                               SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0
        || bind(fd, &address->any, size) < 0 || listen(fd, backlog) < 0
        || getsockname(fd, &address->any, &size) < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

void tcp_peer(int fd, char ret_text[TCP_PEER_SIZE])
{
    tcp_address_t peer = {0};
    socklen_t size = sizeof peer;
    char text[INET6_ADDRSTRLEN] = "";

    ret_text[0] = '\0';
    if (getpeername(fd, &peer.any, &size) < 0)
        return;
    if (is_v4(&peer))
        (void) inet_ntop(AF_INET, &peer.v4.sin_addr, text, sizeof text);
    else
        (void) inet_ntop(AF_INET6, &peer.v6.sin6_addr, text, sizeof text);
    snprintf(ret_text, TCP_PEER_SIZE, is_v4(&peer) ? "%s:%u" : "[%s]:%u", text,
             tcp_address_port(&peer));
}
