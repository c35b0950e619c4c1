/* See holding.h. */
#include "gateway/session/core/holding.h"

#include "gateway/session/core/shutdown.h"
#include "gateway/session/lifecycle/holder.h"

void holding_on_end(void *session)
{
    session_t *self = session;
    cleanup_free char *why = mem_format("its process, pid %d, has ended",
                                        (int) self->spec->holder.pid);

    shutdown_at_once(self, why);
}

void holding_begin(session_t *self)
{
    fault_t fault;

    if (holder_watch(self->holder, &self->spec->holder, &fault) < 0)
        holding_on_end(self);
}

bool holding_end_if_over(session_t *self)
{
    if (!holder_has_ended(self->holder))
        return false;
    holding_on_end(self);
    return true;
}
