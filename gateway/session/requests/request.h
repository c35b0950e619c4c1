/* A client's request on its way through a session: queued, running, answered.
 * Plain data, owned by the session. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_REQUEST_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_REQUEST_H

#include "base/cleanup.h"
#include "notebooks/journal/record.h"
#include "protocol/channel.h"
#include "protocol/frame.h"
#include "protocol/limits.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

/* Its progress. Only the gateway's own answer ends it before the kernel's. */
typedef enum {
    REQUEST_WAITING,
    REQUEST_STARTED, /* its busy and execute_input were sent */
    REQUEST_ANSWERED /* the client has its reply; the kernel still works */
} request_progress_t;

/* Its purpose. */
typedef enum {
    REQUEST_FOR_CLIENT,
    REQUEST_FOR_REVIVAL, /* a recorded cell, run again by a revival */
    REQUEST_FOR_SEED     /* of the profile's seed, not of a client */
} request_purpose_t;

typedef struct request {
    struct request *next; /* in the session's queue */
    uint64_t number;      /* epoch << 32 | counter: unique for the session */
    channel_t channel;    /* of the request and of its reply */
    uint16_t frame_type;  /* frame_type_t; 0: the gateway answers by itself */
    message_t *message;   /* owned; its identities are the client's */
    size_t bytes;         /* its approximate memory */
    char frontend[FRONTEND_NAME_MAX
                  + 1]; /* the client's frontend; "": over ZeroMQ */
    request_progress_t progress;
    request_purpose_t purpose;
    jspan_t code; /* of an execute_request, in its message */
    bool silent, store_history, stop_on_error; /* likewise */
    bool wants_namespace;  /* the reply reports changes of variables */
    jspan_t reader;        /* name of the client that wants to learn of losses,
                              in its message */
    int64_t time_limit_ms; /* 0: none */
    char *note;            /* owned; JSON for the journal, or NULL */
    const char *flaw;      /* what is wrong with its members, as a sentence;
                              NULL: they are right */
    bool is_journaled;     /* its end will be journaled, too */
    int64_t came_us;       /* monotonic; 0: not from a client of this gateway */
    int64_t begun_us; /* wall clock, if an earlier gateway began it; or 0 */
    bool is_remarked; /* the journal has that it ran past its time limit */
} request_t;

/* Returns a request; `message` is taken. */
request_t *request_new(uint64_t number, channel_t channel,
                       message_t **message_p);
void request_destroy(request_t **self_p);
#define cleanup_request CLEANUP(request_destroy)

/* Returns true if it runs a cell. */
static inline bool request_is_execute(const request_t *self)
{
    return self->frame_type == FRAME_EXECUTE;
}

/* Returns true if clients know that it has begun: also once it is answered. */
static inline bool request_is_started(const request_t *self)
{
    return self->progress != REQUEST_WAITING;
}

/* Returns true if the client has its reply while the kernel still works. */
static inline bool request_is_answered(const request_t *self)
{
    return self->progress == REQUEST_ANSWERED;
}

static inline bool request_is_seed(const request_t *self)
{
    return self->purpose == REQUEST_FOR_SEED;
}

/* Returns the frame type of a Jupyter message type that kernels answer; 0 if
 * kernels answer no such message. */
uint16_t request_frame_type(const char *message_type);

/* Writes the type of the reply: "execute_reply" to "execute_request". Returns
 * false if there is no reply (comms). */
bool request_reply_type(const request_t *self, char ret_type[64]);

/* Returns true if that peer has sent it: an identity on a socket, or the name
 * of a frontend's viewer. */
bool request_is_of(const request_t *self, const char *frontend,
                   bytes_t identity);

/* Returns the name of the client in the audit log, which is the caller's. */
char *request_asker(const request_t *self);
/* Returns the name by which the client is remembered that wants to learn of
 * losses of variables; the caller's. Each client with the session's own key is
 * the same one. NULL if the client does not want to, or is another program's
 * viewer. */
char *request_reader(const request_t *self);
/* Returns channel and identities as JSON, for the journal; the caller's. */
char *request_origin(const request_t *self);
/* Returns the request of a record; NULL if the record cannot be read. */
request_t *request_from_record(const journal_record_t *record);

#endif
