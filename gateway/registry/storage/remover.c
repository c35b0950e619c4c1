/* See remover.h. The thread waits on its pipe for czmq's signals: each says
 * that there may be something to remove. */
#include "gateway/registry/storage/remover.h"

#include "base/buffer.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "protocol/czmq_cleanup.h"

#include <czmq.h>

#include <errno.h>
#include <stdlib.h>

struct remover {
    zactor_t *actor; /* owned */
};

static void remover_actor(zsock_t *pipe, void *arg)
{
    cleanup_free char *folder = arg;

    zsock_signal(pipe, 0);
    for (;;) {
        cleanup_zmsg zmsg_t *message = zmsg_recv(pipe);
        fault_t fault;

        if (!message || zmsg_signal(message) < 0)
            return; /* zactor_destroy's $TERM */
        if (path_remove_tree(folder, &fault) < 0 && fault.code != ENOENT)
            log_error("what is left of old sessions: %s", fault.text);
    }
}

remover_t *remover_new(const char *folder)
{
    remover_t *self = mem_new(sizeof *self);

    self->actor = zactor_new(remover_actor, mem_text(folder));
    return self;
}

void remover_destroy(remover_t **self_p)
{
    remover_t *self = *self_p;

    if (!self)
        return;
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

void remover_run(remover_t *self)
{
    zsock_signal(self->actor, 0);
}
