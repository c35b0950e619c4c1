/* See net_stream.h. */
#include "gateway/cli/client/net_stream.h"

#include "base/clock.h"
#include "base/fd.h"

#include <openssl/err.h>

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void net_stream_close(net_stream_t *self)
{
    SSL_free(self->tls);
    if (self->fd >= 0)
        close(self->fd);
    *self = NET_STREAM_CLOSED;
}

/* --- Connecting --- */

#define FOREVER (-1)

/* Waits for the socket; false at the deadline, which may be FOREVER. */
static bool await(int fd, short events, int64_t deadline)
{
    struct pollfd one = {.fd = fd, .events = events};

    for (;;) {
        int64_t left = deadline - clock_monotonic_ms();
        int r = deadline == FOREVER ? poll(&one, 1, -1)
                : left > 0          ? poll(&one, 1, (int) left)
                                    : 0;
        if (r >= 0 || errno != EINTR)
            return r > 0;
    }
}

static int connect_one(const struct addrinfo *at, int64_t deadline)
{
    cleanup_fd int fd = socket(
        at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = 0;
    socklen_t size = sizeof code;

    if (fd < 0)
        return -errno;
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return take_fd(&fd);
    if (errno != EINPROGRESS)
        return -errno;
    if (!await(fd, POLLOUT, deadline))
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
        return -errno;
    return code ? -code : take_fd(&fd);
}

static int connect_to(const char *host, const char *port, int64_t deadline,
                      fault_t *fault)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int r = getaddrinfo(host, port, &hints, &found);

    if (r != 0)
        return fault_set(fault, EHOSTUNREACH, "%s: %s", host, gai_strerror(r));
    r = -ECONNREFUSED;
    for (const struct addrinfo *at = found; at && r < 0; at = at->ai_next)
        r = connect_one(at, deadline);
    freeaddrinfo(found);
    if (r < 0)
        return fault_set(fault, -r, "the gateway at %s:%s: %s", host, port,
                         strerror(-r));
    return r;
}

/* --- TLS --- */

/* Returns what OpenSSL waits for, or 0: it has failed. */
static short wish_of(const SSL *tls, int r)
{
    int error = SSL_get_error(tls, r);

    return error == SSL_ERROR_WANT_READ    ? POLLIN
           : error == SSL_ERROR_WANT_WRITE ? POLLOUT
                                           : 0;
}

static int shake_hands(net_stream_t *self, const tls_trust_t *trust,
                       const char *host, int64_t deadline, fault_t *fault)
{
    self->tls = tls_trust_connection(trust, host, &self->peer);
    if (!self->tls || SSL_set_fd(self->tls, self->fd) != 1)
        return fault_set(fault, EPROTO, "OpenSSL refuses the host %.100s",
                         host);
    for (;;) {
        ERR_clear_error();
        int r = SSL_connect(self->tls);
        short wish = r == 1 ? 0 : wish_of(self->tls, r);
        if (r == 1)
            return 0;
        if (!wish)
            return tls_trust_explain(self->tls, self->place, fault);
        if (!await(self->fd, wish, deadline))
            return fault_set(fault, ETIME,
                             "%s does not finish the handshake of TLS within "
                             "%d s",
                             self->place, NET_STREAM_CONNECT_MS / 1000);
    }
}

int net_stream_open(net_stream_t *self, const char *host, const char *port,
                    const tls_trust_t *trust_or_null, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + NET_STREAM_CONNECT_MS;
    int r = connect_to(host, port, deadline, fault);

    if (r < 0)
        return r;
    self->fd = r;
    snprintf(self->place, sizeof self->place, "%.100s:%.8s", host, port);
    r = trust_or_null ? shake_hands(self, trust_or_null, host, deadline, fault)
                      : 0;
    if (r < 0)
        net_stream_close(self);
    return r;
}

/* --- Bytes --- */

/* Sets the fault to why nothing more can be sent: a server that refuses sends
 * that before it closes. */
static int explain_end(net_stream_t *self, fault_t *fault)
{
    char byte;

    ERR_clear_error();
    (void) SSL_read(self->tls, &byte, 1);
    return tls_trust_explain(self->tls, self->place, fault);
}

/* Returns how much was sent; -EAGAIN and the events to wait for; or a
 * failure. */
static ssize_t send_some(net_stream_t *self, const void *bytes, size_t size,
                         short *ret_wish, fault_t *fault)
{
    *ret_wish = POLLOUT;
    if (!self->tls) {
        ssize_t sent = send(self->fd, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0)
            return sent;
        return errno == EAGAIN || errno == EINTR
                   ? -EAGAIN
                   : fault_set(fault, errno, "the gateway at %s: %s",
                               self->place, strerror(errno));
    }
    ERR_clear_error();
    int sent =
        SSL_write(self->tls, bytes, size > INT_MAX ? INT_MAX : (int) size);
    if (sent > 0)
        return sent;
    *ret_wish = wish_of(self->tls, sent);
    return *ret_wish ? -EAGAIN : explain_end(self, fault);
}

int net_stream_write(net_stream_t *self, const void *bytes, size_t size,
                     fault_t *fault)
{
    const uint8_t *at = bytes;
    short wish;

    while (size) {
        ssize_t sent = send_some(self, at, size, &wish, fault);
        if (sent < 0 && sent != -EAGAIN)
            return (int) sent;
        if (sent < 0)
            (void) await(self->fd, wish, FOREVER);
        at += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t) sent : 0;
    }
    return 0;
}

ssize_t net_stream_read(net_stream_t *self, void *bytes, size_t size,
                        fault_t *fault)
{
    if (!self->tls) {
        ssize_t got = read(self->fd, bytes, size);
        if (got >= 0)
            return got;
        return errno == EAGAIN || errno == EINTR
                   ? -EAGAIN
                   : fault_set(fault, ECONNRESET, "the gateway at %s: %s",
                               self->place, strerror(errno));
    }
    ERR_clear_error();
    int got = SSL_read(self->tls, bytes, size > INT_MAX ? INT_MAX : (int) size);
    if (got > 0)
        return got;
    if (wish_of(self->tls, got))
        return -EAGAIN;
    return SSL_get_error(self->tls, got) == SSL_ERROR_ZERO_RETURN
               ? 0
               : tls_trust_explain(self->tls, self->place, fault);
}

bool net_stream_has_more(const net_stream_t *self)
{
    return self->tls && SSL_pending(self->tls) > 0;
}
