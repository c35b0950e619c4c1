/* See process_control.h. What a keeper says is hostile: it is started by the
 * kernel. A breach ends the connection and the process is lost; the session
 * goes on, because nothing else depends on the keeper. */
#include "gateway/session/processes/process_control.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/processes/process_input.h"
#include "gateway/session/processes/process_records.h"
#include "gateway/session/processes/process_replies.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define START_MS 30000 /* how long a process may take to start */
/* how long the kernel's end may take to be noticed */
#define GONE_MS       500
#define OUTPUT_END_MS 0 /* from SIGTERM to SIGKILL past the output limit */
/* a shell exits with it and the number of the signal that ended its command */
#define SHELL_SIGNAL 128

/* ---- the keeper's socket ---- */

static char *socket_path(const session_t *self, uint64_t number)
{
    return mem_format("%s/process-%" PRIu64 ".sock", self->spec->runtime_folder,
                      number);
}

static void remove_socket(const session_t *self, uint64_t number)
{
    cleanup_free char *path = socket_path(self, number);

    (void) unlink(path);
}

/* ---- the end ---- */

static void finish(session_t *self, process_t *process)
{
    uint64_t number = process->number;
    keeper_message_t dismiss = {KEEPER_DISMISS, {0}, {NULL, 0}};
    fault_t ignored;

    process->ended_us = clock_wall_us();
    if (process->link)
        (void) keeper_link_send(process->link, &dismiss, &ignored);
    remove_socket(self, number);
    processes_end(self->processes, process);
    process_records_end(self, process);
    process_replies_answer_start(self, process);
    process_replies_feed(self, process);
}

static void lose(session_t *self, process_t *process, const char *why)
{
    log_notice("session=%s process %" PRIu64 " lost: %s", self->spec->id,
               process->number, why);
    process->fate = PROCESS_LOST;
    finish(self, process);
}

static void blame_memory(const session_t *self, process_t *process)
{
    process->fate = PROCESS_BY_MEMORY;
    process->memory_limit = self->spec->limits.memory;
}

/* Notes how a process ended with the kernel: the group that has ended the
 * kernel for its memory may have ended all. */
static void note_kernels_end(const session_t *self, process_t *process)
{
    if (self->cause.reason != END_REASON_MEMORY
        || !resource_monitor_kills_all(self->limits.monitor)) {
        process->fate = PROCESS_BY_KERNEL;
        return;
    }
    blame_memory(self, process);
    process->end = KEEPER_SIGNALLED;
    process->code = SIGKILL;
}

void process_control_end_all(session_t *self)
{
    process_t *next;

    for (process_t *at = self->processes->first; at; at = next) {
        next = at->next;
        if (at->phase == PROCESS_ENDED)
            continue;
        note_kernels_end(self, at);
        finish(self, at);
    }
}

/* ---- what a keeper says ---- */

static void on_hello(process_t *process, const keeper_message_t *message)
{
    /* An earlier gateway has counted and journaled the output before. */
    if (message->numbers[1] <= process->noted
        || message->numbers[3] > message->numbers[1])
        return;
    process->noted = message->numbers[1];
    process->bytes[0] = message->numbers[1] - message->numbers[3];
    process->bytes[1] = message->numbers[3];
}

static void on_started(session_t *self, process_t *process,
                       const keeper_message_t *message)
{
    process->pid = (pid_t) message->numbers[0];
    if (process->phase == PROCESS_STARTING)
        process->phase = PROCESS_RUNNING;
    process_replies_answer_start(self, process);
}

/* Returns true if the process is past the bound of a cell's output. */
static bool is_past(const session_t *self, const process_t *process)
{
    uint64_t max = self->spec->limits.cell_output;

    return max && process->bytes[0] + process->bytes[1] > max;
}

/* Ends a process with all that it has started. */
static int stop(process_t *process, int64_t grace_ms, fault_t *fault)
{
    keeper_message_t message = {KEEPER_STOP, {(uint64_t) grace_ms}, {NULL, 0}};

    return keeper_link_send(process->link, &message, fault);
}

static int on_output(session_t *self, process_t *process,
                     const keeper_message_t *message, fault_t *fault)
{
    uint64_t offset = message->numbers[0];
    unsigned stream = (unsigned) message->numbers[1];
    uint64_t end = offset + message->data.size;
    keeper_message_t taken = {KEEPER_TAKEN, {end}, {NULL, 0}};
    size_t fresh = 0, noted;
    int r = process_feed_add(process->feed, offset, stream, message->data,
                             &fresh, fault);

    if (r < 0)
        return r;
    if (end <= process->noted)
        return 0;
    noted = offset < process->noted ? (size_t) (process->noted - offset) : 0;
    process->bytes[stream == KEEPER_STDERR] += message->data.size - noted;
    process_records_output(self, process, offset + noted, stream,
                           (bytes_t){(const char *) message->data.bytes + noted,
                                     message->data.size - noted});
    process->noted = end;
    if (is_past(self, process) && process->fate != PROCESS_BY_OUTPUT) {
        process->fate = PROCESS_BY_OUTPUT;
        notify_limit(self->notify, "output");
        r = stop(process, OUTPUT_END_MS, fault);
    }
    return r < 0 ? r : keeper_link_send(process->link, &taken, fault);
}

static void on_input_taken(session_t *self, process_t *process,
                           const keeper_message_t *message)
{
    uint64_t taken = message->numbers[0], came = message->numbers[1];

    process->input.is_unread = message->numbers[2];
    process_writes_settle(&process->input.writes, came);
    /* After a take-over it is unknown how much was sent. */
    if (process->input.sent < came)
        process->input.sent = came;
    if (process->input.sent < taken)
        process->input.sent = taken;
    if (taken <= process->input.taken)
        return;
    process->input.taken = taken;
    process_replies_send_input(self, process);
}

/* Returns true if SIGKILL has ended the process, or a shell says by its exit
 * status that SIGKILL has ended its command. One that hearth has stopped does
 * not count. */
static bool was_killed(const process_t *process)
{
    return process->fate == PROCESS_BY_KEEPER
           && process->cause == KEEPER_BY_ITSELF
           && ((process->end == KEEPER_SIGNALLED && process->code == SIGKILL)
               || (process->end == KEEPER_EXITED
                   && process->code == SHELL_SIGNAL + SIGKILL));
}

static void on_ended(session_t *self, process_t *process,
                     const keeper_message_t *message)
{
    process->end = (keeper_end_t) message->numbers[0];
    process->code = (int) message->numbers[1];
    process->cause = (keeper_cause_t) message->numbers[2];
    process->cpu_ms = message->numbers[3];
    if (was_killed(process) && resource_monitor_take_kill(self->limits.monitor))
        blame_memory(self, process);
    finish(self, process);
}

static bool on_message(void *arg, const keeper_message_t *message)
{
    process_t *process = arg;
    session_t *self = process->session;
    fault_t fault = {0, ""};
    int r = 0;

    switch (message->kind) {
    case KEEPER_HELLO:
        on_hello(process, message);
        break;
    case KEEPER_STARTED:
        on_started(self, process, message);
        break;
    case KEEPER_OUTPUT:
        r = on_output(self, process, message, &fault);
        break;
    case KEEPER_INPUT_TAKEN:
        on_input_taken(self, process, message);
        break;
    case KEEPER_ENDED:
        on_ended(self, process, message);
        return false;
    case KEEPER_START:
    case KEEPER_INPUT:
    case KEEPER_INPUT_END:
    case KEEPER_SIGNAL:
    case KEEPER_RESIZE:
    case KEEPER_STOP:
    case KEEPER_TAKEN:
    case KEEPER_DISMISS:
        r = fault_set(&fault, EPROTO,
                      "its keeper sent a message that only a gateway sends");
        break;
    }
    if (r < 0)
        lose(self, process, fault.text);
    return r == 0;
}

static void on_closed(void *arg, const char *why)
{
    process_t *process = arg;
    session_t *self = process->session;

    /* All keepers end with the kernel, often before the kernel's own end is
     * noticed. Only a kernel that still lives later has lost a keeper. */
    log_notice("session=%s process %" PRIu64 ": %s", self->spec->id,
               process->number, why);
    keeper_link_destroy(&process->link);
    process->gone_ms = clock_monotonic_ms();
    timers_start_once(self->timers, TIMER_PROCESSES, PROCESS_LOOK_MS);
}

static void on_pause(void *arg)
{
    process_t *process = arg;

    process_replies_feed(process->session, process);
}

static const keeper_link_ops_t ops = {on_message, on_closed, on_pause};

/* ---- birth ---- */

/* Listens, connects, and has the kernel start a keeper there. */
static int call_keeper(session_t *self, process_t *process, fault_t *fault)
{
    cleanup_free char *path = socket_path(self, process->number);
    cleanup_fd int listener = -1;
    int r;

    if (!session_state_is_at_work(self->state)
        || !kernel_link_is_connected(self->link))
        return fault_set(fault, EAGAIN, "the session's kernel is not ready");
    if ((r = fd_listen_packets(path, &listener, fault)) < 0
        || (r = keeper_link_new(self->loop, path, &ops, process, &process->link,
                                fault))
               < 0
        || (r = kernel_link_keep(self->link, listener, fault)) < 0)
        return r;
    return 0;
}

static int send_start(process_t *process, const process_wish_t *wish,
                      fault_t *fault)
{
    cleanup_buffer buffer_t texts = BUFFER_EMPTY;
    keeper_message_t message = {KEEPER_START,
                                {process->is_terminal,
                                 (uint64_t) process->limit_ms,
                                 (uint64_t) wish->rows << 16 | wish->columns,
                                 wish->texts.argument_count},
                                {NULL, 0}};
    int r = keeper_write_start(&wish->texts, &texts, fault);

    if (r < 0)
        return r;
    message.data = buffer_bytes(&texts);
    r = keeper_link_send(process->link, &message, fault);
    if (r == 0 && wish->input.size)
        r = process_input_send(process, buffer_bytes(&wish->input), fault);
    if (r == 0 && !wish->has_input
        && (wish->input.size || !process->is_terminal)) {
        r = process_input_end(process, fault);
        process->input.is_over = !process->is_terminal;
    }
    return r;
}

int process_control_start(session_t *self, process_t *process,
                          const process_wish_t *wish, fault_t *fault)
{
    int r;

    process->session = self;
    process->started_us = clock_wall_us();
    process->asked_ms = clock_monotonic_ms();
    if ((r = call_keeper(self, process, fault)) < 0
        || (r = send_start(process, wish, fault)) < 0
        || (r = process_records_start(self, process, fault)) < 0) {
        remove_socket(self, process->number);
        processes_remove(self->processes, process);
        return r;
    }
    timers_start_once(self->timers, TIMER_PROCESSES, PROCESS_LOOK_MS);
    return 0;
}

/* ---- time ---- */

bool process_control_keeps_awake(const session_t *self)
{
    for (const process_t *at = self->processes->first; at; at = at->next)
        if (at->phase != PROCESS_ENDED && !at->is_terminal)
            return true;
    return false;
}

/* Returns true if its keeper has ended, and it is not known why. */
static bool is_gone(const process_t *process)
{
    return process->gone_ms && process->phase != PROCESS_ENDED;
}

void process_control_on_timer(void *session)
{
    session_t *self = session;
    int64_t now = clock_monotonic_ms();
    bool goes_on = false;
    process_t *next;

    for (process_t *at = self->processes->first; at; at = next) {
        next = at->next;
        process_feed_expire(at->feed, now);
        if (at->asked_ms && now - at->asked_ms > START_MS)
            lose(self, at, "it did not begin in time");
        else if (is_gone(at) && now - at->gone_ms >= GONE_MS)
            lose(self, at, "its keeper has ended before the kernel");
        else if (at->link)
            process_replies_feed(self, at);
    }
    for (process_t *at = self->processes->first; at; at = at->next)
        goes_on = goes_on || at->asked_ms || is_gone(at)
                  || process_feed_has_viewers(at->feed);
    if (goes_on)
        timers_start_once(self->timers, TIMER_PROCESSES, PROCESS_LOOK_MS);
}

/* ---- processes of another gateway ---- */

void process_control_find(session_t *self)
{
    process_t *next;
    fault_t fault;

    for (process_t *at = self->processes->first; at; at = next) {
        cleanup_free char *path = socket_path(self, at->number);

        next = at->next;
        if (at->phase == PROCESS_ENDED)
            continue;
        at->phase = PROCESS_RUNNING;
        at->input.writes.is_unsettled = true;
        if (keeper_link_new(self->loop, path, &ops, at, &at->link, &fault) < 0)
            lose(self, at, fault.text);
    }
}
