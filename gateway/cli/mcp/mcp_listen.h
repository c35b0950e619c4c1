/* A request `subscriptions/listen` of 2026-07-28, whose answer is a stream of
 * notifications that ends with the client. A gateway that ends takes its stream
 * along, so the request is sent to the next one. The client sees one
 * subscription all the time: it gets no second acknowledgement, but a
 * notification of each thing that may have changed meanwhile. Plain data, no
 * sockets. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_LISTEN_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_LISTEN_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    json_t *accepted;  /* owned; as acknowledged first; NULL: not yet */
    bool is_lost;      /* the stream has ended, and is not acknowledged again */
    int64_t opened_ms; /* monotonic; when it was acknowledged last */
    int64_t due_ms;    /* monotonic; the next try to open it, if it is lost */
    int64_t pause_ms;  /* before that try */
} mcp_listen_t;

void mcp_listen_clear(mcp_listen_t *self);

/* Returns true if the message of a client is such a request. */
bool mcp_listen_is(const json_t *message);
/* Takes a message of the gateway in answer to `message`. Returns true if it is
 * an acknowledgement that the client must not see; then the lines that the
 * client gets instead are appended to `out`. After an answer nothing is lost
 * any more. */
bool mcp_listen_take(mcp_listen_t *self, const json_t *message,
                     const json_t *answer, buffer_t *out);
/* Notes that the stream has ended, or that a try to open it has failed. Returns
 * false if it was never acknowledged: then it is a request like others. */
bool mcp_listen_lose(mcp_listen_t *self);
/* Returns the milliseconds until the next try; -1: no try is due. */
int mcp_listen_wait_ms(const mcp_listen_t *self);
/* Notes that the next try has begun. */
void mcp_listen_try(mcp_listen_t *self);

#endif
