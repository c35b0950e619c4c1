/* A session's connection to the keeper of one process (protocol/keeper.h), and
 * what the loop watches of it. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_KEEPER_LINK_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_KEEPER_LINK_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/keeper.h"

#include <czmq.h>

/* The owner's callbacks; `arg` is its own. */
typedef struct {
    /* Takes a message, which is hostile. Returns false if it has destroyed the
     * link. */
    bool (*on_message)(void *arg, const keeper_message_t *message);
    /* The keeper has closed its end, or sends what is no message; `why` is a
     * sentence. Destroys the link. */
    void (*on_closed)(void *arg, const char *why);
    /* Is called after several messages; may destroy the link. */
    void (*on_pause)(void *arg);
} keeper_link_ops_t;

typedef struct keeper_link keeper_link_t;

/* Connects to the keeper that listens, or will, at `path`. Loop and ops are
 * borrowed. */
int keeper_link_new(zloop_t *loop, const char *path,
                    const keeper_link_ops_t *ops, void *arg,
                    keeper_link_t **ret_link, fault_t *fault);
void keeper_link_destroy(keeper_link_t **self_p);
#define cleanup_keeper_link CLEANUP(keeper_link_destroy)

/* Sends a message; what the socket does not take waits. -EBUSY: too much waits
 * already. */
int keeper_link_send(keeper_link_t *self, const keeper_message_t *message,
                     fault_t *fault);
/* Stops reading, or reads again. */
void keeper_link_hold(keeper_link_t *self, bool is_held);

#endif
