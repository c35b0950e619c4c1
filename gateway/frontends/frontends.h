/* The frontends attached to a session, and through them their clients: the
 * session's end of docs/design/PROTOCOL.attach.md. One socket per frontend.
 * Sending never waits. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTENDS_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTENDS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <czmq.h>

#define FRONTENDS_MAX 8
#define FRONTENDS_UNTAKEN_MAX                                                  \
    (64u << 20) /* bytes a frontend may leave untaken                          \
                 */

typedef struct frontends frontends_t;

frontends_t *frontends_new(const char *session_id);
void frontends_destroy(frontends_t **self_p);
#define cleanup_frontends CLEANUP(frontends_destroy)

/* Connects to the frontend's endpoint. *ret_socket is lent; NULL if the
 * frontend was attached before. -EINVAL: the name is not valid. */
int frontends_attach(frontends_t *self, const char *frontend,
                     zsock_t **ret_socket, fault_t *fault);
/* Returns the index-th socket, lent; NULL after the last one. */
zsock_t *frontends_socket(const frontends_t *self, size_t index);
bool frontends_are_there(const frontends_t *self);

/* Sends HELLO to the frontend `frontend`: `seq` is the journal's last number,
 * `json` the session. The frontend can read everything up to `seq` in the
 * journal. */
void frontends_greet(frontends_t *self, const char *frontend, uint64_t seq,
                     const char *json);
/* Sends to all clients, as iopub does; `seq` 0: not in the journal. Frontends
 * get the content as the parcel of `parts->shared_p`, if that is not NULL. */
void frontends_publish(frontends_t *self, uint64_t seq, uint64_t request,
                       const wire_parts_t *parts);
/* The client that sent a request, and which request it was. All lent. */
typedef struct {
    const char *frontend; /* of that client */
    bytes_t client;       /* the client's name, as it gave it */
    uint64_t request;     /* the session's number for it */
} frontends_asker_t;

/* Sends to that client only; does nothing if its frontend has gone. */
void frontends_answer(frontends_t *self, uint64_t seq, channel_t channel,
                      const frontends_asker_t *asker,
                      const wire_parts_t *parts);
void frontends_send_state(frontends_t *self, const char *json);
/* Sends BYE to all frontends. */
void frontends_say_goodbye(frontends_t *self, const char *reason,
                           const char *sentence);
/* Sends BYE to one frontend and forgets it; its socket is then closed. */
void frontends_drop(frontends_t *self, zsock_t *socket);

typedef enum {
    FRONTENDS_NOTHING,   /* none for now */
    FRONTENDS_REQUEST,   /* *ret_message is the caller's; its identity is the
                          client's name */
    FRONTENDS_LEFT,      /* the frontend has no client: frontends_drop */
    FRONTENDS_CAUGHT_UP, /* it was slow and is not any more: frontends_greet */
} frontends_message_t;

/* Returns the next message from a frontend. `ret_frontend` is lent. */
frontends_message_t frontends_next(frontends_t *self, zsock_t *socket,
                                   const char **ret_frontend,
                                   channel_t *ret_channel,
                                   message_t **ret_message);

#endif
