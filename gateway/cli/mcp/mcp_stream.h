/* The stream of notifications of a client older than 2026-07-28, which the
 * client itself would open by GET over HTTP. A gateway that ends forgets what
 * its clients have subscribed to, so the subscriptions are sent to
 * the next one. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_STREAM_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_STREAM_H

#include "base/buffer.h"
#include "gateway/cli/client/http_reply.h"
#include "gateway/cli/client/net_stream.h"
#include "gateway/cli/mcp/mcp_place.h"
#include "gateway/cli/mcp/mcp_request.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    net_stream_t stream; /* owned; closed while there is none */
    http_reply_t reply;  /* owned; to the GET */
    json_t *uris;      /* owned; URI -> true: what is subscribed to; or NULL */
    bool is_wanted;    /* the client has introduced itself */
    int64_t opened_ms; /* monotonic; 0: it is closed */
    int64_t due_ms;    /* monotonic; the next try while it is closed */
    int64_t pause_ms;  /* before the try after that */
} mcp_stream_t;

#define MCP_STREAM_CLOSED ((mcp_stream_t){.stream = {.fd = -1}})

void mcp_stream_clear(mcp_stream_t *self);

/* Notes what an answered message of the client means for the stream; `answer`
 * is NULL for a notification. */
void mcp_stream_note(mcp_stream_t *self, const json_t *message,
                     const json_t *answer);
/* Returns the milliseconds until the stream is to be opened; -1: it is open, or
 * not wanted. */
int mcp_stream_wait_ms(const mcp_stream_t *self);
/* Opens the stream, after the subscriptions, for which it waits up to 5 s and
 * a connection's time. It is tried again later if that fails; `place` is NULL
 * if there is no gateway at the moment. */
void mcp_stream_open(mcp_stream_t *self, const mcp_place_t *place,
                     const mcp_client_t *client);
/* Ends the client, so that the gateway forgets it and its subscriptions at
 * once; waits up to 5 s and a connection's time for that. */
void mcp_stream_end(mcp_stream_t *self, const mcp_place_t *place,
                    const mcp_client_t *client);
/* Reads what has come, and appends the next whole message to *out. Returns
 * false if none is whole. A stream that has ended is closed, and opened again
 * later. */
bool mcp_stream_next(mcp_stream_t *self, buffer_t *out);

#endif
