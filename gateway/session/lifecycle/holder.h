/* The process that a session belongs to, for example `hearth kernel`: when it
 * ends, in whichever way, the session ends. Watched from outside by its pidfd,
 * so that it need not say anything. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_HOLDER_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_HOLDER_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, as session.json has it. */
typedef struct {
    pid_t pid;           /* 0: none */
    uint64_t start_time; /* of pid, clock ticks since boot */
} holder_id_t;

typedef struct holder holder_t;
/* Called when the process has ended. */
typedef void holder_end_fn(void *arg);

/* Returns a holder without a process. The loop and `arg` are borrowed. */
holder_t *holder_new(zloop_t *loop, holder_end_fn *on_end, void *arg);
/* Frees it; the loop has ended. */
void holder_destroy(holder_t **self_p);
#define cleanup_holder CLEANUP(holder_destroy)

/* Watches the process; nothing happens if `id` has none. -ESRCH if it has
 * ended. */
int holder_watch(holder_t *self, const holder_id_t *id, fault_t *fault);
/* Stops watching the process. */
void holder_forget(holder_t *self);
/* Returns true if a process is watched and has ended: what clients send from
 * now on is meant for another kernel. */
bool holder_has_ended(const holder_t *self);

#endif
