/* A kernel that somebody wants ended, or another one in its place: asked to
 * leave, so that what it has registered for its end is run, and killed when it
 * does not. Who asked has the answer at once; the journal therefore says what
 * is still to be done, for the gateway that comes when this one is killed. */
#include "gateway/session/internal.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define LEAVE_MS 1000 /* before it is killed */

static int on_patience(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    ending_begin(self, LIFE_REASON_DELETED, "%s", "ended on request");
    return 0;
}

/* For the kernel, and for the journal. */
static const char *describe(bool restart)
{
    return restart ? "{\"restart\":true}" : "{\"restart\":false}";
}

/* Not for a member of the pool: nobody takes that over. */
static void note(self_t *self)
{
    fault_t fault;

    if (!self->spec->is_pooled
        && output_note(self->output, "leaving", 0,
                       describe(self->is_relaunching), &fault)
               < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
}

static void explain(self_t *self, bool restart)
{
    self->reason = LIFE_REASON_DELETED;
    snprintf(self->detail, sizeof self->detail, "%s",
             restart ? "restarted on request" : "ended on request");
}

static int send_shutdown(self_t *self, bool restart)
{
    const char *content = describe(restart);
    const frame_t frame = {
        .type = FRAME_SHUTDOWN,
        .request = turns_number(self),
        .content = {content, strlen(content)},
    };
    fault_t fault;

    return session_send(self, &frame, &fault);
}

void leaving_begin(self_t *self, bool restart)
{
    bool is_busy = self->state == LIFE_BUSY;

    if (self->state == LIFE_GONE)
        return;
    /* The end is wanted of what was about to begin anew, on request or after
     * a limit: no other order counts any more. */
    if (self->state == LIFE_STOPPING
        && (restart || !ending_wants_relaunch(self)))
        return;
    self->is_relaunching = restart && !self->spec->is_external;
    self->is_unwanted = !restart;
    /* A limit stays what ended it. */
    if (self->state != LIFE_STOPPING || self->reason == LIFE_REASON_DELETED)
        explain(self, restart);
    note(self);
    if (self->state == LIFE_STOPPING)
        return;
    if (self->is_relaunching)
        ending_fail_requests(self);
    if (is_busy || !self->kernel || !self->info.size || !self->is_greeted
        || send_shutdown(self, restart) < 0) {
        ending_begin(self, LIFE_REASON_DELETED, "%s", "ended on request");
        return;
    }
    life_step(&self->state, LIFE_ON_STOP);
    commands_tell_state(self);
    session_start_timer(self, &self->stop_timer, LEAVE_MS, on_patience);
}

void leaving_go_on(self_t *self)
{
    self->is_leaving = false;
    explain(self, self->is_relaunching);
    /* It has been asked already, most likely, and is not asked again. */
    if (self->kernel && kernel_pidfd(self->kernel) >= 0)
        ending_begin(self, LIFE_REASON_DELETED, "%s", "ended on request");
    else
        ending_expect(self);
}
