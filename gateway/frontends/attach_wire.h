/* The forms of messages that both ends of docs/design/PROTOCOL.attach.md share.
 * Only these two include it. */
#ifndef HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H
#define HEARTH_GATEWAY_FRONTENDS_ATTACH_WIRE_H

#include "protocol/channel.h"
#include "protocol/message.h"

#include <czmq.h>

#include <stdbool.h>

#define FRONTEND_ENDPOINT_SIZE 64

typedef enum {
    /* session to frontend */
    ATTACH_HELLO,
    ATTACH_EVENT,
    ATTACH_STATE,
    ATTACH_BYE,
    /* frontend to session */
    ATTACH_REQUEST,
    ATTACH_TAKEN,
    ATTACH_LEAVE,
} attach_type_t;

/* The first frame of each message, as it is in memory: both ends are threads of
 * one process. Further frames have the bytes that vary in size. */
typedef struct {
    attach_type_t type;
    channel_t channel; /* EVENT, REQUEST */
    uint64_t seq;      /* HELLO, EVENT: number in the journal, or 0 */
    uint64_t request;  /* EVENT: its number in the journal, or 0 */
    uint64_t taken;    /* TAKEN: weight of all EVENTs that were taken */
} attach_head_t;

/* Returns the frame with the head. */
static inline bytes_t attach_head_bytes(const attach_head_t *head)
{
    return (bytes_t){head, sizeof *head};
}

/* Writes "inproc://front-http"; returns false if the name is not valid. */
bool frontend_endpoint(const char *name,
                       char ret_endpoint[FRONTEND_ENDPOINT_SIZE]);
/* Returns the memory of waiting frames: their bytes and libzmq's own. */
uint64_t frontend_weight(const bytes_t *frames, size_t count);
/* Reads a frame as a head. Returns false if it is not one. */
bool attach_read_head(zframe_t *frame_or_null, attach_head_t *ret_head);
/* Returns what the next frame has, lent; nothing after the last one. */
bytes_t attach_next(zmsg_t *frames);

#endif
