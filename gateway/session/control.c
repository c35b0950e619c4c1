/* What the registry asks of a session over its line, and the answers:
 * a table of words (actor.h lists them). */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/config/state_files.h"

#include <jansson.h>

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define WARM_MS 300000 /* the zygote may have a large preload list */

void commands_tell(self_t *self, const char *word, const char *first,
                   const char *second)
{
    zstr_sendx(self->pipe, word, first, second, NULL);
    if (self->orders)
        lookout_touch(self->orders);
}

void commands_answer(self_t *self, const char *token, json_t *object)
{
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);

    commands_tell(self, "DONE", token, text);
    json_decref(object);
}

/* Not what has to be looked for in /proc: who creates one waits for it. */
static json_t *describe_created(const self_t *self)
{
    return json_pack("{s:s,s:o}", "status", "ok", "session", portrait_of(self));
}

static void answer_session(self_t *self, const char *token)
{
    commands_answer(self, token,
                    json_pack("{s:s,s:o}", "status", "ok", "session",
                              portrait_measured(self)));
}

void commands_tell_ready(self_t *self)
{
    json_auto_t *answer = NULL;
    cleanup_free char *text = NULL;

    if (!self->spec->is_pooled && self->spec->pid)
        answer = describe_created(self);
    if (answer)
        text = json_dumps(answer, JSON_COMPACT);
    commands_tell(self, "READY", text, NULL);
}

static char *describe_text(const self_t *self)
{
    json_auto_t *model = portrait_measured(self);

    return json_dumps(model, JSON_COMPACT);
}

void commands_greet(self_t *self, const char *front)
{
    cleanup_free char *text = describe_text(self);

    viewers_greet(self->viewers, front, journal_last_seq(self->journal), text);
}

void commands_tell_state(self_t *self)
{
    cleanup_free char *text = NULL;

    /* Busy and idle are told by `status`, a thousand times a second. */
    if (self->told_state == self->state
        || (self->spec->is_seeding && life_is_at_work(self->state))
        || (life_is_at_work(self->told_state) && life_is_at_work(self->state)))
        return;
    self->told_state = self->state;
    if (!viewers_are_there(self->viewers))
        return;
    text = describe_text(self);
    viewers_tell_state(self->viewers, text);
}

static void on_attach(self_t *self, const char *token, const char *front)
{
    zsock_t *socket;
    fault_t fault;

    if (viewers_attach(self->viewers, front, &socket, &fault) < 0) {
        commands_answer(self, token,
                        json_pack("{s:s,s:s,s:s,s:i}", "status", "error",
                                  "ename", "NotAttached", "evalue", fault.text,
                                  "exit_code", GATEWAY_EXIT_FAILED));
        return;
    }
    if (socket && !self->is_held)
        zloop_reader(self->loop, socket, intake_on_front, self);
    commands_greet(self, front);
    answer_session(self, token);
}

static int on_status(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    (void) loop;
    (void) item;
    ending_read_status(arg);
    return 0;
}

static int on_unready(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->ready_timer = 0;
    if (self->state == LIFE_STARTING)
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "the kernel was not ready in time (%g s from its fork, "
                     "sessions/ready_timeout; %d s where a Python warms up)",
                     (double) self->spec->ready_ms / 1000, WARM_MS / 1000);
    return 0;
}

void commands_await_ready(self_t *self)
{
    session_start_timer(self, &self->ready_timer,
                        self->spec->profile->is_fresh ? WARM_MS
                                                      : self->spec->ready_ms,
                        on_unready);
}

/* The listeners stand: what is said to them waits until the kernel comes. */
static void on_launching(self_t *self, const char *status, const char *group)
{
    fault_t fault;

    session_spec_t *spec = self->spec;

    watch_begin(self, group);
    if (sscanf(status, "%d %u %u", &self->status_fd, &spec->host_uid,
               &spec->init_uid)
        != 3)
        assert(!"LAUNCHING without its numbers");
    spec->has_ids = true;
    self->was_seen = false;
    /* The next gateway removes the group, whatever becomes of this launch. */
    if (*group)
        session_save(self);
    session_watch(self, self->status_fd, on_status);
    session_start_timer(self, &self->ready_timer, WARM_MS, on_unready);
    /* Refused: it has failed already, and the zygote's answer tells why. */
    if (kernel_new(spec->runtime_folder, session_spec_shares_user(spec),
                   &self->kernel, &fault)
        < 0) {
        if (fault.code != ECONNREFUSED)
            ending_begin(self, LIFE_REASON_LAUNCH, "%s", fault.text);
        return;
    }
    ending_watch(self);
    if (events_connect(self, &fault) < 0 && fault.code != ECONNREFUSED)
        ending_begin(self, LIFE_REASON_LAUNCH, "%s", fault.text);
}

static void begin_process(self_t *self, pid_t pid, int fd)
{
    if (!self->kernel) { /* it had ended before it was spoken to */
        close(fd);
        ending_read_status(self);
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "the sandbox's pid 1 was ended while it was made");
        return;
    }
    kernel_set_process(self->kernel, pid, fd);
    self->spec->pid = kernel_pid(self->kernel);
    self->spec->start_time = kernel_start_time(self->kernel);
    ending_watch_process(self);
    session_save(self);
    commands_await_ready(self);
    if (self->state == LIFE_STOPPING) {
        kernel_kill(self->kernel);
    } else if (self->info.size) { /* READY came first */
        posture_admit(self);
        session_settle(self);
    } else {
        posture_look_ahead(self);
    }
}

static void on_launched(self_t *self, const char *pid, const char *pidfd)
{
    begin_process(self, (pid_t) strtol(pid, NULL, 10),
                  (int) strtol(pidfd, NULL, 10));
    /* The launcher had this thread keep off the kernel's. */
    processors_restore(&self->processors);
}

static void on_failed(self_t *self, const char *text, const char *unused)
{
    (void) unused;
    ending_begin(self, LIFE_REASON_LAUNCH, "%s", text);
    ending_finish(self);
}

static void on_show(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    answer_session(self, token);
}

static int64_t number(json_t *object, const char *key)
{
    return (int64_t) json_integer_value(json_object_get(object, key));
}

/* Its memory is cold by now, and its client still has to connect. Behind the
 * answer: the system often wakes a kernel on the processor of who wakes it, and
 * lets it go on first. */
static void rehearse(self_t *self)
{
    frame_t frame = {.type = FRAME_REHEARSE};
    fault_t ignored;

    (void) session_send(self, &frame, &ignored);
}

/* Out of the pool: from now on it is somebody's, and begins to age. */
static void on_hand(self_t *self, const char *token, const char *settings)
{
    session_spec_t *spec = self->spec;
    json_auto_t *object = json_loads(settings, 0, NULL);
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *asker = json_string_value(json_object_get(object, "asker"));

    if (self->state != LIFE_IDLE || !kernel_is_alive(self->kernel)) {
        commands_tell(self, "SPENT", NULL, NULL);
        return;
    }
    if (name) {
        free(spec->name);
        spec->name = mem_text(name);
    }
    if (asker)
        spec->asker = mem_text(asker);
    spec->idle_timeout_ms = number(object, "idle_timeout_ms");
    spec->lifetime_ms = number(object, "lifetime_ms");
    spec->cell_limit_ms = number(object, "cell_limit_ms");
    spec->gone_keep_ms = number(object, "gone_keep_ms");
    spec->restarts = json_is_true(json_object_get(object, "restarts"));
    spec->is_pooled = false;
    spec->created_us = clock_wall_us();
    session_touch(self);
    session_count_lifetime(self);
    session_save(self);
    commands_tell(self, "HANDED", token, NULL);
    commands_answer(self, token, describe_created(self));
    rehearse(self);
    session_start_soon(self);
}

static bool refuse_if_gone(self_t *self, const char *token)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    const char *name;

    if (self->state != LIFE_GONE)
        return false;
    ending_error(self, &name, &sentence);
    commands_answer(self, token,
                    json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename",
                              name, "evalue", (const char *) sentence.data,
                              "exit_code", 3));
    return true;
}

static void on_interrupt(self_t *self, const char *token, const char *argument)
{
    if (refuse_if_gone(self, token))
        return;
    /* Who asked before hears how it stands; the outcome is the newer one's. */
    if (self->interrupt_token)
        commands_answer(self, self->interrupt_token,
                        json_pack("{s:s,s:s,s:s}", "status", "ok", "outcome",
                                  "running", "variables", "preserved"));
    free(self->interrupt_token);
    self->interrupt_token = mem_text(token);
    ladder_climb(self, strcmp(argument, "kill") == 0);
}

static void on_restart(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    if (refuse_if_gone(self, token))
        return;
    leaving_begin(self, true);
    answer_session(self, token);
}

static void on_delete(self_t *self, const char *token, const char *unused)
{
    (void) unused;
    if (refuse_if_gone(self, token))
        return;
    leaving_begin(self, false);
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

static void fail(self_t *self, const char *token, const char *what,
                 const fault_t *fault)
{
    commands_answer(
        self, token,
        json_pack("{s:s,s:s,s:o,s:i}", "status", "error", "ename",
                  "JournalError", "evalue",
                  json_sprintf("%s was not kept: the session's journal cannot "
                               "be written (%s)",
                               what, fault->text),
                  "exit_code", GATEWAY_EXIT_FAILED));
}

/* Checked by the registry; `note` is JSON. */
static void on_note(self_t *self, const char *token, const char *note)
{
    fault_t fault;

    if (refuse_if_gone(self, token))
        return;
    if (output_note(self->output, "note", 0, note, &fault) < 0)
        fail(self, token, "the note", &fault);
    else
        answer_session(self, token);
}

/* Answered when the kernel is ready, or with GONE. */
static void on_revive(self_t *self, const char *user, const char *unused)
{
    fault_t fault;

    (void) unused;
    if (lending_begin(self, (uid_t) strtoul(user, NULL, 10), &fault) < 0
        || revival_begin(self, &fault) < 0)
        commands_tell(self, "GONE", self->spec->reason, fault.text);
}

static void on_revived(self_t *self, const char *token, const char *report)
{
    fault_t fault;

    if (refuse_if_gone(self, token))
        return;
    if (revival_report(self, report, &fault) < 0)
        fail(self, token, "the report", &fault);
    else
        answer_session(self, token);
}

static void on_full(self_t *self, const char *text, const char *unused)
{
    (void) unused;
    ending_begin(self, LIFE_REASON_WORKSPACE, "%s", text);
}

static void on_file(self_t *self, const char *note, const char *unused)
{
    fault_t fault;

    (void) unused;
    if (self->state == LIFE_GONE)
        return;
    if (output_note(self->output, "file", 0, note, &fault) < 0)
        log_warning("session=%s file: %s", self->spec->id, fault.text);
}

static void finish_drain(self_t *self)
{
    session_unwatch_link(self);
    session_save(self);
    commands_tell(self, "DRAINED", NULL, NULL);
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

/* Others are gone since: its ports are given up before their time. */
static void on_forget(self_t *self, const char *unused, const char *neither)
{
    (void) unused;
    (void) neither;
    if (self->state == LIFE_GONE)
        commands_tell(self, "REMOVED", NULL, NULL);
}

static const struct {
    const char *name;
    void (*handler)(self_t *self, const char *first, const char *second);
} commands[] = {
    {"LAUNCHING", on_launching}, {"LAUNCHED", on_launched},
    {"FAILED", on_failed},       {"HAND", on_hand},
    {"SHOW", on_show},           {"INTERRUPT", on_interrupt},
    {"RESTART", on_restart},     {"DELETE", on_delete},
    {"TOUCH", on_keepalive},     {"NOTE", on_note},
    {"DRAIN", on_drain},         {"FULL", on_full},
    {"ATTACH", on_attach},       {"REVIVE", on_revive},
    {"REVIVED", on_revived},     {"FORGET", on_forget},
    {"FILE", on_file},
};

/* The descriptors that come with a word, when nobody wants them. */
static void decline(const char *name, const char *first, const char *second)
{
    if (strcmp(name, "LAUNCHING") == 0)
        close((int) strtol(first, NULL, 10));
    else if (strcmp(name, "LAUNCHED") == 0)
        close((int) strtol(second, NULL, 10));
}

int commands_take(self_t *self, zmsg_t *message)
{
    cleanup_free char *name = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *first = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *second = message ? zmsg_popstr(message) : NULL;

    if (!name || strcmp(name, "$TERM") == 0)
        return -1;
    if (self->is_broken) {
        decline(name, first ? first : "", second ? second : "");
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].handler(self, first ? first : "", second ? second : "");
            return 0;
        }
    assert(!"a command of the registry that no session knows");
    return -1;
}

int commands_on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    cleanup_zmsg zmsg_t *message = zmsg_recv(pipe);

    (void) loop;
    return commands_take(arg, message);
}
