/* A TCP port that the gate serves for one socket of a session or viewer: what
 * its connections may send, and how much of it the owner of the socket has not
 * taken yet. The owner's thread and the gate's thread share it; what both use
 * is atomic. */
#ifndef HEARTH_GATEWAY_GATE_PORT_H
#define HEARTH_GATEWAY_GATE_PORT_H

#include "base/tcp.h"
#include "gateway/gate/listener.h"
#include "gateway/gate/watch.h"
#include "gateway/gate/zmtp_follower.h"
#include "protocol/channel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of complete messages that may wait for the socket's owner before its
 * connections are read on. */
#define GATE_WAITING_MAX (16 << 20)
/* How long nothing of it may be taken, in ms, until it counts as lost: libzmq
 * drops what a connection sent when it refuses that connection's first command.
 */
#define GATE_LOST_MS 250
/* How long a subscriber may take nothing while its session waits for it and
 * another subscriber takes everything, in ms. */
#define GATE_STALLED_MS 1000
/* Connections of one port. */
#define GATE_PORT_LINKS_MAX 256

typedef struct gate_port {
    struct gate_port *next; /* owned by the gate */
    char *session;          /* owned; id, or name of the viewer */
    channel_t channel;
    char *inner;           /* owned; path of the Unix socket that it leads to */
    tcp_address_t address; /* where it listens */
    pthread_mutex_t lock;  /* of the next two, when they change */
    atomic_int listener;   /* owned; -1: another program has the port */
    bool is_vacated;       /* it listens no more */
    bool is_closed;        /* it is freed with its last connection */
    gate_watch_t watch;    /* the gate's */
    zmtp_limits_t limits;
    unsigned links;            /* connections now */
    unsigned stalled;          /* of those, that take nothing */
    unsigned subscribers;      /* of those, that have subscribed to something */
    bool is_held;              /* its connections are not read */
    bool is_resting;           /* nothing is accepted until the next look: no
                                  descriptor was left, or it does not listen */
    uint64_t seen;             /* bytes that waited at the last look */
    int64_t changed_ms;        /* monotonic; when they were others */
    atomic_llong waiting;      /* bytes that libzmq has for the owner */
    atomic_bool is_left;       /* the owner leaves them where they are */
    atomic_bool is_waited_for; /* the owner waits for its subscribers */
    atomic_uint ended;         /* subscribers that were ended for that */
} gate_port_t;

/* Makes a port. Takes the listener's socket. */
gate_port_t *gate_port_new(const char *session, channel_t channel,
                           const char *inner, listener_t listener);
void gate_port_destroy(gate_port_t **self_p);

/* Makes the port free for others now and for good, before the gate's thread
 * closes it. The owner's call. */
void gate_port_vacate(gate_port_t *self);
/* Listens if it does not yet. Returns false if another program has the port, or
 * if it was vacated before it listened. */
bool gate_port_listen(gate_port_t *self);
/* Closes the listening socket for good. */
void gate_port_shut(gate_port_t *self);

/* Notes a message that the owner has taken from the socket. This and the next
 * two are the owner's calls, and do nothing for NULL: no port. */
void gate_port_took(gate_port_t *self, size_t bytes, size_t frames);
/* Notes that the owner has looked, and whether it found something. */
void gate_port_looked(gate_port_t *self, bool has_found);
/* Notes that the owner takes nothing until it looks again. */
void gate_port_leave(gate_port_t *self);
/* Notes whether the owner waits until subscribers have taken what it
 * published; `self` may be NULL. */
void gate_port_wait(gate_port_t *self, bool is_waiting);
/* Returns how many subscribers were ended for that since the last call. */
unsigned gate_port_take_ended(gate_port_t *self);

/* Counts messages that have become complete, before libzmq gets their ends. */
void gate_port_add(gate_port_t *self, uint64_t bytes);
/* Returns the bytes that wait for the owner. */
uint64_t gate_port_waiting(const gate_port_t *self);
/* Returns true if more waits than may. Forgets what is lost. */
bool gate_port_is_full(gate_port_t *self, int64_t now_ms);

#endif
