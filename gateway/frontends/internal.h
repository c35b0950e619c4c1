/* What the files of a front share; nobody else includes it.
 *   frontend.c          birth, death, the one descriptor
 *   frontend_rpc.c      what it asks of the registry, and the answers
 *   frontend_sessions.c what it and the sessions that it looks at say
 */
#ifndef HEARTH_GATEWAY_FRONTENDS_INTERNAL_H
#define HEARTH_GATEWAY_FRONTENDS_INTERNAL_H

#include "base/buffer.h"
#include "gateway/frontends/attach_wire.h"
#include "gateway/frontends/frontend.h"
#include "protocol/client.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/json.h"

#include <string.h>

struct front {
    char name[FRONT_NAME_MAX + 1];
    client_t *orders;   /* owned */
    zsock_t *sessions;  /* owned; ROUTER */
    zhashx_t *waiting;  /* owned; msg_id -> order_t, of frontend_rpc.c */
    zhashx_t *attached; /* owned; id -> attached_t, of frontend_sessions.c */
    int poll_fd;        /* owned; epoll over the two sockets and wake_fd */
    int wake_fd;        /* owned; eventfd: look, something may have come */
    /* What the last event lends: */
    zmsg_t *frames;    /* owned */
    message_t *answer; /* owned */
    buffer_t farewell; /* owned */
    bytes_t *buffers;  /* owned */
};

/* frontend.c */
void front_wake(front_t *self);
/* What the last event lent is gone. */
void front_forget(front_t *self);

/* frontend_rpc.c */
/* The session `session` is asked for. */
int front_order_attach(front_t *self, const char *session, fault_t *fault);
/* False when there is none that the caller has to hear of. */
bool front_next_answer(front_t *self, front_event_t *ret_event);

/* frontend_sessions.c */
/* The registry's answer (self->answer) about a session to be attached. True:
 * the caller has to hear of it. */
bool front_take_attach(front_t *self, const char *session,
                       front_event_t *ret_event);
bool front_next_word(front_t *self, front_event_t *ret_event);
void front_leave_all(front_t *self);

static inline bytes_t front_text(const char *string)
{
    return (bytes_t){string, strlen(string)};
}

#endif
