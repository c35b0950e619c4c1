/* See header_overflow.h. Which connection it is shows by what the system
 * counts: so much was read of a request, and it has not begun. */
#include "gateway/http/core/header_overflow.h"

#include "gateway/http/core/lingering_close.h"
#include "gateway/http/core/tcp_info.h"

#include <openssl/ssl.h>

#define LEAST_SHARE  4
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

static void refuse(http_t *http, struct lws *wsi)
{
    parting_say(http, wsi, 431,
                "The request's head is bigger than %llu bytes "
                "(http/header_max)",
                (unsigned long long) http->options->http.header_max);
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
