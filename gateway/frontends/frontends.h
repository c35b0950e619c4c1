/* The fronts that look at a session, and through them their viewers: the
 * session's end of docs/PROTOCOL.front.md. One socket a front. Sending never
 * waits. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTENDS_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTENDS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <czmq.h>

#define VIEWERS_FRONTS_MAX  8
#define VIEWERS_UNTAKEN_MAX (64u << 20) /* bytes a front may leave lying */

typedef struct viewers viewers_t;

viewers_t *viewers_new(const char *session_id);
void viewers_destroy(viewers_t **self_p);
#define cleanup_viewers CLEANUP(viewers_destroy)

/* Connects to the front's endpoint. *ret_socket is lent; NULL when the front
 * was attached before. -EINVAL: no such name can be. */
int viewers_attach(viewers_t *self, const char *front, zsock_t **ret_socket,
                   fault_t *fault);
/* The index-th socket, lent; NULL behind the last one. */
zsock_t *viewers_socket(const viewers_t *self, size_t index);
bool viewers_are_there(const viewers_t *self);

/* The front behind `socket` is told where the journal stands; `json` is the
 * session. Nothing was left out before it that it cannot read there. */
void viewers_greet(viewers_t *self, const char *front, uint64_t seq,
                   const char *json);
/* For everybody, as on iopub; `seq` 0: not in the journal. */
void viewers_publish(viewers_t *self, uint64_t seq, uint64_t request,
                     const wire_parts_t *parts);
/* Who asked a request, and which one it was. All lent. */
typedef struct {
    const char *front; /* whose viewer it is */
    bytes_t viewer;    /* its name, as it gave it */
    uint64_t request;  /* the session's number for it */
} viewers_asker_t;

/* For that viewer alone; nothing happens when its front has gone. */
void viewers_answer(viewers_t *self, uint64_t seq, channel_t channel,
                    const viewers_asker_t *asker, const wire_parts_t *parts);
void viewers_tell_state(viewers_t *self, const char *json);
/* The last word to every front. */
void viewers_bid_farewell(viewers_t *self, const char *reason,
                          const char *sentence);
/* The same to one, which is forgotten: the socket is gone then. */
void viewers_drop(viewers_t *self, zsock_t *socket);

typedef enum {
    VIEWERS_NOTHING,   /* for now */
    VIEWERS_REQUEST,   /* *ret_message is the caller's, its identity names the
                          viewer */
    VIEWERS_LEFT,      /* nobody looks: viewers_drop */
    VIEWERS_CAUGHT_UP, /* it was slow and is not any more: viewers_greet */
} viewers_word_t;

/* `ret_front` is lent. */
viewers_word_t viewers_next(viewers_t *self, zsock_t *socket,
                            const char **ret_front, channel_t *ret_channel,
                            message_t **ret_message);

#endif
