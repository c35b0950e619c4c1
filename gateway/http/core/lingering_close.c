/* See lingering_close.h. By TLS where that is spoken. libwebsockets closes its
 * descriptor next; a copy of it stays open for some seconds and takes what the
 * client still sends, or he would lose the answer with a reset. */
#include "gateway/http/core/lingering_close.h"

#include <openssl/ssl.h>

#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_TICKS 5          /* seconds */
#define DISCARD_MAX  (4u << 20) /* bytes at a look */

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

/* The kernel has room for it. */
static void send_text(struct lws *wsi, const buffer_t *text)
{
    if (lws_is_ssl(wsi))
        (void) SSL_write(lws_get_ssl(wsi), text->data, (int) text->size);
    else
        (void) send(lws_get_socket_fd(wsi), text->data, text->size,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
}

void parting_say(http_t *http, struct lws *wsi, int status, const char *format,
                 ...)
{
    cleanup_buffer buffer_t answer = BUFFER_EMPTY;
    char message[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cleanup_free char *body = mem_format(
        "{\"message\":\"%s\",\"reason\":\"%s\"}", message, status_text(status));
    buffer_format(&answer, "HTTP/1.1 %d %s\r\n", status, status_text(status));
    access_shields(&answer);
    buffer_format(&answer,
                  "Content-Type: application/json\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                  strlen(body), body);
    send_text(wsi, &answer);
    (void) discard(lws_get_socket_fd(wsi));
    linger(http, lws_get_socket_fd(wsi));
}

/* libwebsockets calls this to answer by itself, with a page of its own and
 * mostly 403, when its parser gives up: a method that it does not know, a path
 * that does not begin with a slash or has a % without two digits, an upgrade to
 * what it does not speak. It tells nobody, so its function is replaced by this
 * one, as an ELF program may; a library that was linked to itself
 * (-Bsymbolic-functions) keeps its page. Non-zero: the connection is closed. */
int lws_return_http_status(struct lws *wsi, unsigned int code,
                           const char *html_body)
{
    http_t *http = lws_context_user(lws_get_context(wsi));

    (void) code, (void) html_body;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_UPGRADE) > 0)
        parting_say(http, wsi, 400,
                    "Can \\\"Upgrade\\\" only to \\\"WebSocket\\\"");
    else
        parting_say(http, wsi, 400,
                    "The first line of a request is METHOD /PATH HTTP/1.1, "
                    "with a method that is known here and two hexadecimal "
                    "digits behind each %%");
    return 1;
}

static void part(parting_t *parting)
{
    parting->ticks = 0;
    close(parting->fd);
}

void parting_on_tick(http_t *http)
{
    for (size_t i = 0; i < PARTINGS; i++) {
        parting_t *at = &http->partings[i];
        if (at->ticks && (!discard(at->fd) || --at->ticks == 0))
            part(at);
    }
}

void parting_end(http_t *http)
{
    for (size_t i = 0; i < PARTINGS; i++)
        if (http->partings[i].ticks)
            part(&http->partings[i]);
}
