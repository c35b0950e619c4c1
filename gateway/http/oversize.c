/* See oversize.h. Which connection it is shows by what the system counts: so
 * much was read of a request, and it has not begun. The answer is written past
 * libwebsockets (by TLS where that is spoken), which closes its descriptor
 * next; a copy of it stays open for some seconds and takes what the client
 * still sends, or he would lose the answer with a reset. */
#include "gateway/http/oversize.h"

#include "gateway/http/received.h"

#include <openssl/ssl.h>

#include <sys/socket.h>
#include <unistd.h>

#define LINGER_TICKS 5 /* seconds */
#define LEAST_SHARE  4
#define DISCARD_MAX  (4u << 20) /* bytes at a look */
#define GREETING_MAX (2u << 10) /* bytes of a client before TLS is there */

void oversize_watch(http_t *http, connection_t *connection, struct lws *wsi)
{
    connection->wsi = wsi;
    connection->next = http->clients;
    if (connection->next)
        connection->next->before = connection;
    http->clients = connection;
}

void oversize_forget(http_t *http, connection_t *connection)
{
    if (!connection->wsi)
        return;
    if (connection->before)
        connection->before->next = connection->next;
    else
        http->clients = connection->next;
    if (connection->next)
        connection->next->before = connection->before;
}

void oversize_rest(connection_t *connection)
{
    connection->read = received_bytes(lws_get_socket_fd(connection->wsi));
}

/* Whether so much was read of a head that is not complete. What TLS adds to it
 * is little, but for its beginning. */
static bool is_reading(const connection_t *connection, uint64_t bytes)
{
    if (connection->exchange || connection->viewer || connection->is_declined)
        return false;
    if (lws_is_ssl(connection->wsi)) {
        SSL *tls = lws_get_ssl(connection->wsi);
        if (!tls || !SSL_is_init_finished(tls))
            return false;
        bytes += connection->read ? 0 : GREETING_MAX;
    }
    return received_bytes(lws_get_socket_fd(connection->wsi))
           >= connection->read + bytes;
}

static size_t count_reading(const http_t *http, uint64_t bytes)
{
    size_t count = 0;

    for (const connection_t *at = http->clients; at; at = at->next)
        count += is_reading(at, bytes);
    return count;
}

/* What came so far and will not be read; false: it is over. */
static bool discard(int fd)
{
    uint8_t bytes[16384];

    for (size_t total = 0; total < DISCARD_MAX;) {
        ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size <= 0)
            return size < 0;
        total += (size_t) size;
    }
    return true;
}

static void linger(http_t *http, int fd)
{
    parting_t *parting = &http->partings[http->parting_at++ % PARTINGS];

    if (parting->ticks)
        close(parting->fd);
    *parting = (parting_t){.fd = dup(fd), .ticks = LINGER_TICKS};
    if (parting->fd < 0)
        parting->ticks = 0;
}

/* The kernel has room for it: nothing was answered before on this connection
 * that has not gone. */
static void say(struct lws *wsi, const char *text, size_t size)
{
    if (lws_is_ssl(wsi))
        (void) SSL_write(lws_get_ssl(wsi), text, (int) size);
    else
        (void) send(lws_get_socket_fd(wsi), text, size,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void refuse(http_t *http, struct lws *wsi)
{
    static const char format[] =
        "{\"message\":\"The request's head is bigger than %llu bytes "
        "(http/header_max)\","
        "\"reason\":\"Request Header Fields Too Large\"}";
    char body[200], text[600];
    int size = snprintf(body, sizeof body, format,
                        (unsigned long long) http->options->http.header_max);

    size = snprintf(text, sizeof text,
                    "HTTP/1.1 431 Request Header Fields Too Large\r\n"
                    "Content-Type: application/json\r\n"
                    "X-Content-Type-Options: nosniff\r\n"
                    "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
                    size, body);
    say(wsi, text, (size_t) size);
    (void) discard(lws_get_socket_fd(wsi));
    linger(http, lws_get_socket_fd(wsi));
}

/* What libwebsockets keeps of a head is up to three times as much as came, with
 * many small headers. So when only one can be meant, it is that one. */
void oversize_on_log(http_t *http, const char *line)
{
    uint64_t bytes = http->options->http.header_max;

    if (!strstr(line, "Ran out of header data space"))
        return;
    if (count_reading(http, bytes / LEAST_SHARE) == 1)
        bytes /= LEAST_SHARE;
    for (connection_t *at = http->clients; at; at = at->next)
        if (is_reading(at, bytes)) {
            at->read = UINT64_MAX / 2; /* once */
            refuse(http, at->wsi);
        }
}

static void part(parting_t *parting)
{
    parting->ticks = 0;
    close(parting->fd);
}

void oversize_on_tick(http_t *http)
{
    for (size_t i = 0; i < PARTINGS; i++) {
        parting_t *at = &http->partings[i];
        if (at->ticks && (!discard(at->fd) || --at->ticks == 0))
            part(at);
    }
}

void oversize_end(http_t *http)
{
    for (size_t i = 0; i < PARTINGS; i++)
        if (http->partings[i].ticks)
            part(&http->partings[i]);
}
