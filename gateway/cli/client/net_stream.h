/* A connection to the gateway: TCP, with TLS over it or without. Never blocks
 * for reading; connecting has a deadline. One thread. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_NET_STREAM_H
#define HEARTH_GATEWAY_CLI_CLIENT_NET_STREAM_H

#include "base/fault.h"
#include "gateway/cli/client/tls_trust.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NET_STREAM_CONNECT_MS 10000 /* for the connection and the handshake */

typedef struct {
    int fd;          /* owned; -1: closed */
    SSL *tls;        /* owned; NULL: plain */
    tls_peer_t peer; /* known to `tls`: the stream is not moved */
    char place[112]; /* "HOST:PORT", for sentences */
} net_stream_t;

#define NET_STREAM_CLOSED ((net_stream_t){.fd = -1})

/* Connects a closed stream; with `trust_or_null` the server is verified.
 * -EPROTO if another try cannot do better, -ETIME if the server stops within
 * the handshake of TLS, else another negative errno. */
int net_stream_open(net_stream_t *self, const char *host, const char *port,
                    const tls_trust_t *trust_or_null, fault_t *fault);
void net_stream_close(net_stream_t *self);

/* Sends all; waits for a server that takes it slowly. */
int net_stream_write(net_stream_t *self, const void *bytes, size_t size,
                     fault_t *fault);
/* Returns how much was read; 0 at the end; -EAGAIN: nothing is there yet;
 * -EPROTO as above; -ECONNRESET. */
ssize_t net_stream_read(net_stream_t *self, void *bytes, size_t size,
                        fault_t *fault);
/* Returns true if a read gives something that the socket no longer shows. */
bool net_stream_has_more(const net_stream_t *self);

#endif
