/* The end of a session's kernel, whoever wanted it: asked to leave
 * (shutdown.c), killed, died by itself. One place decides what is told to the
 * clients, what stands in the tombstone, and whether a fresh kernel follows. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <jansson.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Between a closed link and the end of its kernel. */
#define LINK_GRACE_MS 300
#define STOP_MS       5000 /* a killed kernel that does not end: given up */

void ending_error(const self_t *self, const char **ret_name,
                  buffer_t *ret_sentence)
{
    char iso[CLOCK_ISO_SIZE];

    clock_iso(self->spec->ended_us, iso);
    *ret_name = "SessionGone";
    buffer_format(ret_sentence,
                  "session %s is gone since %s (%s: %s); its variables were "
                  "discarded, its recording remains; `hearth session revive "
                  "%s` builds it again from that, or create a new session",
                  self->spec->id, iso, self->spec->reason,
                  self->spec->detail ? self->spec->detail : "", self->spec->id);
}

static int on_overdue(zloop_t *loop, int timer, void *arg);

void ending_begin(self_t *self, life_reason_t reason, const char *format, ...)
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
        record_stop(self);
    }
    life_step(&self->state, LIFE_ON_STOP);
    commands_tell_state(self);
    session_start_timer(self, &self->stop_timer, STOP_MS, on_overdue);
    if (self->kernel)
        kernel_kill(self->kernel);
    else
        session_start_timer(self, &self->stop_timer, 1, on_overdue);
}

static const char *signal_note(const self_t *self, int number)
{
    switch (number) {
    case SIGKILL:
        return self->watch.group ? "; not for its own limits: the machine's "
                                   "out-of-memory killer, or somebody's "
                                   "kill -9"
                                 : "; the machine's out-of-memory killer, or "
                                   "somebody's kill -9";
    case SIGSEGV:
        return "; a crash in native code";
    case SIGBUS:
        return "; as when a file that is mapped has no room to grow: /tmp "
               "(limits/tmp) or /dev/shm (limits/shm) is full";
    case SIGSYS:
        return "; a system call that the sandbox forbids";
    default:
        return "";
    }
}

static life_reason_t signal_reason(int number)
{
    return number == SIGSYS ? LIFE_REASON_SYSCALL : LIFE_REASON_SIGNAL;
}

static void explain_end(self_t *self)
{
    const kernel_end_t *end = &self->end;

    if (self->reason != LIFE_REASON_NONE)
        return;
    if (watch_explain(self)) { /* the kernel's own limit, not one of ours */
        record_stop(self);
        return;
    }
    if (!end->is_known) {
        self->reason = LIFE_REASON_LOST;
        snprintf(self->detail, sizeof self->detail,
                 "the kernel ended and nobody saw how");
    } else if (end->by_signal) {
        self->reason = signal_reason(end->code);
        snprintf(self->detail, sizeof self->detail,
                 "the kernel was ended by signal %d (%s)%s", end->code,
                 strsignal(end->code), signal_note(self, end->code));
    } else {
        self->reason = LIFE_REASON_EXIT;
        snprintf(self->detail, sizeof self->detail,
                 "the kernel exited with code %d", end->code);
    }
}

bool ending_wants_relaunch(const self_t *self)
{
    if (self->is_relaunching)
        return true;
    /* One whose seed ends its kernel would do it again. */
    if (self->is_unwanted || !self->spec->restarts || !self->info.size
        || self->spec->is_seeding)
        return false;
    return self->reason != LIFE_REASON_DELETED
           && self->reason != LIFE_REASON_IDLE_TIMEOUT
           && self->reason != LIFE_REASON_LIFETIME
           && self->reason != LIFE_REASON_WORKSPACE /* it is full as before */
           && self->reason != LIFE_REASON_LAUNCH;
}

static void unwatch_kernel(self_t *self)
{
    int fds[] = {self->watched_init, self->watched_pidfd};

    self->watched_init = self->watched_pidfd = -1;
    session_unwatch_link(self);
    for (size_t i = 0; i < 2; i++) {
        zmq_pollitem_t item = {.fd = fds[i]};
        if (fds[i] >= 0)
            zloop_poller_end(self->loop, &item);
    }
}

void ending_fail_requests(self_t *self)
{
    const char *ename = "KernelDied";
    cleanup_free char *evalue = NULL;

    if (self->reason == LIFE_REASON_WALL)
        ename = "TimeLimitExceeded";
    else if (!ending_wants_relaunch(self)
             && (self->reason == LIFE_REASON_DELETED
                 || self->reason == LIFE_REASON_IDLE_TIMEOUT
                 || self->reason == LIFE_REASON_LIFETIME))
        ename = "SessionGone";
    evalue =
        mem_format("%s: %s; variables: lost%s", life_reason_name(self->reason),
                   self->detail,
                   ending_wants_relaunch(self) ? "; a fresh kernel takes over"
                                               : "; create a new session");
    turns_fail_all(self, ename, evalue);
}

static int on_removed(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->gone_timer = 0;
    commands_tell(self, "REMOVED", NULL, NULL);
    return 0;
}

void ending_keep_tombstone(self_t *self, int64_t keep_ms)
{
    session_start_timer(self, &self->gone_timer, keep_ms, on_removed);
    journal_rest(self->journal);
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

void ending_relaunch(self_t *self)
{
    life_step(&self->state, LIFE_ON_RELAUNCH);
    /* A client takes this for a kernel that died: who asked for a restart
     * knows of it, and has an answer. */
    if (self->reason != LIFE_REASON_DELETED)
        output_status(self->output, "restarting", (bytes_t){0});
    output_new_kernel(self->output);
    output_status(self->output, "starting", (bytes_t){0});
    self->kernel_seq = self->told_seq = 0;
    self->said = (said_t){0};
    self->reason = LIFE_REASON_NONE;
    self->is_relaunching = self->is_greeted = self->is_unwanted = false;
    self->spec->is_seeding = false;
    self->end = (kernel_end_t){0};
    self->next_count = 1;
    buffer_clear(&self->info);
    session_touch(self);
    commands_tell(self, "LAUNCH", NULL, NULL);
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
    lending_end(self);
    trips_tell(self);
    commands_tell(self, "GONE", spec->reason, spec->detail);
    /* The ports of `hearth kernel` are its launcher's: it may want them for
     * the next kernel at once. */
    ending_keep_tombstone(
        self, spec->is_external || spec->is_pooled ? 1 : spec->gone_keep_ms);
}

/* What the payload wrote last was not checked by anybody yet. */
static void make_plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || (unsigned char) *text > '~')
            *text = '?';
}

static void forget_status(self_t *self)
{
    zmq_pollitem_t item = {.fd = self->status_fd};

    if (self->status_fd < 0)
        return;
    zloop_poller_end(self->loop, &item);
    close(take_fd(&self->status_fd));
}

/* What the launch says: a fault, or nothing and the end when all went well. */
void ending_read_status(self_t *self)
{
    fault_t fault;
    ssize_t size;

    if (self->status_fd < 0)
        return;
    size = read(self->status_fd, &fault, sizeof fault);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    forget_status(self);
    if (size != (ssize_t) sizeof fault)
        return;
    /* The environment was exchanged on disk: what is warm is out of date. */
    if (fault.code == ESTALE)
        commands_tell(self, "STALE", NULL, NULL);
    fault.text[sizeof fault.text - 1] = '\0';
    make_plain(fault.text);
    ending_begin(self, LIFE_REASON_LAUNCH, "%s%s", fault.text,
                 fault.code == ESTALE ? "; it is warmed up anew, try again in "
                                        "a few seconds"
                                      : "");
}

/* The one place where a kernel's end is dealt with. */
void ending_finish(self_t *self)
{
    if (self->state == LIFE_GONE)
        return;
    /* Those who have to hear of it are not back yet. */
    if (self->is_held) {
        self->is_end_held = true;
        unwatch_kernel(self);
        return;
    }
    ending_read_status(self);
    forget_status(self);
    session_stop_timer(self, &self->limit_timer);
    session_stop_timer(self, &self->ready_timer);
    session_stop_timer(self, &self->stuck_timer);
    if (self->kernel) {
        /* What it said before its end still counts. */
        self->pressure.is_ignored = true;
        if (self->reason != LIFE_REASON_PROTOCOL && self->is_greeted)
            for (int i = 0; i < 64 && kernel_link_fd(self->kernel) >= 0; i++)
                events_read(self);
        self->pressure.is_ignored = false;
        kernel_read_end(self->kernel, &self->end);
        unwatch_kernel(self);
    }
    session_stop_timer(self, &self->stop_timer);
    explain_end(self);
    log_notice("session=%s kernel ended reason=%s detail=\"%s\"",
               self->spec->id, life_reason_name(self->reason), self->detail);
    if (self->running && self->running->is_execute && !self->running->is_seed)
        record_cell_lost(self, self->running);
    if (!self->spec->is_pooled)
        record_end(self);
    /* Those before a restart were told when it was asked for; what has come
     * since is for the fresh kernel. */
    if (!self->is_relaunching)
        ending_fail_requests(self);
    if (self->kernel)
        kernel_kill(self->kernel);
    kernel_destroy(&self->kernel);
    watch_end(self);
    life_step(&self->state, LIFE_ON_EXIT);
    ladder_done(self, "killed", "lost");
    if (ending_wants_relaunch(self)) {
        /* No other gateway may take what is left of it for the fresh one. */
        self->spec->pid = 0;
        session_save(self);
        note(self, "restart");
        ending_relaunch(self);
    } else {
        bury(self);
    }
    session_settle(self);
}

static int on_overdue(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    ending_finish(self);
    return 0;
}

static int on_init(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    self_t *self = arg;
    zmq_pollitem_t ended = {.fd = item->fd};

    if (!self->kernel)
        return 0;
    if (kernel_read_end(self->kernel, &self->end)) {
        ending_finish(self);
    } else if (kernel_init_fd(self->kernel) < 0) {
        zloop_poller_end(loop, &ended);
        self->watched_init = -1;
        /* Before LAUNCHED, the zygote's answer tells why. */
        if (kernel_pidfd(self->kernel) >= 0 || self->spec->is_adopted)
            ending_finish(self);
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
        ending_finish(self);
    }
    return 0;
}

static void watch_init(self_t *self)
{
    self->watched_init = kernel_init_fd(self->kernel);
    session_watch(self, self->watched_init, on_init);
}

void ending_watch(self_t *self)
{
    watch_init(self);
    ending_watch_process(self);
}

void ending_watch_process(self_t *self)
{
    self->watched_pidfd = kernel_pidfd(self->kernel);
    session_watch(self, self->watched_pidfd, on_pidfd);
}

/* A kernel that is not there any more: pid 1 may have waited to tell how. */
void ending_expect(self_t *self)
{
    if (self->kernel)
        watch_init(self);
    session_start_timer(self, &self->stop_timer, LINK_GRACE_MS, on_overdue);
}

static int on_link_grace(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->stop_timer = 0;
    if (self->kernel && kernel_link_fd(self->kernel) < 0)
        ending_begin(self, LIFE_REASON_PROTOCOL,
                     "the kernel closed its link to the gateway");
    return 0;
}

/* Mostly the kernel is ending and pid 1 tells how in a moment. */
void ending_on_link_closed(self_t *self)
{
    session_unwatch_link(self);
    self->is_greeted = false;
    if (self->state != LIFE_STOPPING && self->state != LIFE_GONE
        && kernel_pidfd(self->kernel) >= 0)
        session_start_timer(self, &self->stop_timer, LINK_GRACE_MS,
                            on_link_grace);
}
