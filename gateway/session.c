/* The session actor: birth, timers, the registry's commands, the kernel's end.
 * One thread; its state is self_t (internal.h), which nothing else touches.
 * What clients ask is in turns.c, what the kernel says in events.c. */
#include "gateway/internal.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <jansson.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define RETRY_MS 20   /* a reply whose client is away is tried again */
#define HOLD_MS  2000 /* a taken-over session waits for its subscribers */
#define SAVE_MS  50   /* changes of session.json are gathered */
#define LINK_GRACE_MS                                                          \
    300               /* between a closed link and the end of its kernel       \
                       */
#define LEAVE_MS 1000 /* a kernel that was asked to leave, before kill */
#define STOP_MS  5000 /* a killed kernel that does not end: given up */

/* ---- timers ---- */

void session_stop_timer(self_t *self, int *timer)
{
    if (*timer)
        zloop_timer_end(self->loop, *timer);
    *timer = 0;
}

void session_start_timer(self_t *self, int *timer, int64_t delay_ms,
                         zloop_timer_fn *handler)
{
    session_stop_timer(self, timer);
    if (delay_ms < 1)
        delay_ms = 1;
    *timer = zloop_timer(self->loop, (size_t) delay_ms, 1, handler, self);
}

static int on_save(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->save_timer = 0;
    self->spec->subscribers = self->ports ? ports_subscribers(self->ports) : 0;
    snprintf(self->spec->kernel_session, sizeof self->spec->kernel_session,
             "%s", output_kernel_session(self->output));
    if (session_spec_write(self->spec, &fault) < 0)
        log_error("session=%s state: %s", self->spec->id, fault.text);
    return 0;
}

static void save_soon(self_t *self)
{
    if (!self->save_timer)
        session_start_timer(self, &self->save_timer, SAVE_MS, on_save);
}

void session_save(self_t *self)
{
    session_stop_timer(self, &self->save_timer);
    on_save(self->loop, 0, self);
}

static int on_retry(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->retry_timer = 0;
    if (self->ports && ports_retry(self->ports))
        session_start_timer(self, &self->retry_timer, RETRY_MS, on_retry);
    return 0;
}

void session_settle(self_t *self)
{
    turns_next(self);
    if (self->ports && ports_is_holding(self->ports) && !self->retry_timer)
        session_start_timer(self, &self->retry_timer, RETRY_MS, on_retry);
}

static int on_idle(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->idle_timer = 0;
    if (self->state != LIFE_IDLE || self->queue) {
        session_touch(self);
        return 0;
    }
    session_end(self, LIFE_REASON_IDLE_TIMEOUT,
                "idle for %g s, its inactivity timeout",
                (double) self->spec->idle_timeout_ms / 1000);
    return 0;
}

void session_touch(self_t *self)
{
    self->idle_since = clock_monotonic_ms();
    self->idle_since_us = clock_wall_us();
    if (self->spec->idle_timeout_ms && self->state != LIFE_GONE)
        session_start_timer(self, &self->idle_timer,
                            self->spec->idle_timeout_ms, on_idle);
}

static int on_lifetime(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->life_timer = 0;
    session_end(self, LIFE_REASON_LIFETIME, "its lifetime of %g s was over",
                (double) self->spec->lifetime_ms / 1000);
    return 0;
}

/* ---- words to the registry ---- */

void session_tell(self_t *self, const char *word)
{
    zstr_send(self->pipe, word);
}

void session_answer(self_t *self, const char *token, const char *json)
{
    zstr_sendx(self->pipe, "DONE", token, json, NULL);
}

static void set_time(json_t *object, const char *key, int64_t wall_us)
{
    char iso[CLOCK_ISO_SIZE];

    if (!wall_us) {
        json_object_set_new(object, key, json_null());
        return;
    }
    clock_iso(wall_us, iso);
    json_object_set_new(object, key, json_string(iso));
}

static int64_t expires_us(const self_t *self)
{
    if (self->state == LIFE_GONE || self->state == LIFE_BUSY
        || !self->spec->idle_timeout_ms)
        return 0;
    return self->idle_since_us + self->spec->idle_timeout_ms * 1000;
}

static json_t *describe(const self_t *self)
{
    const session_spec_t *spec = self->spec;
    json_t *model = json_object();

    json_object_set_new(model, "id", json_string(spec->id));
    json_object_set_new(model, "name", json_string(spec->name));
    json_object_set_new(model, "profile", json_string(spec->profile->name));
    json_object_set_new(model, "state", json_string(life_name(self->state)));
    json_object_set_new(model, "connection_file",
                        json_string(spec->connection_file));
    json_object_set_new(model, "workspace", json_string(spec->workspace));
    json_object_set_new(model, "journal",
                        json_sprintf("%s/journal", spec->state_folder));
    set_time(model, "created", spec->created_us);
    set_time(model, "last_activity", self->idle_since_us);
    set_time(model, "expires_at", expires_us(self));
    json_object_set_new(model, "idle_timeout",
                        json_real((double) spec->idle_timeout_ms / 1000));
    json_object_set_new(model, "execution_count",
                        json_integer(self->next_count - 1));
    json_object_set_new(model, "pid", json_integer(spec->pid));
    if (self->kernel)
        json_object_set_new(
            model, "memory_kib",
            json_integer((json_int_t) kernel_memory_kib(self->kernel)));
    if (spec->reason[0]) {
        json_object_set_new(model, "reason", json_string(spec->reason));
        json_object_set_new(model, "detail", json_string(spec->detail));
        set_time(model, "ended", spec->ended_us);
    }
    return model;
}

static void answer_json(self_t *self, const char *token, json_t *object)
{
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);

    session_answer(self, token, text);
    json_decref(object);
}

static void answer_session(self_t *self, const char *token)
{
    answer_json(
        self, token,
        json_pack("{s:s,s:o}", "status", "ok", "session", describe(self)));
}

/* ---- the end of a kernel ---- */

void session_gone_error(const self_t *self, const char **ret_name,
                        buffer_t *ret_sentence)
{
    char iso[CLOCK_ISO_SIZE];

    clock_iso(self->spec->ended_us, iso);
    *ret_name = "SessionGone";
    buffer_format(ret_sentence,
                  "session %s is gone since %s (%s: %s); its variables were "
                  "discarded, its recording remains; create a new session, or "
                  "read `hearth notebook export %s`",
                  self->spec->id, iso, self->spec->reason,
                  self->spec->detail ? self->spec->detail : "", self->spec->id);
}

static int on_stop_overdue(zloop_t *loop, int timer, void *arg);

void session_end(self_t *self, life_reason_t reason, const char *format, ...)
{
    va_list args;

    if (self->state == LIFE_GONE)
        return;
    /* The first reason is the cause, later ones are its consequences. */
    if (self->reason == LIFE_REASON_NONE) {
        self->reason = reason;
        va_start(args, format);
        vsnprintf(self->detail, sizeof self->detail, format, args);
        va_end(args);
    }
    life_step(&self->state, LIFE_ON_STOP);
    session_start_timer(self, &self->stop_timer, STOP_MS, on_stop_overdue);
    if (self->kernel)
        kernel_kill(self->kernel);
    else
        session_start_timer(self, &self->stop_timer, 1, on_stop_overdue);
}

static const char *signal_note(int number)
{
    switch (number) {
    case SIGKILL:
        return "; the machine's out-of-memory killer, or somebody's kill -9";
    case SIGSEGV:
        return "; a crash in native code";
    case SIGSYS:
        return "; a system call that the sandbox forbids";
    case SIGXCPU:
        return "; its limit of processor time";
    default:
        return "";
    }
}

static life_reason_t signal_reason(int number)
{
    switch (number) {
    case SIGSYS:
        return LIFE_REASON_SYSCALL;
    case SIGXCPU:
        return LIFE_REASON_CPU;
    default:
        return LIFE_REASON_SIGNAL;
    }
}

static void explain_end(self_t *self)
{
    const kernel_end_t *end = &self->end;

    if (self->reason != LIFE_REASON_NONE)
        return;
    if (!end->is_known) {
        self->reason = LIFE_REASON_LOST;
        snprintf(self->detail, sizeof self->detail,
                 "the kernel ended and nobody saw how");
    } else if (end->by_signal) {
        self->reason = signal_reason(end->code);
        snprintf(self->detail, sizeof self->detail,
                 "the kernel was ended by signal %d (%s)%s", end->code,
                 strsignal(end->code), signal_note(end->code));
    } else {
        self->reason = LIFE_REASON_EXIT;
        snprintf(self->detail, sizeof self->detail,
                 "the kernel exited with code %d", end->code);
    }
}

static bool wants_relaunch(const self_t *self)
{
    if (self->is_relaunching)
        return true;
    if (!self->spec->restarts || !self->info.size)
        return false;
    return self->reason != LIFE_REASON_DELETED
           && self->reason != LIFE_REASON_IDLE_TIMEOUT
           && self->reason != LIFE_REASON_LIFETIME
           && self->reason != LIFE_REASON_LAUNCH;
}

static void unwatch_kernel(self_t *self)
{
    int fds[] = {kernel_init_fd(self->kernel), kernel_pidfd(self->kernel)};

    session_unwatch_link(self);
    for (size_t i = 0; i < 2; i++) {
        zmq_pollitem_t item = {.fd = fds[i]};
        if (fds[i] >= 0)
            zloop_poller_end(self->loop, &item);
    }
}

static void fail_requests(self_t *self)
{
    const char *ename = "KernelDied";
    cleanup_free char *evalue = NULL;

    if (self->reason == LIFE_REASON_WALL)
        ename = "TimeLimitExceeded";
    else if (!wants_relaunch(self)
             && (self->reason == LIFE_REASON_DELETED
                 || self->reason == LIFE_REASON_IDLE_TIMEOUT
                 || self->reason == LIFE_REASON_LIFETIME))
        ename = "SessionGone";
    evalue = mem_format("%s: %s; variables: lost%s",
                        life_reason_name(self->reason), self->detail,
                        wants_relaunch(self) ? "; a fresh kernel takes over"
                                             : "; create a new session");
    turns_fail_all(self, ename, evalue);
}

static int on_removed(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->gone_timer = 0;
    session_tell(self, "REMOVED");
    return 0;
}

static void note(self_t *self, const char *type)
{
    json_auto_t *object = json_pack(
        "{s:s,s:s,s:I,s:I}", "reason", life_reason_name(self->reason), "detail",
        self->detail, "cpu_ms", (json_int_t) self->end.cpu_ms, "maxrss_kib",
        (json_int_t) self->end.maxrss_kib);
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);
    fault_t fault;

    if (output_note(self->output, type, 0, text, &fault) < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
}

static void relaunch(self_t *self)
{
    note(self, "restart");
    life_step(&self->state, LIFE_ON_RELAUNCH);
    output_status(self->output, "restarting", (bytes_t){0});
    output_new_kernel(self->output);
    output_status(self->output, "starting", (bytes_t){0});
    self->kernel_seq = self->told_seq = 0;
    self->reason = LIFE_REASON_NONE;
    self->is_relaunching = self->is_greeted = false;
    self->end = (kernel_end_t){0};
    self->next_count = 1;
    buffer_clear(&self->info);
    session_touch(self);
    session_tell(self, "LAUNCH");
}

/* Nobody listens there any more. */
static void remove_kernel_sockets(const self_t *self)
{
    static const char *const names[] = {"link.sock", "init.sock"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path =
            mem_format("%s/%s", self->spec->runtime_folder, names[i]);
        (void) unlink(path);
    }
}

static void bury(self_t *self)
{
    session_spec_t *spec = self->spec;

    remove_kernel_sockets(self);
    note(self, "gone");
    snprintf(spec->reason, sizeof spec->reason, "%s",
             life_reason_name(self->reason));
    free(spec->detail);
    spec->detail = mem_text(self->detail);
    spec->ended_us = clock_wall_us();
    spec->pid = 0;
    session_stop_timer(self, &self->idle_timer);
    session_stop_timer(self, &self->life_timer);
    output_status(self->output, "dead", (bytes_t){0});
    session_save(self);
    zstr_sendx(self->pipe, "GONE", spec->reason, spec->detail, NULL);
    /* The ports of `hearth kernel` are its launcher's: it may want them for
     * the next kernel at once. */
    session_start_timer(self, &self->gone_timer,
                        spec->is_external ? 1 : spec->gone_keep_ms, on_removed);
}

/* What the launch says: a fault, or nothing and the end when all went well. */
static void read_status(self_t *self)
{
    zmq_pollitem_t item = {.fd = self->status_fd};
    fault_t fault;
    ssize_t size;

    if (self->status_fd < 0)
        return;
    size = read(self->status_fd, &fault, sizeof fault);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    zloop_poller_end(self->loop, &item);
    close(take_fd(&self->status_fd));
    if (size != (ssize_t) sizeof fault)
        return;
    fault.text[sizeof fault.text - 1] = '\0';
    session_end(self, LIFE_REASON_LAUNCH, "%s", fault.text);
}

/* The one place where a kernel's end is dealt with. */
static void on_kernel_end(self_t *self)
{
    if (self->state == LIFE_GONE)
        return;
    read_status(self);
    session_stop_timer(self, &self->limit_timer);
    session_stop_timer(self, &self->stuck_timer);
    if (self->kernel) {
        /* What it said before its end still counts. */
        if (self->reason != LIFE_REASON_PROTOCOL && self->is_greeted)
            for (int i = 0; i < 64 && kernel_link_fd(self->kernel) >= 0; i++)
                events_read(self);
        kernel_read_end(self->kernel, &self->end);
        unwatch_kernel(self);
    }
    session_stop_timer(self, &self->stop_timer);
    explain_end(self);
    log_notice("session=%s kernel ended reason=%s detail=\"%s\"",
               self->spec->id, life_reason_name(self->reason), self->detail);
    /* Those before a restart were told when it was asked for; what has come
     * since is for the fresh kernel. */
    if (!self->is_relaunching)
        fail_requests(self);
    if (self->kernel)
        kernel_kill(self->kernel);
    kernel_destroy(&self->kernel);
    life_step(&self->state, LIFE_ON_EXIT);
    session_ladder_done(self, "killed", "lost");
    if (wants_relaunch(self))
        relaunch(self);
    else
        bury(self);
}

static int on_stop_overdue(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    on_kernel_end(self);
    return 0;
}

static int on_init(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    self_t *self = arg;
    int fd = item->fd;
    zmq_pollitem_t ended = {.fd = fd};

    if (!self->kernel)
        return 0;
    if (kernel_read_end(self->kernel, &self->end)) {
        on_kernel_end(self);
    } else if (kernel_init_fd(self->kernel) < 0) {
        zloop_poller_end(loop, &ended);
        /* Before LAUNCHED, the zygote's answer tells why. */
        if (kernel_pidfd(self->kernel) >= 0 || self->spec->is_adopted)
            on_kernel_end(self);
    }
    return 0;
}

static int on_pidfd(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) item;
    if (self->kernel) {
        kernel_read_end(self->kernel, &self->end);
        on_kernel_end(self);
    }
    return 0;
}

static int on_link_grace(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    if (self->kernel && kernel_link_fd(self->kernel) < 0)
        session_end(self, LIFE_REASON_PROTOCOL,
                    "the kernel closed its link to the gateway");
    return 0;
}

/* Mostly the kernel is ending and pid 1 tells how in a moment. */
void session_on_link_closed(self_t *self)
{
    session_unwatch_link(self);
    self->is_greeted = false;
    if (self->state != LIFE_STOPPING && self->state != LIFE_GONE
        && kernel_pidfd(self->kernel) >= 0)
        session_start_timer(self, &self->stop_timer, LINK_GRACE_MS,
                            on_link_grace);
}

/* ---- the interrupt ladder ---- */

void session_ladder_done(self_t *self, const char *outcome,
                         const char *variables)
{
    session_stop_timer(self, &self->rung_timer);
    self->rung = RUNG_NONE;
    self->limit_reached = self->ladder_kills = false;
    if (!self->interrupt_token)
        return;
    answer_json(self, self->interrupt_token,
                json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome", outcome,
                          "variables", variables));
    free(take_ptr(self->interrupt_token));
}

static int on_rung(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->rung_timer = 0;
    if (self->state != LIFE_BUSY || !self->kernel)
        return 0;
    if (self->rung == RUNG_FIRST) {
        self->rung = RUNG_SECOND;
        kernel_command(self->kernel, 'I', &fault);
        session_start_timer(self, &self->rung_timer, self->spec->grace_ms,
                            on_rung);
    } else if (self->ladder_kills) {
        self->rung = RUNG_KILL;
        session_end(self,
                    self->limit_reached ? LIFE_REASON_WALL : LIFE_REASON_SIGNAL,
                    "the cell ran past its time limit or was interrupted, did "
                    "not yield to two interrupts, and its kernel was killed");
    } else {
        session_ladder_done(self, "running", "preserved");
    }
    return 0;
}

void session_interrupt(self_t *self, bool kills)
{
    fault_t fault;

    if (!self->kernel || self->state != LIFE_BUSY) {
        session_ladder_done(self, "idle", "preserved");
        return;
    }
    self->ladder_kills = self->ladder_kills || kills;
    if (kernel_command(self->kernel, 'I', &fault) < 0)
        log_warning("session=%s interrupt: %s", self->spec->id, fault.text);
    if (self->rung == RUNG_NONE) {
        self->rung = RUNG_FIRST;
        session_start_timer(self, &self->rung_timer, self->spec->grace_ms,
                            on_rung);
    }
}

/* ---- watching ---- */

static int on_link(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    if (!self->kernel)
        return 0;
    if (item->revents & ZMQ_POLLOUT) {
        (void) kernel_flush(self->kernel, &fault);
        if (!kernel_is_writing(self->kernel))
            session_watch_link(self);
    }
    if (item->revents & (ZMQ_POLLIN | ZMQ_POLLERR))
        events_read(self);
    return 0;
}

void session_unwatch_link(self_t *self)
{
    if (self->watched_link >= 0) {
        zmq_pollitem_t item = {.fd = self->watched_link};
        zloop_poller_end(self->loop, &item);
    }
    self->watched_link = -1;
}

void session_watch_link(self_t *self)
{
    zmq_pollitem_t item = {
        .fd = kernel_link_fd(self->kernel),
        .events = ZMQ_POLLIN | ZMQ_POLLERR,
    };

    session_unwatch_link(self);
    if (item.fd < 0)
        return;
    if (kernel_is_writing(self->kernel))
        item.events |= ZMQ_POLLOUT;
    zloop_poller(self->loop, &item, on_link, self);
    zloop_poller_set_tolerant(self->loop, &item);
    self->watched_link = item.fd;
}

static void watch_fd(self_t *self, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN | ZMQ_POLLERR};

    if (fd < 0)
        return;
    zloop_poller(self->loop, &item, handler, self);
    zloop_poller_set_tolerant(self->loop, &item);
}

void session_set_ready(self_t *self)
{
    life_step(&self->state, LIFE_ON_READY);
    session_touch(self);
    session_tell(self, "READY");
}

/* ---- iopub and heartbeat ---- */

static void release(self_t *self)
{
    fault_t fault;

    if (!self->is_held)
        return;
    self->is_held = false;
    session_stop_timer(self, &self->hold_timer);
    recovery_repeat(self);
    if (events_connect(self, &fault) < 0)
        session_end(self, LIFE_REASON_LOST, "the kernel link: %s", fault.text);
}

static int on_hold(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->hold_timer = 0;
    release(self);
    return 0;
}

static int on_iopub(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;
    bytes_t topic;
    int what;

    (void) loop;
    (void) socket;
    while ((what = ports_subscription(self->ports, &topic))) {
        if (what == 1)
            output_welcome(self->output, topic);
        if (self->state != LIFE_GONE)
            save_soon(self);
    }
    if (self->is_held
        && ports_subscribers(self->ports) >= self->spec->subscribers)
        release(self);
    return 0;
}

static int on_heartbeat(zloop_t *loop, zsock_t *socket, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) socket;
    ports_beat(self->ports);
    return 0;
}

static void watch_ports(self_t *self)
{
    zloop_reader(self->loop, ports_socket(self->ports, CHANNEL_SHELL),
                 turns_on_shell, self);
    zloop_reader(self->loop, ports_socket(self->ports, CHANNEL_CONTROL),
                 turns_on_control, self);
    zloop_reader(self->loop, ports_socket(self->ports, CHANNEL_STDIN),
                 turns_on_stdin, self);
    zloop_reader(self->loop, ports_socket(self->ports, CHANNEL_IOPUB), on_iopub,
                 self);
    zloop_reader(self->loop, ports_socket(self->ports, CHANNEL_HB),
                 on_heartbeat, self);
}

/* ---- leaving: the kernel ends by itself, else it is ended ---- */

static int on_left(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    if (self->kernel)
        kernel_kill(self->kernel);
    session_start_timer(self, &self->stop_timer, STOP_MS, on_stop_overdue);
    return 0;
}

void session_leave(self_t *self, bool restart)
{
    bool is_busy = self->state == LIFE_BUSY;
    frame_t frame = {.type = FRAME_SHUTDOWN, .request = turns_number(self)};
    fault_t fault;

    if (self->state == LIFE_GONE || self->state == LIFE_STOPPING)
        return;
    self->is_relaunching = restart && !self->spec->is_external;
    self->reason = LIFE_REASON_DELETED;
    snprintf(self->detail, sizeof self->detail, "%s",
             restart ? "restarted on request" : "ended on request");
    if (self->is_relaunching)
        fail_requests(self);
    frame.content.bytes =
        restart ? "{\"restart\":true}" : "{\"restart\":false}";
    frame.content.size = strlen(frame.content.bytes);
    if (is_busy || !self->kernel || !self->info.size || !self->is_greeted
        || kernel_send(self->kernel, &frame, &fault) < 0) {
        session_end(self, LIFE_REASON_DELETED, "%s", "ended on request");
        return;
    }
    life_step(&self->state, LIFE_ON_STOP);
    session_start_timer(self, &self->stop_timer, LEAVE_MS, on_left);
}

/* ---- commands of the registry ---- */

static int on_status(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void) loop;
    (void) item;
    read_status(arg);
    return 0;
}

/* The listeners stand: what is said to them waits until the kernel comes. */
static void on_launching(self_t *self, const char *status, const char *unused)
{
    fault_t fault;

    (void) unused;
    self->status_fd = (int) strtol(status, NULL, 10);
    watch_fd(self, self->status_fd, on_status);
    if (kernel_new(self->spec->runtime_folder, &self->kernel, &fault) < 0) {
        session_end(self, LIFE_REASON_LAUNCH, "%s", fault.text);
        return;
    }
    watch_fd(self, kernel_init_fd(self->kernel), on_init);
    if (events_connect(self, &fault) < 0)
        session_end(self, LIFE_REASON_LAUNCH, "%s", fault.text);
}

static void on_launched(self_t *self, const char *pid, const char *pidfd)
{
    int fd = (int) strtol(pidfd, NULL, 10);

    if (!self->kernel) {
        close(fd);
        return;
    }
    kernel_set_process(self->kernel, (pid_t) strtol(pid, NULL, 10), fd);
    self->spec->pid = kernel_pid(self->kernel);
    self->spec->start_time = kernel_start_time(self->kernel);
    watch_fd(self, fd, on_pidfd);
    session_save(self);
    if (self->state == LIFE_STOPPING)
        kernel_kill(self->kernel);
}

static void on_failed(self_t *self, const char *text, const char *unused)
{
    (void) unused;
    session_end(self, LIFE_REASON_LAUNCH, "%s", text);
    on_kernel_end(self);
}

static void on_show(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    answer_session(self, token);
}

static bool refuse_if_gone(self_t *self, const char *token)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    if (self->state != LIFE_GONE)
        return false;
    session_gone_error(self, &name, &sentence);
    answer_json(self, token,
                json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename", name,
                          "evalue", (const char *) sentence.data, "exit_code",
                          3));
    return true;
}

static void on_interrupt(self_t *self, const char *token, const char *argument)
{
    if (refuse_if_gone(self, token))
        return;
    free(self->interrupt_token);
    self->interrupt_token = mem_text(token);
    session_interrupt(self, strcmp(argument, "kill") == 0);
}

static void on_restart(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    if (refuse_if_gone(self, token))
        return;
    session_leave(self, true);
    answer_session(self, token);
}

static void on_delete(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    if (refuse_if_gone(self, token))
        return;
    session_leave(self, false);
    answer_session(self, token);
}

static void on_keepalive(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    if (refuse_if_gone(self, token))
        return;
    session_touch(self);
    answer_session(self, token);
}

static void finish_drain(self_t *self)
{
    session_unwatch_link(self);
    session_save(self);
    session_tell(self, "DRAINED");
}

static int on_drained(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->drain_timer = 0;
    self->drain_left_ms -= 20;
    if (self->state == LIFE_BUSY && self->drain_left_ms > 0) {
        session_start_timer(self, &self->drain_timer, 20, on_drained);
        return 0;
    }
    finish_drain(self);
    return -1;
}

/* Requests that have come are taken, and wait in the journal for the next
 * gateway; a running cell gets the grace to finish. */
static void on_drain(self_t *self, const char *grace_ms, const char *unused)
{
    (void) unused;
    self->is_draining = true;
    self->drain_left_ms = strtol(grace_ms, NULL, 10);
    session_start_timer(self, &self->drain_timer, 1, on_drained);
}

static const struct {
    const char *name;
    void (*handler)(self_t *self, const char *first, const char *second);
} commands[] = {
    {"LAUNCHING", on_launching}, {"LAUNCHED", on_launched},
    {"FAILED", on_failed},       {"SHOW", on_show},
    {"INTERRUPT", on_interrupt}, {"RESTART", on_restart},
    {"DELETE", on_delete},       {"TOUCH", on_keepalive},
    {"DRAIN", on_drain},
};

static int on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    self_t *self = arg;
    cleanup_zmsg zmsg_t *message = zmsg_recv(pipe);
    cleanup_free char *name = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *first = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *second = message ? zmsg_popstr(message) : NULL;

    (void) loop;
    if (!name || strcmp(name, "$TERM") == 0)
        return -1;
    if (self->is_broken)
        return 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].handler(self, first ? first : "", second ? second : "");
            return 0;
        }
    assert(!"a command of the registry that no session knows");
    return -1;
}

/* ---- birth and death of the actor ---- */

static int begin_fresh(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    int r = connection_write(&spec->connection, spec->connection_file, fault);

    if (r < 0)
        return r;
    r = output_note(self->output, "launch", 0, "{}", fault);
    if (r < 0)
        return fault_wrap(fault, "the journal of session %s", spec->id);
    output_status(self->output, "starting", (bytes_t){0});
    session_touch(self);
    if (spec->lifetime_ms)
        session_start_timer(self, &self->life_timer, spec->lifetime_ms,
                            on_lifetime);
    session_save(self);
    return 0;
}

static int begin_gone(self_t *self)
{
    int64_t left_ms = self->spec->gone_keep_ms
                      - (clock_wall_us() - self->spec->ended_us) / 1000;

    self->state = LIFE_GONE;
    session_start_timer(self, &self->gone_timer, left_ms, on_removed);
    return 0;
}

/* The kernel of a gateway that is no more: it has gone on meanwhile. */
static int begin_adopted(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    int64_t now = clock_wall_us();
    int r;

    if (spec->kernel_session[0])
        output_set_kernel_session(self->output, spec->kernel_session);
    r = recovery_read(self, fault);
    if (r < 0)
        return r;
    if (spec->reason[0])
        return begin_gone(self);
    session_touch(self);
    if (spec->lifetime_ms)
        session_start_timer(self, &self->life_timer,
                            spec->lifetime_ms - (now - spec->created_us) / 1000,
                            on_lifetime);
    if (kernel_new(spec->runtime_folder, &self->kernel, fault) < 0
        || kernel_adopt_process(self->kernel, spec->pid, spec->start_time,
                                fault)
               < 0) {
        log_notice("session=%s kernel lost: %s", spec->id, fault->text);
        /* pid 1 may have waited to tell how its payload ended. */
        if (self->kernel)
            watch_fd(self, kernel_init_fd(self->kernel), on_init);
        session_start_timer(self, &self->stop_timer, LINK_GRACE_MS,
                            on_stop_overdue);
        return 0;
    }
    watch_fd(self, kernel_init_fd(self->kernel), on_init);
    watch_fd(self, kernel_pidfd(self->kernel), on_pidfd);
    self->is_held = true;
    session_start_timer(self, &self->hold_timer,
                        spec->subscribers ? HOLD_MS : 1, on_hold);
    return 0;
}

static int begin(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_free char *folder = mem_format("%s/journal", spec->state_folder);
    uint64_t torn = 0;
    int r = ports_new(&spec->connection, &self->ports, fault);

    if (r < 0)
        return r;
    r = journal_open(folder, spec->journal_key, &spec->journal_options,
                     &self->journal, &torn, fault);
    if (r < 0)
        return r;
    if (torn)
        log_warning("session=%s journal: %" PRIu64 " bytes of an unfinished "
                    "record were cut off",
                    spec->id, torn);
    self->output = output_new(self->ports, self->journal, spec->epoch);
    r = spec->is_adopted ? begin_adopted(self, fault)
                         : begin_fresh(self, fault);
    if (r < 0)
        return r;
    watch_ports(self);
    return 0;
}

/* A session that cannot be taken over is ended, and its tombstone says why:
 * nobody could ever reach it. */
static void abandon(self_t *self, const fault_t *why)
{
    session_spec_t *spec = self->spec;
    fault_t fault;

    if (!spec->is_adopted || spec->reason[0])
        return;
    if (!self->kernel
        && kernel_new(spec->runtime_folder, &self->kernel, &fault) == 0)
        (void) kernel_adopt_process(self->kernel, spec->pid, spec->start_time,
                                    &fault);
    if (self->kernel)
        kernel_kill(self->kernel);
    snprintf(spec->reason, sizeof spec->reason, "%s",
             life_reason_name(LIFE_REASON_LOST));
    free(spec->detail);
    spec->detail = mem_format("it could not be taken over: %s", why->text);
    spec->ended_us = clock_wall_us();
    if (session_spec_write(spec, &fault) < 0)
        log_error("session=%s state: %s", spec->id, fault.text);
}

static void self_destroy(self_t **self_p)
{
    self_t *self = *self_p;

    if (!self)
        return;
    kernel_destroy(&self->kernel);
    turns_clear(self);
    zloop_destroy(&self->loop);
    output_destroy(&self->output);
    journal_destroy(&self->journal);
    ports_destroy(&self->ports);
    zhashx_destroy(&self->seen);
    buffer_reset(&self->info);
    buffer_reset(&self->merge.text);
    recovery_clear(self);
    if (self->status_fd >= 0)
        close(self->status_fd);
    free(self->interrupt_token);
    session_spec_destroy(&self->spec);
    free(self);
    *self_p = NULL;
}

static void *duplicate_text(const void *text)
{
    return mem_text(text);
}

static void destroy_text(void **text_p)
{
    free(*text_p);
    *text_p = NULL;
}

static self_t *self_new(zsock_t *pipe, session_spec_t *spec)
{
    self_t *self = mem_new(sizeof *self);

    self->pipe = pipe;
    self->spec = spec;
    self->status_fd = self->watched_link = -1;
    self->next_count = 1;
    self->queue_end = &self->queue;
    self->seen = zhashx_new();
    zhashx_set_duplicator(self->seen, duplicate_text);
    zhashx_set_destructor(self->seen, destroy_text);
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    return self;
}

void session_actor(zsock_t *pipe, void *args)
{
    self_t *self = self_new(pipe, args);
    fault_t fault;

    zsock_signal(pipe, 0);
    if (begin(self, &fault) < 0) {
        log_error("session=%s not started: %s", self->spec->id, fault.text);
        self->is_broken = true;
        abandon(self, &fault);
        zstr_sendx(pipe, "BROKEN", fault.text, NULL);
    }
    zloop_reader(self->loop, pipe, on_pipe, self);
    zloop_start(self->loop);
    self_destroy(&self);
}
