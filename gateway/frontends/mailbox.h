/* Starts the sessions' threads, and carries messages between them and the
 * registry. A czmq actor has two sockets, and its owner polls one per actor.
 * Here all lines end in one socket: a session takes one descriptor for it, and
 * a turn of the owner's loop costs the same with one session and with a
 * thousand. */
#ifndef HEARTH_GATEWAY_FRONTENDS_MAILBOX_H
#define HEARTH_GATEWAY_FRONTENDS_MAILBOX_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/frontends/handover.h"

#include <czmq.h>

/* Only the owner's thread uses both types. */
typedef struct mailbox mailbox_t;
typedef struct mailbox_line mailbox_line_t;

/* Makes a mailbox. Objects that were sent but not taken are destroyed by these
 * functions: those to the actors, and those from them. */
mailbox_t *mailbox_new(handover_destroy_fn *destroy_sent,
                       handover_destroy_fn *destroy_received);
/* Frees the mailbox, after all its lines. */
void mailbox_destroy(mailbox_t **self_p);
#define cleanup_mailbox CLEANUP(mailbox_destroy)

/* Returns the socket to be polled for mailbox_receive. */
zsock_t *mailbox_socket(mailbox_t *self);
/* Returns an object that an actor has sent (handover.h), which the caller owns;
 * NULL if no object waits. *ret_owner is the line's owner. */
void *mailbox_receive(mailbox_t *self, void **ret_owner);

/* Runs `actor` in a thread of its own, with its end of the line. The actor
 * frees `args`. mailbox_receive returns `owner` with what the actor sends. */
int mailbox_line_new(mailbox_t *mailbox, zactor_fn *actor, void *args,
                     void *owner, mailbox_line_t **ret_line, fault_t *fault);
/* Ends the thread and waits for it. Its last messages are destroyed. */
void mailbox_line_destroy(mailbox_line_t **self_p);
#define cleanup_mailbox_line CLEANUP(mailbox_line_destroy)
/* Ends the thread like mailbox_line_destroy, but waits only until `deadline_ms`
 * (monotonic). Returns false if the thread still runs: it, its end of the line
 * and its `args` are then leaked, and the program can no longer end in an
 * orderly way. */
bool mailbox_line_end(mailbox_line_t **self_p, int64_t deadline_ms);

/* Notes, as a hint, that the thread's next work should avoid `processor`
 * (base/cpu_affinity.h), until the next call. */
void mailbox_line_keep_off(mailbox_line_t *self, int processor);
/* Sends an object to the actor, which takes it. An actor that has ended
 * receives nothing. */
void mailbox_line_send(mailbox_line_t *self, void *object);
/* Asks the actor to end. */
void mailbox_line_stop(mailbox_line_t *self);

#endif
