/* The session actor: its start, its end, and what follows from timers and from
 * the kernel's process. One thread owns the session. */
#include "gateway/session/actor/actor.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/frontends/handover.h"
#include "gateway/session/actor/control.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/launch.h"
#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/subscribers.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/deletion.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/flow_control.h"
#include "gateway/session/core/holding.h"
#include "gateway/session/core/imported.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/monitoring.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/shutdown.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/output_batch.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/kernel/stream_merge.h"
#include "gateway/session/lifecycle/deadlines.h"
#include "gateway/session/lifecycle/holder.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/processes/process_control.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "gateway/session/requests/seed_runner.h"
#include "gateway/session/requests/unlogged_replies.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_recording.h"
#include "protocol/jspan.h"

#include <inttypes.h>

#define FORK_MS 20 /* a fork takes less if processors are free */

/* ---- events of timers and the kernel ---- */

static void on_idle(void *arg)
{
    session_t *self = arg;

    if (!session_state_is(self->state, PHASE_IDLE)
        || request_queue_size(self->requests)
        || process_control_keeps_awake(self)) {
        activity_touch(self);
        return;
    }
    if (activity_goes_on(self))
        return;
    if (activity_is_output_alone(self))
        stop_begin(self, END_REASON_IDLE_TIMEOUT,
                   "without a request for longer than its output alone may "
                   "keep it (sessions/output_timeout, %g s)",
                   (double) self->spec->times.output_timeout_ms / 1000);
    else
        stop_begin(self, END_REASON_IDLE_TIMEOUT,
                   "idle for %g s, its inactivity timeout",
                   (double) self->spec->times.idle_timeout_ms / 1000);
}

static void on_lifetime(void *arg)
{
    session_t *self = arg;

    stop_begin(self, END_REASON_LIFETIME, "its lifetime of %g s was over",
               (double) self->spec->times.lifetime_ms / 1000);
}

static timers_handler_t *const timer_handlers[TIMER_COUNT] = {
    [TIMER_SAVE] = persist_on_timer,
    [TIMER_RETRY] = dispatch_on_retry,
    [TIMER_START] = announce_on_start,
    [TIMER_IDLE] = on_idle,
    [TIMER_LIFETIME] = on_lifetime,
    [TIMER_READY] = launch_on_unready,
    [TIMER_SEED] = launch_on_seed,
    [TIMER_CELL] = dispatch_on_cell_limit,
    [TIMER_INTERRUPT] = escalation_on_timer,
    [TIMER_STOP] = termination_on_stop,
    [TIMER_LEAVE] = shutdown_on_timer,
    [TIMER_DELETION] = deletion_on_timer,
    [TIMER_LINK] = kernel_events_on_link,
    [TIMER_TOMBSTONE] = termination_on_tombstone,
    [TIMER_DRAIN] = control_on_drain,
    [TIMER_HOLD] = subscribers_on_hold,
    [TIMER_SUBSCRIBED] = subscribers_on_new,
    [TIMER_UNSUBSCRIBED] = subscribers_on_change,
    [TIMER_JOURNAL] = kernel_events_on_journal,
    [TIMER_UNLOGGED] = replies_on_unlogged,
    [TIMER_OUTPUTS] = kernel_events_on_outputs,
    [TIMER_REPLIES] = dispatch_on_replies,
    [TIMER_MEMORY] = flow_control_on_memory,
    [TIMER_RESOURCES] = monitoring_on_timer,
    [TIMER_TOOLS] = host_tools_on_timer,
    [TIMER_IMPORTED] = imported_give_up,
    [TIMER_PROCESSES] = process_control_on_timer,
    [TIMER_LATENCY] = announce_on_latency,
};

static void on_input(void *arg)
{
    kernel_events_read(arg);
}

static void on_end(void *arg)
{
    termination_finish(arg);
}

static void on_silent(void *arg)
{
    session_t *self = arg;

    /* Before LAUNCHED, the zygote's answer says why. */
    if (kernel_pidfd(session_kernel(self)) >= 0 || self->spec->is_adopted)
        termination_finish(self);
}

static void on_status(void *arg)
{
    termination_read_status(arg);
}

static const kernel_link_ops_t link_ops = {
    .on_input = on_input,
    .on_end = on_end,
    .on_silent = on_silent,
    .on_status = on_status,
};

/* ---- start ---- */

static int begin_fresh(session_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_buffer buffer_t note = BUFFER_EMPTY;
    int r =
        connection_file_write(&spec->connection, spec->connection_file, fault);

    if (r < 0)
        return r;
    jspan_write_begin(&note);
    jspan_write_text(&note, "profile", spec->profile->name);
    jspan_write_end(&note);
    r = publisher_note(self->publisher, "launch", 0, (char *) note.data, fault);
    if (r < 0)
        return fault_wrap(fault, "the journal of session %s", spec->id);
    publisher_status(self->publisher, "starting", (bytes_t){0});
    if (unlogged_replies_reserve(self->unlogged, fault) < 0)
        log_debug("session=%s reserve: %s", spec->id, fault->text);
    activity_touch(self);
    activity_count_lifetime(self);
    (void) persist_now(self);
    return 0;
}

static int begin_gone(session_t *self)
{
    const session_spec_t *spec = self->spec;

    session_state_step(self->state, STATE_ON_FIND_GONE);
    if (recovery_misses_end(self->recovery))
        termination_note_lost(self);
    termination_keep_tombstone(self, deadlines_left(spec->times.gone_keep_ms,
                                                    spec->end.ended_us,
                                                    clock_wall_us()));
    subscribers_hold(self);
    return 0;
}

/* Notes that the kernel of the other gateway is lost or being ended. */
static void lose_kernel(session_t *self)
{
    if (recovery_is_leaving(self->recovery))
        shutdown_go_on(self);
    else
        stop_expect(self);
}

/* Takes the kernel. If its launch or its seed was interrupted, the rest may
 * never come. */
static void take_kernel(session_t *self)
{
    session_state_step(self->state, STATE_ON_WANT_NOTHING);
    if (session_state_is(self->state, PHASE_STARTING)) {
        launch_await_ready(self);
    } else if (self->spec->seed.is_running) {
        seed_runner_stop(self->start.seed);
        shutdown_begin(self, true);
    } else {
        launch_check_adopted(self);
    }
}

/* Takes over a session of an ended gateway, whose kernel has continued
 * meanwhile. */
static int begin_adopted(session_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    int r;

    if (spec->kernel_session[0])
        publisher_set_kernel_session(self->publisher, spec->kernel_session);
    r = recovery_read(self, fault);
    if (r < 0)
        return r;
    if (spec->end.reason[0])
        return begin_gone(self);
    monitoring_adopt(self);
    activity_take_over(self);
    activity_count_lifetime(self);
    if (kernel_link_open(self->link, spec->runtime_folder,
                         session_spec_shares_user(spec), fault)
            < 0
        || kernel_link_adopt(self->link, spec->process.pid,
                             spec->process.start_time, fault)
               < 0) {
        log_notice("session=%s kernel lost: %s", spec->id, fault->text);
        lose_kernel(self);
    } else if (recovery_is_leaving(self->recovery)) {
        shutdown_go_on(self);
    } else {
        take_kernel(self);
        process_control_find(self);
    }
    subscribers_hold(self);
    return 0;
}

static int begin(session_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_free char *folder = mem_format("%s/journal", spec->state_folder);
    cleanup_free char *sockets = session_spec_sockets(spec);
    channel_place_t place = {
        .name = spec->id, .prefix = sockets, .is_restored = spec->is_adopted};
    uint64_t torn = 0;
    int r = channels_new(&spec->connection, &place, &self->channels, fault);

    if (r < 0)
        return r;
    channels_watch(self->channels, audit_events_bad_message, self->audit);
    /* If the gateway is killed, the next one finds that no client had it. */
    if (spec->is_pooled && !spec->is_adopted
        && (r = session_spec_write(spec, fault)) < 0)
        return r;
    r = journal_open(folder, spec->journal.key, &spec->journal.options,
                     &self->journal, &torn, fault);
    if (r < 0)
        return r;
    if (torn)
        log_warning("session=%s journal: %" PRIu64 " bytes of an unfinished "
                    "record were cut off",
                    spec->id, torn);
    self->publisher = publisher_new(self->channels, self->frontends,
                                    self->journal, spec->epoch);
    loss_report_begin(self);
    channels_greet(self->channels, subscribers_greet, self);
    r = spec->is_adopted ? begin_adopted(self, fault)
                         : begin_fresh(self, fault);
    if (r < 0)
        return r;
    subscribers_open(self);
    holding_begin(self);
    return 0;
}

/* Ends a session that cannot be taken over: no client could ever reach it. Its
 * tombstone says why. */
static void abandon(session_t *self, const fault_t *why)
{
    session_spec_t *spec = self->spec;
    fault_t fault;

    if (!spec->is_adopted || spec->end.reason[0])
        return;
    if (!session_kernel(self)
        && kernel_link_open(self->link, spec->runtime_folder,
                            session_spec_shares_user(spec), &fault)
               == 0)
        (void) kernel_link_adopt(self->link, spec->process.pid,
                                 spec->process.start_time, &fault);
    /* Its end is not heard of: there may be no journal to note it. */
    kernel_link_unwatch(self->link);
    kernel_link_close(self->link);
    snprintf(spec->end.reason, sizeof spec->end.reason, "%s",
             end_reason_name(END_REASON_LOST));
    free(spec->end.detail);
    spec->end.detail = mem_format("it could not be taken over: %s", why->text);
    spec->end.ended_us = clock_wall_us();
    if (session_spec_write(spec, &fault) < 0)
        log_error("session=%s state: %s", spec->id, fault.text);
}

/* Makes the parts that bound the session's kernel and peers. */
static void make_limits(session_t *self)
{
    const session_spec_t *spec = self->spec;
    cleanup_free char *source =
        spec->asked.limits ? mem_format("session %s", spec->id)
                           : mem_format("profile %s", spec->profile->name);

    self->interrupt = interrupt_new(spec->times.grace_ms);
    self->limits.backpressure = backpressure_new(
        spec->bounds.subscriber_bytes, spec->bounds.subscriber_patience_ms);
    self->limits.memory = held_memory_new(spec->bounds.memory,
                                          spec->bounds.subscriber_patience_ms);
    self->limits.output = output_limit_new(&spec->limits, source);
    self->outputs.batch = output_batch_new();
    self->outputs.merge = stream_merge_new();
    self->unlogged = unlogged_replies_new(spec->state_folder);
}

static session_t *session_new(zsock_t *pipe, session_spec_t *spec)
{
    session_t *self = mem_new(sizeof *self);

    self->spec = spec;
    self->processors = cpu_affinity_save();
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    self->timers = timers_new(self->loop, timer_handlers, self);
    self->state = session_state_new();
    self->holder = holder_new(self->loop, holding_on_end, self);
    self->notify = notify_new(pipe);
    self->frontends = frontends_new(spec->id);
    self->link = kernel_link_new(self->loop, &link_ops, self);
    self->requests = request_queue_new(spec->epoch);
    self->processes = processes_new();
    self->limits.monitor = resource_monitor_new(spec);
    self->audit = audit_events_new(spec);
    self->losses = loss_notice_new();
    self->start.seed = seed_runner_new(spec);
    self->start.revival = revive_new();
    self->tools.providers = tool_providers_new(spec->times.tool_grace_ms);
    self->tools.calls = tool_calls_new(&spec->limits);
    make_limits(self);
    return self;
}

/* ---- end ---- */

static void destroy_limits(session_t *self)
{
    unlogged_replies_destroy(&self->unlogged);
    output_batch_destroy(&self->outputs.batch);
    stream_merge_destroy(&self->outputs.merge);
    output_limit_destroy(&self->limits.output);
    held_memory_destroy(&self->limits.memory);
    backpressure_destroy(&self->limits.backpressure);
    interrupt_destroy(&self->interrupt);
}

static void session_destroy(session_t **self_p)
{
    session_t *self = *self_p;

    if (!self)
        return;
    announce_start(self);
    kernel_link_destroy(&self->link);
    processes_destroy(&self->processes);
    resource_monitor_destroy(&self->limits.monitor);
    audit_events_destroy(&self->audit);
    loss_notice_destroy(&self->losses);
    request_destroy(&self->held_back);
    request_queue_destroy(&self->requests);
    zloop_destroy(&self->loop);
    holder_destroy(&self->holder);
    timers_destroy(&self->timers);
    notify_destroy(&self->notify);
    publisher_destroy(&self->publisher);
    frontends_destroy(&self->frontends);
    journal_destroy(&self->journal);
    channels_destroy(&self->channels);
    destroy_limits(self);
    recovery_destroy(&self->recovery);
    revive_destroy(&self->start.revival);
    tool_calls_destroy(&self->tools.calls);
    tool_recording_destroy(&self->tools.recording);
    buffer_reset(&self->tools.missing);
    tool_providers_destroy(&self->tools.providers);
    seed_runner_destroy(&self->start.seed);
    session_state_destroy(&self->state);
    imported_clear(self);
    buffer_reset(&self->info);
    buffer_reset(&self->unanswered.deletions);
    free(self->start.hindrance);
    session_spec_destroy(&self->spec);
    free(self);
    *self_p = NULL;
}

/* ---- loop ---- */

/* Returns the first command, which the caller owns; NULL if the registry ends
 * the thread. The parts made here are needed only when the kernel is ready. On
 * two processors they would delay the kernel, so they are made after the fork,
 * with the next command. */
static session_command_t *await_fork(zsock_t *pipe)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(pipe), .events = ZMQ_POLLIN};
    session_command_t *command = handover_receive(pipe);

    if (command && command->kind == SESSION_LAUNCHING)
        (void) zmq_poll(&item, 1, FORK_MS);
    return command;
}

static void report_broken(session_t *self, const fault_t *fault)
{
    session_report_t *event = session_report_new(SESSION_BROKEN, 0);

    event->text = mem_text(fault->text);
    notify_send(self->notify, event);
}

void session_actor(zsock_t *pipe, void *args)
{
    session_t *self = session_new(pipe, args);
    bool is_adopted = self->spec->is_adopted;
    session_command_t *first = is_adopted ? NULL : await_fork(pipe);
    bool is_ended = !is_adopted && !first;
    fault_t fault;

    if (begin(self, &fault) < 0) {
        log_error("session=%s not started: %s", self->spec->id, fault.text);
        session_state_step(self->state, STATE_ON_BREAK);
        abandon(self, &fault);
        report_broken(self, &fault);
    }
    notify_listen(self->notify, self->loop, control_on_pipe, self);
    if (first)
        control_take(self, &first);
    if (!is_ended)
        zloop_start(self->loop);
    if (session_state_service(self->state) == SERVICE_DRAINING)
        frontends_say_goodbye(self->frontends, "drained",
                              "the gateway stops; the session is kept");
    else
        frontends_say_goodbye(self->frontends, "removed",
                              "the session was removed");
    session_destroy(&self);
}
