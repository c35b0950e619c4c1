/* TCP sockets by numeric addresses. */
#ifndef HEARTH_BASE_TCP_H
#define HEARTH_BASE_TCP_H

#include <netinet/in.h>
#include <sys/socket.h>

#define TCP_PEER_SIZE 64

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} tcp_address_t;

/* Reads an IPv4 or IPv6 address; the second may have a scope. -EINVAL if it is
 * neither. */
int tcp_address_set(tcp_address_t *self, const char *ip, unsigned port);
unsigned tcp_address_port(const tcp_address_t *self);

/* Opens a socket that listens there, non-blocking and close-on-exec. What
 * remains of earlier connections does not hold the port. If the port is 0, the
 * system chooses one, and it is filled in. */
int tcp_listen(tcp_address_t *address, int backlog, int *ret_fd);
/* Writes the address and port of a connection's client; "" if it has gone. */
void tcp_peer(int fd, char ret_text[TCP_PEER_SIZE]);

#endif
