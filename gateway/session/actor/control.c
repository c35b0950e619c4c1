/* See control.h. */
#include "gateway/session/actor/control.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/frontends.h"
#include "gateway/frontends/handover.h"
#include "gateway/session/actor/dispatch.h"
#include "gateway/session/actor/launch.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/revival.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/deletion.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/holding.h"
#include "gateway/session/core/imported.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/shutdown.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/lifecycle/workspace_owner.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/tool_requests.h"
#include "protocol/jspan_write.h"

#include <jansson.h>

#define DRAIN_MS  20   /* between two checks of what is waited for */
#define SETTLE_MS 8000 /* for a start or an end that is under way */

static void on_attach(session_t *self, session_command_t *command)
{
    zsock_t *socket;
    fault_t fault;

    if (frontends_attach(self->frontends, command->text, &socket, &fault) < 0) {
        notify_answer(self->notify, command->token,
                      json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename",
                                "NotAttached", "evalue", fault.text,
                                "exit_code", GATEWAY_EXIT_FAILED));
        return;
    }
    if (socket && !session_state_is_held(self->state))
        zloop_reader(self->loop, socket, receive_on_frontend, self);
    announce_greet(self, command->text);
    announce_session(self, command->token);
}

/* Records what the profile has from the index; that it has nothing only after a
 * kernel that had something. The kernel starts without that record, too. */
static void note_preinstalled(const session_t *self,
                              const session_launching_t *launching)
{
    const char *contents = launching->preinstalled_contents;
    cleanup_buffer buffer_t nothing = BUFFER_EMPTY;
    fault_t fault;

    if (self->spec->process.preinstalled && !launching->preinstalled) {
        jspan_write_begin(&nothing);
        jspan_write_array(&nothing, "packages");
        jspan_write_end_array(&nothing);
        jspan_write_end(&nothing);
        contents = (const char *) nothing.data;
    }
    if (contents
        && publisher_note(self->publisher, "preinstalled", 0, contents, &fault)
               < 0)
        log_warning("session=%s preinstalled: %s", self->spec->id, fault.text);
}

/* Clients can connect already: their data waits for the kernel. */
static void on_launching(session_t *self, session_command_t *command)
{
    session_launching_t *launching = &command->launching;
    session_spec_t *spec = self->spec;

    spec->process.host_uid = launching->host_uid;
    spec->process.init_uid = launching->init_uid;
    spec->process.has_ids = true;
    free(spec->packages.shown);
    spec->packages.shown = take_ptr(launching->packages);
    note_preinstalled(self, launching);
    free(spec->process.preinstalled);
    spec->process.preinstalled = take_ptr(launching->preinstalled);
    launch_begin(self, take_fd(&launching->status_fd),
                 launching->group ? launching->group : "");
}

static void on_launched(session_t *self, session_command_t *command)
{
    session_state_step(self->state, STATE_ON_FORKED);
    if (session_kernel(self)) {
        launch_note_process(self, command->launched.pid,
                            take_fd(&command->launched.pidfd));
    } else { /* the kernel had ended before it was contacted */
        termination_read_status(self);
        stop_begin(self, END_REASON_LAUNCH,
                   "the sandbox's pid 1 was ended while it was made");
    }
    /* The launcher had kept this thread off the kernel's processor. */
    cpu_affinity_restore(&self->processors);
}

static void on_failed(session_t *self, session_command_t *command)
{
    session_state_step(self->state, STATE_ON_LAUNCH_FAILED);
    stop_begin(self, END_REASON_LAUNCH, "%s", command->text);
    termination_finish(self);
}

static void on_again(session_t *self, session_command_t *command)
{
    session_state_step(self->state, STATE_ON_LAUNCH_FAILED);
    stop_repeat_launch(self);
    stop_begin(self, END_REASON_LAUNCH, "%s", command->text);
    termination_finish(self);
}

static void on_show(session_t *self, session_command_t *command)
{
    announce_to(self, command->token, command->text);
}

static void on_loss_reported(session_t *self, session_command_t *command)
{
    loss_report_deliver(self, command->loss.reader, command->loss.seq);
    announce_session(self, command->token);
}

/* Has the kernel touch its memory, which is cold by now, while its client still
 * has to connect. It comes after the answer, because the system often wakes a
 * kernel on the waking thread's processor and lets it run first. */
static void rehearse(session_t *self)
{
    frame_t frame = {.type = FRAME_REHEARSE};
    fault_t ignored;

    (void) kernel_link_send(self->link, &frame, &ignored);
}

/* Takes the session out of the pool: it has a client now, and its lifetime
 * begins. */
static void on_hand(session_t *self, session_command_t *command)
{
    session_hand_t *hand = &command->hand;
    session_spec_t *spec = self->spec;
    fault_t fault;

    if (!session_state_is(self->state, PHASE_IDLE)
        || !kernel_is_alive(session_kernel(self))) {
        notify_report(self->notify, SESSION_SPENT);
        return;
    }
    if (hand->name) {
        free(spec->name);
        spec->name = take_ptr(hand->name);
    }
    spec->asker = take_ptr(hand->asker);
    spec->asked.tools = take_ptr(hand->tools);
    spec->asked.downloads = hand->downloads;
    hand->downloads = (download_wishes_t){0};
    spec->holder = hand->holder;
    spec->times.idle_timeout_ms = hand->idle_timeout_ms;
    spec->times.lifetime_ms = hand->lifetime_ms;
    spec->times.cell_limit_ms = hand->cell_limit_ms;
    spec->times.gone_keep_ms = hand->gone_keep_ms;
    spec->restarts = hand->restarts;
    spec->is_pooled = false;
    spec->times.created_us = clock_wall_us();
    activity_touch(self);
    activity_count_lifetime(self);
    /* A gateway that found a member of the pool would remove it. */
    if (persist_now(self) < 0) {
        spec->is_pooled = true;
        notify_report(self->notify, SESSION_SPENT);
        shutdown_at_once(self, "its description could not be written");
        return;
    }
    notify_send(self->notify,
                session_report_new(SESSION_HANDED, command->token));
    announce_created(self, command->token);
    rehearse(self);
    /* Pid 1 wakes as the kernel does. If the gateway is killed before this, an
     * empty session ends with it, and the next gateway says so. */
    (void) kernel_command(session_kernel(self), 'O', &fault);
    announce_start_soon(self);
    holding_begin(self);
}

static bool refuse_if_gone(session_t *self, uint64_t token)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    if (!session_state_is(self->state, PHASE_GONE))
        return false;
    replies_write_gone(self, &name, &sentence);
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename",
                            name, "evalue", (const char *) sentence.data,
                            "exit_code", 3));
    return true;
}

/* Aborts a cell that waits, and leaves the one that runs alone. One that has
 * not come is aborted when it does: requests come by other sockets than
 * commands. Returns false if the running one is meant. */
static bool abort_waiting(session_t *self, const session_command_t *command)
{
    const request_t *request =
        request_queue_find_id(self->requests, command->interrupt.msg_id);
    bool waits = request && request_is_execute(request);

    if (request && request == request_queue_running(self->requests))
        return false;
    if (waits)
        replies_abort(self, request->number);
    else if (!request)
        request_queue_abort_early(self->requests, command->interrupt.msg_id);
    notify_answer(self->notify, command->token,
                  json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome",
                            waits ? "aborted" : "idle", "variables",
                            "preserved"));
    dispatch_settle(self);
    return true;
}

static void on_interrupt(session_t *self, session_command_t *command)
{
    if (refuse_if_gone(self, command->token)
        || (command->interrupt.msg_id && abort_waiting(self, command)))
        return;
    /* The first client gets the known part; the newer one gets the outcome. */
    escalation_answer_known(self);
    interrupt_await(self->interrupt, command->token, command->interrupt.kills);
    escalation_begin(self, command->interrupt.kills);
}

static void on_restart(session_t *self, session_command_t *command)
{
    if (refuse_if_gone(self, command->token))
        return;
    shutdown_begin(self, true);
    announce_session(self, command->token);
}

static void on_delete(session_t *self, session_command_t *command)
{
    if (refuse_if_gone(self, command->token))
        return;
    deletion_await(self, command->token);
    shutdown_begin(self, false);
}

static void on_end(session_t *self, session_command_t *command)
{
    shutdown_at_once(self, command->text);
}

static void on_keepalive(session_t *self, session_command_t *command)
{
    if (refuse_if_gone(self, command->token))
        return;
    activity_touch(self);
    announce_session(self, command->token);
}

static void fail(session_t *self, uint64_t token, const char *what,
                 const fault_t *fault)
{
    notify_answer(
        self->notify, token,
        json_pack("{s:s,s:s,s:o,s:i}", "status", "error", "ename",
                  "JournalError", "evalue",
                  json_sprintf("%s was not kept: the session's journal cannot "
                               "be written (%s)",
                               what, fault->text),
                  "exit_code", GATEWAY_EXIT_FAILED));
}

/* Adds a note, JSON that the registry has checked, to the journal. For a
 * session that is gone the gateway alone does that, of what a client has
 * changed. */
static void on_note(session_t *self, session_command_t *command)
{
    fault_t fault;

    if (command->token && refuse_if_gone(self, command->token))
        return;
    if (publisher_note(self->publisher, "note", 0, command->text, &fault) < 0)
        fail(self, command->token, "the note", &fault);
    else
        announce_session(self, command->token);
    if (session_state_is(self->state, PHASE_GONE))
        journal_rest(self->journal);
}

/* Launches a fresh kernel; the answer is READY or GONE. */
static void on_revive(session_t *self, session_command_t *command)
{
    fault_t fault;

    if (workspace_owner_begin(self->spec, command->host_uid, &fault) < 0
        || revival_begin(self, &fault) < 0)
        notify_gone(self->notify, self->spec->end.reason, fault.text);
}

static void on_revived(session_t *self, session_command_t *command)
{
    fault_t fault;

    if (refuse_if_gone(self, command->token))
        return;
    if (revival_report(self, command->text, &fault) < 0)
        fail(self, command->token, "the report", &fault);
    else
        announce_session(self, command->token);
}

static void on_full(session_t *self, session_command_t *command)
{
    stop_begin(self, END_REASON_WORKSPACE, "%s", command->text);
}

static void on_file(session_t *self, session_command_t *command)
{
    fault_t fault;

    if (session_state_is(self->state, PHASE_GONE))
        return;
    if (publisher_note(self->publisher, "file", 0, command->text, &fault) < 0)
        log_warning("session=%s file: %s", self->spec->id, fault.text);
}

/* Returns true if the kernel is being made, and its pid is not known yet. */
static bool awaits_process(const session_t *self)
{
    return session_state_is(self->state, PHASE_STARTING)
           && !self->spec->process.pid;
}

static bool has_grace_left(const session_t *self)
{
    int64_t now_ms = clock_monotonic_ms();

    if (session_state_is(self->state, PHASE_BUSY))
        return now_ms < self->clocks.drained;
    if (session_state_is(self->state, PHASE_STOPPING) || awaits_process(self))
        return now_ms < self->clocks.settled;
    return false;
}

/* Leaves the kernel to the next gateway. That finds a kernel by its pid, so a
 * kernel without one would be lost, and is killed. */
static void finish_drain(session_t *self)
{
    if (session_kernel(self) && awaits_process(self))
        kernel_kill(session_kernel(self));
    kernel_link_hold(self->link, true);
    (void) persist_now(self);
    imported_give_up(self);
    notify_report(self->notify, SESSION_DRAINED);
    timers_end_loop(self->timers);
}

void control_on_drain(void *session)
{
    session_t *self = session;

    if (session_state_is(self->state, PHASE_GONE))
        return; /* the end was reported */
    if (has_grace_left(self))
        timers_start(self->timers, TIMER_DRAIN, DRAIN_MS);
    else
        finish_drain(self);
}

/* Stops and keeps the kernel. Requests that have arrived are accepted and wait
 * in the journal for the next gateway; a running cell gets the grace time to
 * finish. An end that is under way is waited for, because pid 1 would keep its
 * report until there is another gateway. */
static void on_drain(session_t *self, session_command_t *command)
{
    session_state_step(self->state, STATE_ON_DRAIN);
    self->clocks.drained = clock_monotonic_ms() + command->grace_ms;
    self->clocks.settled = clock_monotonic_ms() + SETTLE_MS;
    timers_start(self->timers, TIMER_DRAIN, 1);
}

static void on_tools(session_t *self, session_command_t *command)
{
    if (!refuse_if_gone(self, command->token))
        tool_requests_take(self, command);
}

/* Frees the ports of a tombstone early: new sessions need room. */
static void on_forget(session_t *self, session_command_t *command)
{
    (void) command;
    if (session_state_is(self->state, PHASE_GONE))
        notify_report(self->notify, SESSION_REMOVED);
}

static void on_look(session_t *self, session_command_t *command)
{
    imported_ask(self, command->token, command->text);
}

static void on_no_start(session_t *self, session_command_t *command)
{
    free(self->start.hindrance);
    self->start.hindrance = *command->text ? take_ptr(command->text) : NULL;
}

static void (*const handlers[SESSION_COMMANDS])(session_t *self,
                                                session_command_t *command) = {
    [SESSION_LAUNCHING] = on_launching,
    [SESSION_LAUNCHED] = on_launched,
    [SESSION_FAILED] = on_failed,
    [SESSION_AGAIN] = on_again,
    [SESSION_HAND] = on_hand,
    [SESSION_SHOW] = on_show,
    [SESSION_INTERRUPT] = on_interrupt,
    [SESSION_RESTART] = on_restart,
    [SESSION_DELETE] = on_delete,
    [SESSION_END] = on_end,
    [SESSION_TOUCH] = on_keepalive,
    [SESSION_NOTE] = on_note,
    [SESSION_ATTACH] = on_attach,
    [SESSION_REVIVE] = on_revive,
    [SESSION_REVIVED] = on_revived,
    [SESSION_DRAIN] = on_drain,
    [SESSION_FULL] = on_full,
    [SESSION_FILE] = on_file,
    [SESSION_TOOLS] = on_tools,
    [SESSION_FORGET] = on_forget,
    [SESSION_NO_START] = on_no_start,
    [SESSION_LOOK] = on_look,
    [SESSION_LOSS_REPORTED] = on_loss_reported,
};

void control_take(session_t *self, session_command_t **command_p)
{
    cleanup_session_command session_command_t *command = take_ptr(*command_p);

    if (session_state_service(self->state) != SERVICE_BROKEN)
        handlers[command->kind](self, command);
}

int control_on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    session_command_t *command = handover_receive(pipe);

    (void) loop;
    if (!command)
        return -1; /* the registry ends the thread */
    control_take(arg, &command);
    receive_after_command(arg);
    return 0;
}
