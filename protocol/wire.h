/* Multipart <-> message. Order on receipt: limits, then the signature over the
 * raw bytes, then the replay history, then JSON. */
#ifndef HEARTH_PROTOCOL_WIRE_H
#define HEARTH_PROTOCOL_WIRE_H

#include "base/fault.h"
#include "protocol/backlog.h"
#include "protocol/history.h"
#include "protocol/message.h"
#include "protocol/secret.h"

#include <czmq.h>

typedef enum {
    WIRE_OK,
    WIRE_TOO_LARGE,    /* a limit of protocol/limits.h */
    WIRE_NO_DELIMITER, /* no <IDS|MSG> */
    WIRE_TOO_SHORT,    /* fewer than five frames behind it */
    WIRE_UNSIGNED,     /* empty signature where a key is set */
    WIRE_BAD_SIGNATURE,
    WIRE_REPLAYED,
    WIRE_BAD_JSON,   /* one of the four parts is no JSON object in UTF-8 */
    WIRE_BAD_HEADER, /* msg_id or msg_type missing, empty or no string */
} wire_verdict_t;

/* The verdict's name for logs and counters, "bad signature". */
const char *wire_verdict_name(wire_verdict_t verdict);

/* Takes nothing: `frames` stays the caller's. `history` may be NULL (no replay
 * check). On WIRE_OK *ret_message is the caller's; else `fault` says why. */
wire_verdict_t wire_decode(zmsg_t *frames, const secret_t *secret,
                           history_t *history, message_t **ret_message,
                           fault_t *fault);

/* A fresh multipart message: identities, delimiter, signature, four parts,
 * buffers. */
zmsg_t *wire_encode(const message_t *message, const secret_t *secret);

/* Straight to a socket without an intermediate message. `identities` are sent
 * first. Returns 0, or -errno of zmq_send (-EHOSTUNREACH: a ROUTER with
 * ROUTER_MANDATORY knows no such peer; -EAGAIN: full); all or nothing. */
typedef struct {
    const bytes_t *identities;
    size_t identity_count;
    bytes_t header, parent, metadata, content; /* size 0 means "{}" */
    const bytes_t *buffers;
    size_t buffer_count;
    backlog_t *backlog; /* counts it until libzmq lets it go; or NULL */
    /* Called when it is signed, before its first frame goes; or NULL. May send
     * messages of its own to the same socket. */
    void (*before)(void *arg);
    void *before_arg;
} wire_parts_t;
int wire_send(void *zmq_socket, const wire_parts_t *parts,
              const secret_t *secret);

#endif
