/* See revival.h. */
#include "gateway/session/actor/revival.h"

#include "base/clock.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/revive.h"

#include <errno.h>
#include <string.h>

int revival_begin(session_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    int r;

    if (!session_state_is(self->state, PHASE_GONE))
        return fault_set(fault, EALREADY, "the session is alive");
    r = connection_file_write(&spec->connection, spec->connection_file, fault);
    if (r < 0)
        return r;
    revive_write_unfinished(&report);
    r = publisher_note(self->publisher, "reviving", 0,
                       (const char *) report.data, fault);
    if (r < 0)
        return r;
    timers_stop(self->timers, TIMER_TOMBSTONE);
    timers_stop(self->timers, TIMER_CELL);
    /* After a crash of the gateway some requests may have no answer. */
    replies_fail_all(self, "KernelDied",
                     "the session was gone; its variables are lost");
    spec->end.reason[0] = '\0';
    free(take_ptr(spec->end.detail));
    spec->end.ended_us = 0;
    spec->times.created_us = clock_wall_us(); /* its lifetime begins again */
    self->cause.detail[0] = '\0';
    revive_keep(self->start.revival, buffer_bytes(&report));
    termination_relaunch(self);
    announce_state(self);
    activity_count_lifetime(self);
    (void) persist_now(self);
    return 0;
}

int revival_report(session_t *self, const char *report, fault_t *fault)
{
    int r = publisher_note(self->publisher, "revived", 0, report, fault);

    if (r < 0)
        return r;
    revive_keep(self->start.revival, text_bytes(report));
    return 0;
}
