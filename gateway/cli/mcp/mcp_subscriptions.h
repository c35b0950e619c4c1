/* The open requests of a client that subscribe (mcp_listen.h): how many there
 * may be, when their streams are opened again after a gateway that has ended,
 * and their end. The caller has the connections; a request is a pointer of the
 * caller's here. No sockets. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_SUBSCRIPTIONS_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_SUBSCRIPTIONS_H

#include "gateway/cli/mcp/mcp_listen.h"

#include <stdbool.h>
#include <stddef.h>

#define MCP_SUBSCRIPTIONS_MAX 64

typedef struct mcp_subscriptions mcp_subscriptions_t;

/* Functions of the caller, each for one of its requests. */
typedef struct {
    /* Sends it again. Returns a negative number if the gateway is away. */
    int (*open)(void *arg, void *request);
    /* Closes its connection. */
    void (*close)(void *arg, void *request);
    /* Ends it for good. */
    void (*drop)(void *arg, void *request);
} mcp_subscriptions_ops_t;

/* Returns a new list; `ops` and `arg` must outlive it. */
mcp_subscriptions_t *mcp_subscriptions_new(const mcp_subscriptions_ops_t *ops,
                                           void *arg);
void mcp_subscriptions_destroy(mcp_subscriptions_t **self_p);

/* Adds a request; `listen` is borrowed until it is removed. Returns false if
 * there are as many as there may be. */
bool mcp_subscriptions_add(mcp_subscriptions_t *self, void *request,
                           mcp_listen_t *listen);
/* Removes a request. One that was not added is ignored. */
void mcp_subscriptions_remove(mcp_subscriptions_t *self, const void *request);
size_t mcp_subscriptions_count(const mcp_subscriptions_t *self);
/* Returns the milliseconds until the next stream is to be opened; -1: none is.
 */
int mcp_subscriptions_wait_ms(const mcp_subscriptions_t *self);
/* Opens the streams that are due. A try that fails may take seconds. The others
 * are not tried then, because all have one gateway. */
void mcp_subscriptions_open(mcp_subscriptions_t *self);
/* Gives up all of a client that says nothing more: it would have to say that it
 * wants no more of them. */
void mcp_subscriptions_end(mcp_subscriptions_t *self);

#endif
