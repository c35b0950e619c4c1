/* Bounds on data that peers have not taken. Beyond a bound the kernel is not
 * read, so that it blocks in its output. Peers that take nothing for too long
 * are disconnected, so that one does not stop the others. Requests, interrupts
 * and ends go on. The same holds for clients that take neither replies nor
 * questions: beyond the bound no request is read or begun. It decides; the
 * session acts. Pure: bytes and time are arguments. */
#ifndef HEARTH_GATEWAY_SESSION_LIMITS_BACKPRESSURE_H
#define HEARTH_GATEWAY_SESSION_LIMITS_BACKPRESSURE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A peer that was slow within this time gets an eighth of the patience. */
#define BACKPRESSURE_AGAIN_MS 60000
/* The kernel is read again when at most this much of `bytes` is left. */
#define BACKPRESSURE_RESUME(bytes) ((bytes) - (bytes) / 16)

typedef enum {
    BACKPRESSURE_READ,            /* the kernel is read */
    BACKPRESSURE_HOLD,            /* the kernel is not read; look again soon */
    BACKPRESSURE_CUT_SUBSCRIBERS, /* the same; slow subscribers have to go */
    BACKPRESSURE_CUT_CLIENTS,     /* the same; clients that take no replies have
                                     to go */
    BACKPRESSURE_CUT_KERNEL,      /* the kernel has to end: no memory is left */
} backpressure_verdict_t;

/* Data that a session holds. */
typedef struct {
    size_t outputs;       /* bytes published and not taken */
    size_t replies;       /* bytes of replies and questions not taken */
    bool is_permitted;    /* the memory of messages has room */
    bool has_to_be_heard; /* the kernel is interrupted or ended */
} backpressure_load_t;

typedef struct backpressure backpressure_t;

/* Returns a state in which nothing waits. Peers may leave `max_bytes` untaken,
 * for `patience_ms`. */
backpressure_t *backpressure_new(uint64_t max_bytes, int64_t patience_ms);
void backpressure_destroy(backpressure_t **self_p);
#define cleanup_backpressure CLEANUP(backpressure_destroy)

/* Decides before the kernel is read: READ or HOLD. After HOLD
 * backpressure_look is due. `now` is monotonic, in ms. */
backpressure_verdict_t backpressure_check(backpressure_t *self,
                                          const backpressure_load_t *load,
                                          int64_t now);
/* Decides again, while the kernel is held. */
backpressure_verdict_t backpressure_look(backpressure_t *self,
                                         const backpressure_load_t *load,
                                         int64_t now);
/* Ends the hold: the kernel is gone. */
void backpressure_end(backpressure_t *self);
/* Returns true while the kernel is not read. */
bool backpressure_is_holding(const backpressure_t *self);
/* Returns since when nothing has improved; monotonic, in ms. */
int64_t backpressure_since(const backpressure_t *self);
/* Lets the last output of an ended kernel pass, even if peers are slow. */
void backpressure_ignore(backpressure_t *self, bool is_ignored);

/* Notes that subscribers were disconnected or are missing: when they are back
 * they may wait for the end of a cell. */
void backpressure_owe(backpressure_t *self, unsigned subscribers);
/* Returns true if a subscriber that came has missed something; it is then no
 * longer owed. */
bool backpressure_give(backpressure_t *self);

/* Decides before a request is read or begun: READ or HOLD. After HOLD
 * backpressure_look_replies is due, and HOLD is the answer until then. */
backpressure_verdict_t backpressure_check_replies(backpressure_t *self,
                                                  size_t replies, int64_t now);
/* Decides again: READ, HOLD or CUT_CLIENTS; the last one holds, too. */
backpressure_verdict_t backpressure_look_replies(backpressure_t *self,
                                                 size_t replies, int64_t now);
/* Returns since when no reply was taken; monotonic, in ms. */
int64_t backpressure_replies_since(const backpressure_t *self);

#endif
