/* See listener.h. We accept ourselves, so that the number of connections is
 * bounded before libwebsockets spends anything on one. */
#include "gateway/http/core/listener.h"

#include "base/fd.h"
#include "gateway/config/state_files.h"
#include "gateway/http/core/header_overflow.h"

#include <arpa/inet.h>
#include <sodium.h>

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define ACCEPTS 64 /* in a row, then others have their turn */
/* Silence after which a client is asked for, at most, and how often in that
 * time when it does not answer. */
#define PEER_IDLE_S 60
#define PROBES      4

/* --- Binding --- */

static int bind_port(const char *ip, unsigned port, int *ret_fd)
{
    struct sockaddr_in six_or_four = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t) port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons((uint16_t) port)};
    const struct sockaddr *address = (const struct sockaddr *) &six_or_four;
    socklen_t size = sizeof six_or_four;
    int yes = 1;

    if (inet_pton(AF_INET, ip, &six_or_four.sin_addr) != 1) {
        if (inet_pton(AF_INET6, ip, &six.sin6_addr) != 1)
            return -EINVAL;
        address = (const struct sockaddr *) &six;
        size = sizeof six;
    }
    cleanup_fd int fd = socket(address->sa_family,
                               SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, address, size) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

static int bound_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {0};
    socklen_t size = sizeof address;

    if (getsockname(fd, &address.any, &size) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port
                                                   : address.four.sin_port);
}

int entrance_bind(http_t *self, fault_t *fault)
{
    const options_http_t *options = &self->options->http;
    unsigned port = (unsigned) options->port;
    int r = bind_port(options->ip, port, &self->listener);

    for (unsigned i = 1;
         r == -EADDRINUSE && i <= options->port_retries && port + i <= 65535;
         i++)
        r = bind_port(options->ip, port + i, &self->listener);
    if (r == -EADDRINUSE && options->port_retries)
        r = bind_port(options->ip, 0, &self->listener);
    if (r < 0)
        return fault_set(fault, -r, "HTTP on %s port %u: %s", options->ip, port,
                         strerror(-r));
    self->port = bound_port(self->listener);
    return 0;
}

/* --- Telling where --- */

char *entrance_url(const http_t *self)
{
    const options_http_t *options = &self->options->http;
    bool is_six = strchr(options->ip, ':');

    return mem_format("%s://%s%s%s:%d%s",
                      options->certificate ? "https" : "http",
                      is_six ? "[" : "", options->ip, is_six ? "]" : "",
                      self->port, options->base_url);
}

static char *told_path(const http_t *self)
{
    return mem_format("%s/%s", self->options->runtime_dir, GATEWAY_HTTP_FILE);
}

int entrance_tell(const http_t *self, fault_t *fault)
{
    cleanup_free char *path = told_path(self);
    json_auto_t *told = json_pack("{s:s,s:i,s:i}", "url", self->url, "port",
                                  self->port, "pid", (int) getpid());
    int r;

    if (!auth_is_open(self->auth))
        json_object_set_new(told, "token", json_string(auth_token(self->auth)));
    cleanup_free char *text = json_dumps(told, JSON_INDENT(1));
    r = file_replace(path, 0600, text, strlen(text), fault);
    sodium_memzero(text, strlen(text));
    return r;
}

void entrance_hide(const http_t *self)
{
    cleanup_free char *path = told_path(self);

    (void) unlink(path);
}

/* --- Accepting --- */

static void refuse_connection(int fd)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Content-Length: 76\r\nConnection: close\r\n\r\n"
        "{\"message\":\"Too many connections; try again\","
        "\"reason\":\"Service Unavailable\"}";

    (void) send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static int seconds(int64_t ms)
{
    if (ms < 1000)
        return 1;
    return ms < PEER_IDLE_S * 1000 ? (int) (ms / 1000) : PEER_IDLE_S;
}

/* Small frames follow each other: Nagle's algorithm would wait for
 * acknowledgements that clients delay by 40 ms. A peer that is gone without a
 * word is asked for when it is silent, and given up when it acknowledges
 * nothing; TCP alone would try for a quarter of an hour, or never notice. */
static void tune(const http_t *self, int fd)
{
    const int64_t gone_ms = self->options->http.peer_timeout_ms;
    const unsigned gone = (unsigned) gone_ms;
    const int yes = 1, idle = seconds(gone_ms / (PROBES + 1)),
              interval = seconds(idle * 1000 / PROBES);

    (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
                      sizeof interval);
    (void) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone, sizeof gone);
}

void entrance_accept(http_t *self)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd =
            accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (self->connections >= self->room) {
            refuse_connection(fd);
            continue;
        }
        tune(self, fd);
        /* It closes the descriptor when it fails. */
        struct lws *wsi = lws_adopt_socket_vhost(self->vhost, fd);
        if (!wsi)
            continue;
        connection_t *connection = mem_new(sizeof *connection);
        connection->is_counted = true;
        self->connections++;
        lws_set_opaque_user_data(wsi, connection);
        oversize_watch(self, connection, wsi);
    }
}
