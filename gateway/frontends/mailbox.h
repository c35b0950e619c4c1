/* The sessions' threads, and the lines between them and the registry. An actor
 * of czmq's has two sockets, and its owner looks at each; here all lines end in
 * one, so that a session takes one descriptor for it, and a turn of the owner's
 * loop is the same with one session and with a thousand. */
#ifndef HEARTH_GATEWAY_FRONTENDS_MAILBOX_H
#define HEARTH_GATEWAY_FRONTENDS_MAILBOX_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <czmq.h>

/* The owner's thread alone uses both. */
typedef struct switchboard switchboard_t;
typedef struct line line_t;

switchboard_t *switchboard_new(void);
/* After its lines. */
void switchboard_destroy(switchboard_t **self_p);
#define cleanup_switchboard CLEANUP(switchboard_destroy)

/* To be polled. */
zsock_t *switchboard_socket(switchboard_t *self);
/* What a line's actor said, the caller's; NULL: nothing more for now. */
zmsg_t *switchboard_receive(switchboard_t *self, void **ret_owner);

/* `actor` runs in a thread of its own, with its end of the line. `args` is its
 * to free; `owner` is what switchboard_receive tells. */
int line_new(switchboard_t *switchboard, zactor_fn *actor, void *args,
             void *owner, line_t **ret_line, fault_t *fault);
/* Says $TERM and waits for the thread's end. What it said last is dropped. */
void line_destroy(line_t **self_p);
#define cleanup_line CLEANUP(line_destroy)
/* The same, but no longer than until `deadline_ms` (monotonic). False when the
 * thread has not ended by then: it, its end of the line and its `args` are left
 * as they are, and the program cannot end in an orderly way any more. */
bool line_end(line_t **self_p, int64_t deadline_ms);

/* A hint: its thread has something to do that is better not done on that
 * processor (base/processor.h), until it says otherwise. */
void line_keep_off(line_t *self, int processor);
/* A word and what belongs to it. An actor that has ended hears nothing. */
void line_say(line_t *self, const char *word, const char *first,
              const char *second);

#endif
