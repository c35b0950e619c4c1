/* See listener.h. Connections are accepted here, so that their number is
 * bounded before libwebsockets spends memory on one. */
#include "gateway/http/server/listener.h"

#include "base/fd.h"
#include "base/tcp.h"
#include "gateway/config/state_files.h"
#include "gateway/http/server/connection.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024
#define ACCEPTS 64 /* in a row, before other events are served */
/* The silence after which the kernel probes a client, and how many probes it
 * sends in that time. */
#define PEER_IDLE_S 60
#define PROBES      4

/* --- Binding --- */

static int bind_port(const char *ip, unsigned port, tcp_address_t *ret_address,
                     int *ret_fd)
{
    int r = tcp_address_set(ret_address, ip, port);

    return r < 0 ? r : tcp_listen(ret_address, BACKLOG, ret_fd);
}

int listener_bind(server_t *self, fault_t *fault)
{
    const options_http_t *options = &self->http.options->http;
    unsigned port = (unsigned) options->port;
    tcp_address_t address;
    int r = bind_port(options->ip, port, &address, &self->listener);

    for (unsigned i = 1;
         r == -EADDRINUSE && i <= options->port_retries && port + i <= 65535;
         i++)
        r = bind_port(options->ip, port + i, &address, &self->listener);
    if (r == -EADDRINUSE && options->port_retries)
        r = bind_port(options->ip, 0, &address, &self->listener);
    if (r < 0)
        return fault_set(fault, -r, "HTTP on %s port %u: %s", options->ip, port,
                         strerror(-r));
    self->http.port = (int) tcp_address_port(&address);
    return 0;
}

/* --- Addresses --- */

char *listener_url(const server_t *self)
{
    const options_http_t *options = &self->http.options->http;
    bool is_six = strchr(options->ip, ':');

    return mem_format("%s://%s%s%s:%d%s",
                      options->certificate ? "https" : "http",
                      is_six ? "[" : "", options->ip, is_six ? "]" : "",
                      self->http.port, options->base_url);
}

static char *url_file_path(const server_t *self)
{
    return mem_format("%s/%s", self->http.options->runtime_dir,
                      GATEWAY_HTTP_FILE);
}

int listener_publish_url(const server_t *self, fault_t *fault)
{
    cleanup_free char *path = url_file_path(self);
    json_auto_t *description =
        json_pack("{s:s,s:i,s:i}", "url", self->http.url, "port",
                  self->http.port, "pid", (int) getpid());
    int r;

    if (!tokens_is_open(self->http.tokens))
        json_object_set_new(description, "token",
                            json_string(tokens_token(self->http.tokens)));
    cleanup_free char *text = json_dumps(description, JSON_INDENT(1));
    r = file_replace(path, 0600, text, strlen(text), fault);
    sodium_memzero(text, strlen(text));
    return r;
}

void listener_discover(const server_t *self, discovery_t *discovery_or_null)
{
    const options_http_t *options = &self->http.options->http;
    const discovery_server_t server = {
        .url = self->http.url,
        .ip = options->ip,
        .base_url = options->base_url,
        .token = tokens_is_open(self->http.tokens)
                     ? ""
                     : tokens_token(self->http.tokens),
        .port = self->http.port,
        .is_secure = options->certificate != NULL,
    };

    discovery_publish_server(discovery_or_null, &server);
}

void listener_remove_url(const server_t *self)
{
    cleanup_free char *path = url_file_path(self);

    (void) unlink(path);
}

/* --- Accepting --- */

static void refuse_connection(int fd)
{
    cleanup_buffer buffer_t body = BUFFER_EMPTY, answer = BUFFER_EMPTY;

    jspan_write_begin(&body);
    jspan_write_text(&body, "message", "Too many connections; try again");
    jspan_write_text(&body, "reason", "Service Unavailable");
    jspan_write_end(&body);
    buffer_format(&answer,
                  "HTTP/1.1 503 Service Unavailable\r\n"
                  "Content-Type: application/json\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                  body.size, (const char *) body.data);
    (void) send(fd, answer.data, answer.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static int seconds(int64_t ms)
{
    if (ms < 1000)
        return 1;
    return ms < PEER_IDLE_S * 1000 ? (int) (ms / 1000) : PEER_IDLE_S;
}

/* Sets options of a client's socket. Small frames follow each other: Nagle's
 * algorithm would wait for acknowledgements that clients delay by 40 ms. A
 * silent client is probed, and disconnected if it acknowledges nothing. By
 * default TCP would try for a quarter of an hour, or never notice. */
static void tune(const server_t *self, int fd)
{
    const int64_t gone_ms = self->http.options->http.peer_timeout_ms;
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

void listener_accept(server_t *self)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd =
            accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (self->http.connections.count >= self->http.connections.max) {
            refuse_connection(fd);
            continue;
        }
        tune(self, fd);
        /* libwebsockets closes the descriptor on failure. */
        struct lws *wsi = lws_adopt_socket_vhost(self->vhost, fd);
        if (!wsi)
            continue;
        connection_t *connection = mem_new(sizeof *connection);
        connection->is_counted = true;
        self->http.connections.count++;
        lws_set_opaque_user_data(wsi, connection);
    }
}
