/* A client's request on its way through a session: queued, running, answered.
 * Plain data, owned by the session. */
#ifndef HEARTH_GATEWAY_SESSION_REQUEST_H
#define HEARTH_GATEWAY_SESSION_REQUEST_H

#include "base/cleanup.h"
#include "notebooks/journal/writer.h"
#include "protocol/channel.h"
#include "protocol/limits.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct request {
    struct request *next; /* in the session's queue */
    uint64_t number;      /* epoch << 32 | counter: unique for the session */
    channel_t channel;    /* where it came from and the reply goes */
    uint16_t frame_type;  /* frame_type_t; 0: the gateway answers by itself */
    message_t *message;   /* owned; its identities say who asks */
    size_t bytes;         /* of memory that it takes, about */
    char front[FRONT_NAME_MAX + 1]; /* whose viewer asks; "": over ZeroMQ */
    bool is_execute;
    bool silent, store_history, stop_on_error; /* of an execute_request */
    bool is_revival;       /* a recorded cell that is run again */
    bool is_seed;          /* of the profile's seed: nobody asked for it */
    bool wants_namespace;  /* the reply tells what became of the variables */
    int64_t time_limit_ms; /* 0: none */
    char *note;            /* owned; JSON for the journal, or NULL */
    const char *own_flaw;  /* what is wrong with our metadata, or NULL */
    bool is_journaled;     /* it, and its end when that comes */
    bool is_started;       /* its busy and execute_input are out */
    int64_t came_us;       /* monotonic; 0: not here, or nobody has sent it */
    int64_t begun_us; /* wall clock, when a gateway before began it; or 0 */
    bool is_answered; /* the client has its reply; the kernel works on */
} request_t;

/* `message` is taken. */
request_t *request_new(uint64_t number, channel_t channel,
                       message_t **message_p);
void request_destroy(request_t **self_p);
#define cleanup_request CLEANUP(request_destroy)

/* The frame type for a Jupyter message type that kernels answer; 0: none. */
uint16_t request_frame_type(const char *message_type);

/* "execute_request" -> "execute_reply"; false when it gets no reply (comms).
 * `ret_type` holds 64 bytes. */
bool request_reply_type(const request_t *self, char ret_type[64]);

/* What is wrong with the types in its content, as a sentence; NULL when they
 * are right. */
const char *request_flaw(const request_t *self);

/* Whether it was asked by that peer: an identity on a socket, or the name of a
 * front's viewer. */
bool request_is_of(const request_t *self, const char *front, bytes_t identity);

/* As whom the audit log names who sent it; to be freed. */
char *request_asker(const request_t *self);
/* For the journal: channel and identities as JSON, to be freed; and back. */
char *request_origin(const request_t *self);
/* NULL when the record is no request that can be read. */
request_t *request_from_record(const journal_record_t *record);

#endif
