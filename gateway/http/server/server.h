/* The actor: the loop of libwebsockets, and data that only the loop has. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_SERVER_H
#define HEARTH_GATEWAY_HTTP_SERVER_SERVER_H

#include "gateway/http/core/http.h"
#include "gateway/http/server/tls.h"

typedef struct {
    http_t http;                 /* data that all parts share */
    options_t *options;          /* owned; in use until the next reload */
    tls_t *tls;                  /* owned; NULL: no HTTPS */
    zsock_t *pipe;               /* borrowed; of the actor */
    struct lws_context *context; /* owned */
    struct lws_vhost *vhost;     /* borrowed from the context; of clients */
    struct lws_vhost *own_vhost; /* the same; of our own descriptors */
    int listener;                /* owned until libwebsockets has it */
    bool is_ending;              /* the loop is about to end */
    bool is_open;                /* clients are accepted */
} server_t;

#endif
