/* Follows what a client sends over one connection, in ZMTP 3.x (RFC 23 and 37,
 * rfc.zeromq.org): the greeting, commands, and the frames of messages. It keeps
 * no byte of them, and counts what libzmq has to keep. Pure: it neither reads
 * nor writes. */
#ifndef HEARTH_GATEWAY_GATE_ZMTP_FOLLOWER_H
#define HEARTH_GATEWAY_GATE_ZMTP_FOLLOWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZMTP_SIGNATURE 10 /* bytes; the first of the greeting */
#define ZMTP_GREETING  64
/* Bytes that libzmq needs for one frame besides its content, at least. */
#define ZMTP_FRAME_COST 64
/* The name of the command that subscribes, with its length before it. */
#define ZMTP_SUBSCRIBE_SIZE 10

/* The most that one connection may send. */
typedef struct {
    uint64_t frame;         /* bytes of a frame, and of a command */
    uint64_t message;       /* bytes of an unfinished message, with
                               ZMTP_FRAME_COST for each of its frames */
    unsigned frames;        /* of a message */
    uint64_t subscriptions; /* bytes of all subscriptions together, with
                               ZMTP_FRAME_COST for each */
} zmtp_limits_t;

typedef enum {
    ZMTP_OK,
    ZMTP_NO_GREETING, /* it is another protocol */
    ZMTP_OLD,         /* ZMTP 1 or 2: libzmq before 4.0 */
    ZMTP_BAD_FRAME,   /* flags or a length that no peer may send */
    ZMTP_BIG_FRAME,   /* the limits, from here on */
    ZMTP_BIG_MESSAGE,
    ZMTP_MANY_FRAMES,
    ZMTP_MANY_SUBSCRIPTIONS,
} zmtp_verdict_t;

/* Returns a sentence without a full stop; static. */
const char *zmtp_verdict_text(zmtp_verdict_t verdict);

/* Where a connection is. All zero at its beginning; read by the functions. */
typedef struct {
    uint64_t left;       /* bytes of the frame that are still to come */
    uint64_t unfinished; /* cost of the message that is not complete */
    uint64_t finished;   /* bytes of all complete messages */
    uint64_t subscribed; /* cost of all subscriptions */
    unsigned frames;     /* of the unfinished message */
    uint8_t greeted;     /* bytes of the greeting that came */
    uint8_t header;      /* bytes of the frame's header that came */
    uint8_t flags;       /* of the frame */
    uint8_t begun;       /* bytes of its body that came, at most
                            ZMTP_SUBSCRIBE_SIZE */
    uint64_t size;       /* of its body */
    bool is_in_body;
    bool is_settled;    /* its first command is complete */
    bool may_subscribe; /* its bytes so far are SUBSCRIBE's */
} zmtp_follower_t;

/* Follows the next bytes. After another verdict than ZMTP_OK the connection is
 * to be closed, and the follower not to be used again. */
zmtp_verdict_t zmtp_follow(zmtp_follower_t *self, const zmtp_limits_t *limits,
                           const void *bytes, size_t size);

#endif
