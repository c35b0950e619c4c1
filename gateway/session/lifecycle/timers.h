/* The timers of a session: one of each name, in the loop of its thread. What
 * follows when one expires is in one table, which the session's actor gives. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_TIMERS_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_TIMERS_H

#include "base/cleanup.h"

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMERS(X)                                                              \
    X(SAVE)         /* session.json is written with what changed meanwhile */  \
    X(RETRY)        /* replies to absent clients are tried again */            \
    X(START)        /* the audit record of the session's start is due */       \
    X(IDLE)         /* the inactivity timeout */                               \
    X(LIFETIME)     /* the lifetime */                                         \
    X(READY)        /* a kernel has to be ready */                             \
    X(SEED)         /* the seed's cells have to be done */                     \
    X(CELL)         /* the time limit of the running cell */                   \
    X(INTERRUPT)    /* the grace between two steps of an interrupt */          \
    X(STOP)         /* a kernel that was killed has to have ended */           \
    X(LEAVE)        /* a kernel that was asked to leave has to have ended */   \
    X(DELETION)     /* a deleted session has to have ended */                  \
    X(LINK)         /* a kernel that closed its link has to have ended */      \
    X(TOMBSTONE)    /* a session that is gone gives up its ports */            \
    X(DRAIN)        /* a look whether the running cell has ended */            \
    X(HOLD)         /* subscribers have to be back after a take-over */        \
    X(SUBSCRIBED)   /* what follows from a new subscription */                 \
    X(UNSUBSCRIBED) /* what follows from the end of one */                     \
    X(JOURNAL)      /* the journal that failed is tried again */               \
    X(UNLOGGED)  /* replies that the journal does not know are tried again */  \
    X(OUTPUTS)   /* a look at what subscribers have not taken */               \
    X(REPLIES)   /* a look at what clients have not taken */                   \
    X(MEMORY)    /* a look at the memory that messages take */                 \
    X(RESOURCES) /* a look at the resources of the kernel */                   \
    X(TOOLS) /* a host tool has to have answered, or its provider to wait */   \
    X(IMPORTED)  /* the kernel has to have said what it has imported */        \
    X(PROCESSES) /* a look at starts and clients of processes */               \
    X(LATENCY)   /* the registry gets the durations of replies */

typedef enum {
#define X(name) TIMER_##name,
    TIMERS(X)
#undef X
    TIMER_COUNT
} timer_name_t;

typedef struct timers timers_t;
typedef void timers_handler_t(void *arg);

/* Returns timers that do not run yet. Loop, handlers and `arg` are borrowed
 * and outlive them. */
timers_t *timers_new(zloop_t *loop,
                     timers_handler_t *const handlers[TIMER_COUNT], void *arg);
/* Frees the timers. Their loop has ended, or was destroyed. */
void timers_destroy(timers_t **self_p);
#define cleanup_timers CLEANUP(timers_destroy)

/* Starts a timer, anew if it runs: its handler is called once, after
 * `delay_ms`, of which less than 1 counts as 1. */
void timers_start(timers_t *self, timer_name_t name, int64_t delay_ms);
/* Starts a timer unless it runs. */
void timers_start_once(timers_t *self, timer_name_t name, int64_t delay_ms);
/* Stops a timer; its handler is not called any more. */
void timers_stop(timers_t *self, timer_name_t name);
/* Returns true if the timer runs. It does not when its handler is called. */
bool timers_is_running(const timers_t *self, timer_name_t name);
/* Ends the loop when the handler that calls this has returned. */
void timers_end_loop(timers_t *self);

#endif
