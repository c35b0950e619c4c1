/* See persist.h. */
#include "gateway/session/core/persist.h"

#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"

#define SAVE_MS 50 /* how long changes are gathered */

int persist_now(session_t *self)
{
    session_spec_t *spec = self->spec;
    fault_t fault;
    int r;

    timers_stop(self->timers, TIMER_SAVE);
    /* Subscribers that were here before may still come back. */
    if (!session_state_is_held(self->state))
        spec->subscribers =
            self->channels ? channels_subscribers(self->channels) : 0;
    spec->times.asked_us = self->clocks.asked_us;
    snprintf(spec->kernel_session, sizeof spec->kernel_session, "%s",
             publisher_kernel_session(self->publisher));
    r = session_spec_write(spec, &fault);
    if (r < 0)
        log_error("session=%s state: %s", spec->id, fault.text);
    return r;
}

void persist_soon(session_t *self)
{
    timers_start_once(self->timers, TIMER_SAVE, SAVE_MS);
}

void persist_on_timer(void *session)
{
    (void) persist_now(session);
}
