/* A front's end of what docs/PROTOCOL.front.md says: orders to the registry,
 * sessions that are looked at, requests of viewers, and what comes back.
 * Belongs to one thread, which polls one descriptor; nothing here waits. */
#ifndef HEARTH_GATEWAY_FRONTENDS_FRONTEND_H
#define HEARTH_GATEWAY_FRONTENDS_FRONTEND_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/limits.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct front front_t;

/* `name` is unique in the gateway ("http"); the management key is read from
 * `runtime_dir`, so the registry comes first. */
int front_new(const char *name, const char *runtime_dir, front_t **ret_front,
              fault_t *fault);
/* Leaves every session. */
void front_destroy(front_t **self_p);
#define cleanup_front CLEANUP(front_destroy)

/* Readable when front_next has something. Level-triggered, one descriptor for
 * everything, also for what came in while something else was sent. */
int front_fd(const front_t *self);

/* A management request ("session_list_request"); `content` is JSON text of an
 * object, `who` asks for it, as the audit log names him ("token=gateway").
 * Its answer is an event FRONT_ANSWER with this tag, however long it takes. */
int front_order(front_t *self, const char *who, const char *type,
                bytes_t content, uint64_t tag, fault_t *fault);
/* The same with a buffer behind it (a piece of a file), unless it is empty. */
int front_order_data(front_t *self, const char *who, const char *type,
                     bytes_t content, bytes_t data, uint64_t tag,
                     fault_t *fault);

/* Which sessions there are, and each change: FRONT_SESSIONS, from now on. */
int front_follow(front_t *self, fault_t *fault);

/* Looks at a session (whole id): FRONT_HELLO comes, or FRONT_BYE with reason
 * "absent" and a sentence. Nothing when it is attached already. Leaving makes
 * its events stop at once. Who counts viewers is the caller. */
int front_attach(front_t *self, const char *session, fault_t *fault);
void front_leave(front_t *self, const char *session);
bool front_is_attached(const front_t *self, const char *session);

/* A viewer's request on shell, control or stdin (input_reply). Checked here
 * as wire.h does: -EBADMSG says what is wrong. -ENOTCONN: not attached, or
 * HELLO has not come yet. */
int front_request(front_t *self, const char *session, const char *viewer,
                  channel_t channel, const message_t *message, fault_t *fault);

typedef enum {
    FRONT_ANSWER, /* tag, json: the reply's content, `status` in it; buffers */
    FRONT_SESSIONS, /* json: `there`, `gone`: arrays of ids */
    FRONT_HELLO,    /* session, seq, json; again when events were left out: what
                       is up to seq is read from the journal */
    FRONT_EVENT,    /* session, seq, channel, viewer, request, parts */
    FRONT_STATE,    /* session, json */
    FRONT_BYE,      /* session, json: it is not attached any more */
} front_what_t;

/* Lent until the next front_next. */
typedef struct {
    front_what_t what;
    uint64_t tag;               /* of the order */
    char session[FRONT_ID_MAX]; /* its id */
    bytes_t json;               /* an object */
    uint64_t seq;               /* in the journal; EVENT: 0 not in there */
    channel_t channel;          /* IOPUB, or where the request came by */
    bytes_t viewer;             /* whom it answers; size 0: everybody */
    uint64_t request;           /* its number in the journal; 0 none */
    bytes_t header, parent, metadata, content;
    const bytes_t *buffers;
    size_t buffer_count;
} front_event_t;

/* False when there is nothing for now. */
bool front_next(front_t *self, front_event_t *ret_event);

#endif
