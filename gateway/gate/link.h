/* One connection of a client: its TCP socket, and the Unix socket to which it
 * leads, which is connected once the client has begun as ZMTP does. Bytes are
 * passed on unchanged; what the other side does not take is kept, and until it
 * is taken no more is read. So a connection holds at most two buffers. */
#ifndef HEARTH_GATEWAY_GATE_LINK_H
#define HEARTH_GATEWAY_GATE_LINK_H

#include "base/buffer.h"
#include "base/tcp.h"
#include "gateway/gate/port.h"
#include "gateway/gate/watch.h"
#include "gateway/gate/zmtp_follower.h"

#include <stdbool.h>
#include <stdint.h>

#define LINK_READ (256u << 10) /* bytes that are read at a time */

typedef enum {
    LINK_PEER,
    LINK_INNER
} link_side_t;

/* One of the two sockets. */
typedef struct {
    int fd;             /* owned; -1: not there */
    gate_watch_t watch; /* the owner's */
    buffer_t untaken;   /* bytes for this side */
    bool is_deaf;       /* it takes no more, but may have said something */
} link_end_t;

typedef struct gate_link {
    struct gate_link *next, *before; /* the owner's */
    gate_port_t *port;               /* borrowed */
    char address[TCP_PEER_SIZE];     /* of the client */
    link_end_t ends[2];              /* by link_side_t */
    zmtp_follower_t follower;
    int64_t deadline_ms; /* monotonic: to have begun or ended; 0: none */
    int64_t begun_ms;    /* monotonic: the unfinished message */
    uint64_t given;      /* bytes that the client has taken */
    int64_t stalled_ms;  /* the owner's; monotonic: the client has taken nothing
                            since, and something waits for it; 0: it takes */
    bool is_ending;      /* one side is gone or deaf, the other gets what is
                            left */
    bool is_closed;      /* the owner's: it is to be freed */
    bool is_subscriber;  /* the port counts it as one */
} gate_link_t;

typedef enum {
    LINK_GOES_ON,
    LINK_IS_OVER,     /* a side has ended it, and all was passed on */
    LINK_BREAKS_RULE, /* ret_rule says which */
} link_verdict_t;

/* Makes the link of an accepted, non-blocking connection; takes it. */
gate_link_t *gate_link_new(gate_port_t *port, int fd);
/* Closes both sides at once. */
void gate_link_close(gate_link_t *self);
void gate_link_destroy(gate_link_t **self_p);

/* Acts on what epoll reports of one side. `room` has LINK_READ bytes, for the
 * time of the call. */
link_verdict_t gate_link_step(gate_link_t *self, link_side_t side,
                              uint32_t events, uint8_t *room,
                              zmtp_verdict_t *ret_rule);
/* Connects the inner side if that is due; again later if it was too busy. */
link_verdict_t gate_link_connect(gate_link_t *self);
/* Returns true if the inner side is due and was too busy. */
bool gate_link_is_waiting(const gate_link_t *self);
/* Returns the events of a side that are of use now; 0: none. */
uint32_t gate_link_wants(const gate_link_t *self, link_side_t side);

#endif
