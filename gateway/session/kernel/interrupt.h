/* The escalation of an interrupt: a signal, a look whether Python has got it
 * and whether the kernel came back, and the end of the kernel where that is
 * permitted. It decides; the session acts. Pure: time and bytes are arguments.
 *
 * One request is one signal: code that handles it is left alone for the grace.
 * A second signal follows only if Python code did not get the first one.
 *
 * A kernel that has stopped may have megabytes of output before its reply. So
 * a mark on the link follows each signal; the kernel sends it back after all
 * that it had said. The grace counts from there, while the output before it
 * keeps coming, for seconds at most. A kernel that reports that the cell's own
 * code is over gets more time, once. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_INTERRUPT_H
#define HEARTH_GATEWAY_SESSION_KERNEL_INTERRUPT_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define INTERRUPT_ANSWER_MS  2000        /* then a client gets what is known */
#define INTERRUPT_BEHIND_MS  10000       /* then a mark is given up */
#define INTERRUPT_MOVED_MIN  (64u << 10) /* bytes between two checks */
#define INTERRUPT_YIELDED_MS 20000       /* from there to the reply */
#define INTERRUPT_RETRY_MS   50          /* after a signal that met no code */

/* The limit that caused the interrupt. */
typedef enum {
    CELL_LIMIT_NONE, /* a client did */
    CELL_LIMIT_TIME,
    CELL_LIMIT_OUTPUT,
} cell_limit_t;

typedef enum {
    INTERRUPT_NOTHING, /* only `wait_ms` counts */
    INTERRUPT_SIGNAL,  /* the kernel gets a signal and a mark, then
                          interrupt_note_signal is called */
    INTERRUPT_ANSWER,  /* the client that waits gets what is known */
    INTERRUPT_KILL,    /* the kernel is ended */
    INTERRUPT_DONE,    /* the escalation is over: the kernel goes on running */
} interrupt_action_t;

/* A decision for the session. */
typedef struct {
    interrupt_action_t action;
    int64_t wait_ms; /* interrupt_on_timer is due then; 0: when it was before */
} interrupt_verdict_t;

typedef struct interrupt interrupt_t;

/* Returns an escalation that has not begun. `grace_ms` is between its steps. */
interrupt_t *interrupt_new(int64_t grace_ms);
void interrupt_destroy(interrupt_t **self_p);
#define cleanup_interrupt CLEANUP(interrupt_destroy)

/* Notes whether the kernel reports that Python code has got a signal. For one
 * that does not, each signal counts as one that Python code may have got. */
void interrupt_set_reports(interrupt_t *self, bool reports);

/* Begins an escalation for a cell that runs; one that goes on is not begun
 * anew, but the kernel gets one more signal. `kills` permits the last step,
 * also to one that goes on. `now` is monotonic, in ms. */
interrupt_verdict_t interrupt_start(interrupt_t *self, bool kills, int64_t now);
/* Begins an escalation likewise for a limit that the cell has reached. The
 * kernel gets no second signal if it is being interrupted. */
interrupt_verdict_t interrupt_start_for_limit(interrupt_t *self,
                                              cell_limit_t limit, int64_t now);
/* Notes that a signal was sent, and after it the mark of that number; 0: no
 * mark. `received` are the bytes that the link has brought so far. */
void interrupt_note_signal(interrupt_t *self, uint64_t mark, uint64_t received);
/* Decides when the mark `number` was read. */
interrupt_verdict_t interrupt_on_mark(interrupt_t *self, uint64_t number,
                                      int64_t now);
/* Decides when the kernel has reported that Python code got a signal.
 * `is_taken`: code that may be interrupted was running. */
interrupt_verdict_t interrupt_on_strike(interrupt_t *self, bool is_taken,
                                        int64_t now);
/* Decides when the kernel has reported that the running cell's code is over. */
interrupt_verdict_t interrupt_on_yield(interrupt_t *self, int64_t now);
/* Decides when the time of the last verdict is over. */
interrupt_verdict_t interrupt_on_timer(interrupt_t *self, uint64_t received,
                                       int64_t now);
/* Ends an escalation that is under way: the cell or its kernel has ended. */
void interrupt_end(interrupt_t *self);

/* Keeps the token of the client's request that waits for the outcome. If it
 * `kills`, it waits for the end of the escalation. */
void interrupt_await(interrupt_t *self, uint64_t token, bool kills);
/* Returns that token, and forgets it; 0: no request waits. */
uint64_t interrupt_take_token(interrupt_t *self);

/* Returns true if the kernel is being interrupted. */
bool interrupt_is_on(const interrupt_t *self);
/* Returns true if Python code is known to have got a signal. */
bool interrupt_is_handled(const interrupt_t *self);
/* Returns true if Python code is known to have got none. */
bool interrupt_is_kept(const interrupt_t *self);
/* Returns the limit that the running cell has reached. */
cell_limit_t interrupt_limit(const interrupt_t *self);

#endif
