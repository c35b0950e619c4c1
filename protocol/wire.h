/* Converts multipart messages. Order on receipt: limits, then the signature
 * over the raw bytes, then the replay guard, then JSON. */
#ifndef HEARTH_PROTOCOL_WIRE_H
#define HEARTH_PROTOCOL_WIRE_H

#include "base/fault.h"
#include "protocol/message.h"
#include "protocol/replay_guard.h"
#include "protocol/secret.h"
#include "protocol/zmq_backlog.h"

#include <czmq.h>

typedef enum {
    WIRE_OK,
    WIRE_TOO_LARGE,    /* a limit of protocol/limits.h */
    WIRE_NO_DELIMITER, /* no <IDS|MSG> */
    WIRE_TOO_SHORT,    /* fewer than five frames after it */
    WIRE_UNSIGNED,     /* empty signature where a key is set */
    WIRE_BAD_SIGNATURE,
    WIRE_REPLAYED,
    WIRE_BAD_JSON,   /* a part is not a JSON object in UTF-8 */
    WIRE_BAD_HEADER, /* msg_id or msg_type missing, empty or not text */
} wire_verdict_t;

/* Returns the verdict's name for logs and counters, "bad signature". */
const char *wire_verdict_name(wire_verdict_t verdict);

/* Decodes a message. `frames` stays the caller's. `guard` may be NULL (no
 * replay check). On WIRE_OK *ret_message is the caller's; else `fault` says
 * why. */
wire_verdict_t wire_decode(zmsg_t *frames, const secret_t *secret,
                           replay_guard_t *guard, message_t **ret_message,
                           fault_t *fault);

/* Returns the identities and the header of a message that wire_decode has found
 * WIRE_BAD_JSON, and so authentic: enough to answer it. The caller owns it.
 * NULL if the header itself is bad. */
message_t *wire_decode_head(zmsg_t *frames);

/* Returns a new multipart message: identities, delimiter, signature, four
 * parts, buffers. */
zmsg_t *wire_encode(const message_t *message, const secret_t *secret);

/* Sends directly to a socket, without an intermediate message; `identities`
 * first. Returns 0, or -errno of zmq_send (-EHOSTUNREACH: a ROUTER with
 * ROUTER_MANDATORY knows no such peer; -EAGAIN: full). Sends all or nothing. */
typedef struct {
    const bytes_t *identities;
    size_t identity_count;
    bytes_t header, parent, metadata, content; /* size 0 means "{}" */
    const bytes_t *buffers;
    size_t buffer_count;
    zmq_parcel_t **shared_p; /* the caller's: the content, for all receivers of
                                these parts (zmq_parcel_share); or NULL */
    zmq_backlog_t *backlog;  /* counts it until libzmq frees it; or NULL */
} wire_parts_t;
int wire_send(void *zmq_socket, const wire_parts_t *parts,
              const secret_t *secret);

/* Sends to the subscribers of an XPUB socket, in place of `identities` under a
 * topic; one of size 0 is left out. A message that no subscriber gets is
 * neither signed nor copied. Returns 0 or -errno of zmq_send. */
int wire_publish(void *zmq_socket, bytes_t topic, const wire_parts_t *parts,
                 const secret_t *secret);

#endif
