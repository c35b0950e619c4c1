/* A frontend's state, and what its halves (frontend_rpc.h,
 * frontend_sessions.h) share. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTEND_STATE_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTEND_STATE_H

#include "base/buffer.h"
#include "gateway/frontends/frontend.h"
#include "protocol/client.h"

#include <czmq.h>

struct frontend {
    char name[FRONTEND_NAME_MAX + 1];
    client_t *calls;    /* owned */
    zsock_t *sessions;  /* owned; ROUTER */
    zhashx_t *waiting;  /* owned; msg_id -> what frontend_rpc.c keeps of it */
    zhashx_t *attached; /* owned; id -> what frontend_sessions.c keeps of it */
    int poll_fd;        /* owned; epoll over the two sockets and wake_fd */
    int wake_fd;        /* owned; eventfd: look, something may have come */
    /* Memory that the last event lends: */
    zmsg_t *frames;    /* owned */
    message_t *answer; /* owned */
    buffer_t farewell; /* owned */
    bytes_t *buffers;  /* owned */
};

/* Keeps the frontend's descriptor readable until frontend_next has looked: a
 * send may have taken the edge of ZMQ_FD. */
void frontend_wake(frontend_t *self);
/* Frees what the last event lent. */
void frontend_forget(frontend_t *self);

#endif
