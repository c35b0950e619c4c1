/* The answer to a request of HTTP/1.1, as it comes in: its status, and the
 * messages in its body. A body of JSON is one message, a stream of events has
 * one each. Plain data, no sockets. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_HTTP_REPLY_H
#define HEARTH_GATEWAY_CLI_CLIENT_HTTP_REPLY_H

#include "base/buffer.h"
#include "gateway/http/core/chunked.h"

#include <stdbool.h>

#define HTTP_REPLY_HEAD_MAX (64u << 10)  /* bytes of the head */
#define HTTP_REPLY_BODY_MAX (256u << 20) /* bytes of the body */
#define HTTP_REPLY_NAME_MAX 128          /* bytes of a session's name */

typedef struct {
    buffer_t head; /* owned; until it is whole */
    buffer_t body; /* owned; decoded, not yet taken */
    chunked_t chunks;
    int status; /* 0: the head is not whole */
    bool is_chunked, is_stream;
    uint64_t left; /* bytes of the body that are missing, if not chunked */
    bool is_over;  /* all of the body is there */
    char session[HTTP_REPLY_NAME_MAX]; /* Mcp-Session-Id, or "" */
} http_reply_t;

void http_reply_clear(http_reply_t *self);
#define cleanup_http_reply CLEANUP(http_reply_clear)

/* Takes received bytes. Returns 0, or -EBADMSG if they are not an answer. */
int http_reply_feed(http_reply_t *self, const void *bytes, size_t size);
/* Appends the next message that is whole to `out`. Returns false if there is
 * none yet. */
bool http_reply_next(http_reply_t *self, buffer_t *out);
/* Returns true if the status says that a later try may succeed: the gateway, or
 * a proxy before it, has no room at this time, or the proxy finds no gateway.
 */
bool http_reply_is_for_now(const http_reply_t *self);

#endif
