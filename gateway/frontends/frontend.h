/* A frontend's end of docs/design/PROTOCOL.attach.md: requests to the registry,
 * attached sessions, requests of viewers, and events. Belongs to one thread,
 * which polls one descriptor; no function waits. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTEND_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTEND_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/limits.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

/* The beginning of the name of a client for which the frontend itself sends a
 * request. No viewer's name begins with it. */
#define FRONTEND_OWN_CLIENT "rest/"
#define FRONTEND_HTTP       "http" /* the name of HTTP's frontend */

typedef struct frontend frontend_t;

/* Connects a frontend to the registry, which has to be there already; the
 * caller owns *ret_frontend. `name` is unique in the gateway ("http"). The
 * management key is read from `runtime_dir`. */
int frontend_new(const char *name, const char *runtime_dir,
                 frontend_t **ret_frontend, fault_t *fault);
/* Leaves every session. */
void frontend_destroy(frontend_t **self_p);
#define cleanup_frontend CLEANUP(frontend_destroy)

/* Returns a descriptor that is readable when frontend_next has something.
 * Level-triggered, one descriptor for everything, also for what came in while
 * something else was sent. */
int frontend_fd(const frontend_t *self);

/* A management request. */
typedef struct {
    const char *who;  /* the client, as the audit log names it
                         ("token=gateway"); NULL: the frontend itself */
    const char *type; /* "session_list_request" */
    bytes_t content;  /* JSON text of an object; size 0 means "{}" */
    bytes_t data;     /* a piece of a file; none if its size is 0 */
    uint64_t tag;     /* comes back with the answer */
} frontend_call_t;

/* Sends a management request. Its answer is an event FRONTEND_ANSWER with this
 * tag, however long it takes. */
int frontend_call(frontend_t *self, const frontend_call_t *request,
                  fault_t *fault);

/* Reports that the client of that request has gone. The request is dropped if
 * it still waits for the packages of a profile, which may take long. Its answer
 * comes all the same. */
void frontend_withdraw(frontend_t *self, uint64_t tag);

/* Follows the list of sessions and each change: FRONTEND_SESSIONS, from now
 * on. */
int frontend_follow(frontend_t *self, fault_t *fault);

/* Looks at a session (whole id): FRONTEND_HELLO comes, or FRONTEND_BYE with
 * reason "absent" and a sentence. Nothing happens if it is attached already.
 * Leaving makes its events stop at once. The caller counts the viewers. */
int frontend_attach(frontend_t *self, const char *session, fault_t *fault);
void frontend_leave(frontend_t *self, const char *session);
bool frontend_is_attached(const frontend_t *self, const char *session);

/* Sends a viewer's request on shell, control or stdin (input_reply). Its form
 * is checked first as wire.h does: -EBADMSG or -EINVAL, with what is wrong.
 * -ENOTCONN if the session is not attached, or its HELLO has not come yet. */
int frontend_request(frontend_t *self, const char *session, const char *client,
                     channel_t channel, const message_t *message,
                     fault_t *fault);

typedef enum {
    FRONTEND_ANSWER, /* tag, json: the reply's content, `status` in it; buffers
                      */
    FRONTEND_SESSIONS, /* json: `there`, `gone`: arrays of ids */
    FRONTEND_HELLO, /* session, seq, json; again when events were left out: what
                    is up to seq is read from the journal */
    FRONTEND_EVENT, /* session, seq, channel, viewer, request, parts */
    FRONTEND_STATE, /* session, json */
    FRONTEND_BYE,   /* session, json: it is not attached any more */
} frontend_what_t;

/* Lent until the next frontend_next. */
typedef struct {
    frontend_what_t what;
    uint64_t tag;                  /* of the order */
    char session[FRONTEND_ID_MAX]; /* its id */
    bytes_t json;                  /* an object */
    uint64_t seq;                  /* in the journal; EVENT: 0 not in there */
    channel_t channel;             /* IOPUB, or where the request came by */
    bytes_t client;   /* the client that it answers; size 0: all clients */
    uint64_t request; /* its number in the journal; 0 none */
    bytes_t header, parent, metadata, content;
    const bytes_t *buffers;
    size_t buffer_count;
} frontend_event_t;

/* Returns the next event; false if no event waits. */
bool frontend_next(frontend_t *self, frontend_event_t *ret_event);

#endif
