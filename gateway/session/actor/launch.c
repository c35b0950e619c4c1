/* See launch.h. */
#include "gateway/session/actor/launch.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/monitoring.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/lifecycle/sandbox_check.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/requests/seed_runner.h"

#include <errno.h>

#define WARM_MS 300000 /* the zygote may have a large preload list */

void launch_on_unready(void *session)
{
    session_t *self = session;

    if (session_state_is(self->state, PHASE_STARTING))
        stop_begin(self, END_REASON_LAUNCH,
                   "the kernel was not ready in time (%g s from its fork, "
                   "sessions/ready_timeout; %d s where a Python warms up)",
                   (double) self->spec->times.ready_ms / 1000, WARM_MS / 1000);
}

void launch_await_ready(session_t *self)
{
    const session_spec_t *spec = self->spec;

    timers_start(self->timers, TIMER_READY,
                 spec->profile->is_fresh ? WARM_MS : spec->times.ready_ms);
}

int launch_connect(session_t *self, fault_t *fault)
{
    session_state_step(self->state, STATE_ON_HELLO);
    return kernel_link_connect(self->link, self->spec->runtime_folder, fault);
}

void launch_begin(session_t *self, int status, const char *group)
{
    session_spec_t *spec = self->spec;
    fault_t fault;

    monitoring_begin(self, group);
    session_state_step(self->state, STATE_ON_LAUNCH);
    if (!self->clocks.launched)
        self->clocks.launched = clock_monotonic_ms();
    /* The name is noted first, so that the next gateway can remove the group,
     * whatever becomes of this launch. */
    if (*group)
        (void) persist_now(self);
    kernel_link_watch_status(self->link, status);
    timers_start(self->timers, TIMER_READY, WARM_MS);
    /* The connection is refused if the launch has failed already; the zygote's
     * answer says why. */
    if (kernel_link_open(self->link, spec->runtime_folder,
                         session_spec_shares_user(spec), &fault)
        < 0) {
        if (fault.code != ECONNREFUSED)
            stop_begin(self, END_REASON_LAUNCH, "%s", fault.text);
        return;
    }
    if (spec->is_pooled)
        (void) kernel_command(session_kernel(self), 'U', &fault);
    if (launch_connect(self, &fault) < 0 && fault.code != ECONNREFUSED)
        stop_begin(self, END_REASON_LAUNCH, "%s", fault.text);
}

/* Checks the sandbox while the kernel starts, so that its READY has less to
 * wait for. A sandbox that is not complete yet (pid 1 may still become its
 * program) is checked once more, when the kernel is ready. */
static void look_ahead(session_t *self)
{
    fault_t ignored;

    if (sandbox_check(self->spec, kernel_pid(session_kernel(self)),
                      resource_monitor_group(self->limits.monitor),
                      SANDBOX_CHECK_START, &ignored)
        == 0)
        session_state_step(self->state, STATE_ON_CHECKED);
}

void launch_note_process(session_t *self, pid_t pid, int pidfd)
{
    kernel_link_set_process(self->link, pid, pidfd);
    self->spec->process.pid = kernel_pid(session_kernel(self));
    self->spec->process.start_time = kernel_start_time(session_kernel(self));
    (void) persist_now(self);
    launch_await_ready(self);
    if (session_state_is(self->state, PHASE_STOPPING)) {
        kernel_kill(session_kernel(self));
    } else if (self->info.size) { /* READY came first */
        launch_admit(self);
        dispatch_settle(self);
    } else {
        look_ahead(self);
    }
}

/* ---- ready ---- */

void launch_on_seed(void *session)
{
    session_t *self = session;

    if (self->spec->seed.is_running)
        stop_begin(self, END_REASON_LAUNCH,
                   "cell %zu of the seed still ran after %g s "
                   "(profile/%s/seed_timeout is for all of them)",
                   seed_runner_cell(self->start.seed),
                   (double) self->spec->profile->seed_ms / 1000,
                   self->spec->profile->name);
}

static void set_ready(session_t *self)
{
    timers_stop(self->timers, TIMER_READY);
    self->clocks.launched = 0;
    session_state_step(self->state, STATE_ON_READY);
    if (!seed_runner_begin(self->start.seed)) {
        announce_ready(self);
        return;
    }
    (void) persist_now(self); /* so that the next gateway does not take the
                          kernel for ready */
    timers_start(self->timers, TIMER_SEED, self->spec->profile->seed_ms);
}

void launch_admit(session_t *self)
{
    kernel_t *kernel = session_kernel(self);
    bool was_seen = session_state_launch(self->state) == LAUNCH_CHECKED;
    fault_t fault;

    if (!kernel || !kernel_pid(kernel))
        return; /* LAUNCHED names the process to check */
    if (sandbox_check(self->spec, kernel_pid(kernel),
                      resource_monitor_group(self->limits.monitor),
                      was_seen ? SANDBOX_CHECK_AGAIN : SANDBOX_CHECK_START,
                      &fault)
        < 0)
        stop_begin(self, END_REASON_LAUNCH,
                   "the sandbox differs from its plan: %s", fault.text);
    else if (session_state_is(self->state, PHASE_STARTING))
        set_ready(self);
}

void launch_check_adopted(session_t *self)
{
    fault_t fault;
    int r;

    if (!self->spec->process.has_ids)
        return;
    r = sandbox_check(self->spec, kernel_pid(session_kernel(self)),
                      resource_monitor_group(self->limits.monitor),
                      SANDBOX_CHECK_ADOPTED, &fault);
    if (r == -EPROTO)
        stop_begin(
            self, END_REASON_LAUNCH,
            "found by another gateway, the sandbox differs from its plan: %s",
            fault.text);
    else if (r < 0) /* the process ends just now, or hides itself from its own
                       user */
        log_notice("session=%s cannot be looked at: %s", self->spec->id,
                   fault.text);
}
