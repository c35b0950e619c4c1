/* See launcher.h. The zygote gets the listening sockets, the session's actor
 * connects to them at once. A zygote that ends is started again, later each
 * time that it fails (zygote_slot.h decides). Lives in the main thread. */
#include "gateway/registry/launch/launcher.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/registry/launch/launch_request.h"
#include "gateway/registry/launch/zygote_slot.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A profile and its zygote. */
typedef struct {
    launcher_t *launcher; /* borrowed */
    zygote_slot_t *slot;  /* owned */
    zygote_t *zygote;     /* owned; NULL between two zygotes */
} profile_state_t;

struct launcher {
    launcher_needs_t needs;    /* borrowed */
    profile_state_t *profiles; /* owned; in the order of the options */
    uint64_t counter;          /* of launches */
};

static profile_state_t *find_state(const launcher_t *self,
                                   const profile_t *profile)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++)
        if (self->needs.options->profiles[i] == profile)
            return &self->profiles[i];
    return NULL;
}

void launcher_unpark(launcher_t *self, const session_entry_t *entry)
{
    zygote_slot_unpark(find_state(self, entry->profile)->slot, entry);
}

void launcher_forget(launcher_t *self, session_entry_t *entry)
{
    zygote_slot_forget(find_state(self, entry->profile)->slot, entry);
}

static void fail_launch(launcher_t *self, session_entry_t *entry,
                        const char *text)
{
    launcher_forget(self, entry);
    audit_writer_note(
        self->needs.audit, "fork", entry->id, "failed",
        json_pack("{s:s,s:s}", "profile", entry->profile->name, "text", text));
    mailbox_line_send(entry->line,
                      session_command_new_text(SESSION_FAILED, 0, text));
}

static int launch(launcher_t *self, session_entry_t *entry, fault_t *fault)
{
    const launch_request_needs_t needs = {
        .options = self->needs.options,
        .cgroups = self->needs.cgroups,
        .prealloc = self->needs.prealloc,
        .users = self->needs.users,
    };
    profile_state_t *state = find_state(self, entry->profile);
    int r;

    if (!state->zygote)
        return fault_set(fault, ECHILD, "profile %s cannot start: %s",
                         entry->profile->name, zygote_slot_fault(state->slot));
    zygote_slot_launch(state->slot, entry, ++self->counter);
    r = launch_request_send(&needs, state->zygote, entry, self->counter, fault);
    /* Handles the end of a zygote. Its last message is still to be read, and
     * decides over the launches under way. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

void launcher_launch(launcher_t *self, session_entry_t *entry)
{
    profile_state_t *state = find_state(self, entry->profile);
    fault_t fault;

    session_entry_note_launch(entry);
    if (!state->zygote && zygote_slot_comes_back(state->slot)
        && !session_table_is_closing(self->needs.table))
        zygote_slot_park(state->slot, entry);
    else if (launch(self, entry, &fault) < 0)
        fail_launch(self, entry, fault.text);
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg);

/* Fails the waiting launches, with the reason why there is no zygote. */
static void give_up(profile_state_t *state)
{
    session_entry_t *entry;

    while ((entry = zygote_slot_take_parked(state->slot))) {
        cleanup_free char *text =
            mem_format("profile %s cannot start: %s", entry->profile->name,
                       zygote_slot_fault(state->slot));

        fail_launch(state->launcher, entry, text);
    }
}

static void start(profile_state_t *state)
{
    launcher_t *self = state->launcher;
    const profile_t *profile = zygote_slot_profile(state->slot);
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    session_entry_t *entry;
    fault_t fault;

    if (zygote_new(profile, self->needs.package_folder,
                   launch_users_of_zygotes(self->needs.users), &state->zygote,
                   &fault)
        < 0) {
        log_error("profile=%s %s", profile->name, fault.text);
        zygote_slot_on_refused(state->slot, fault.text);
        give_up(state);
        return;
    }
    zygote_slot_on_started(state->slot, clock_monotonic_ms());
    item.fd = zygote_socket(state->zygote);
    zloop_poller(self->needs.loop, &item, on_zygote, state);
    zloop_poller_set_tolerant(self->needs.loop, &item);
    while ((entry = zygote_slot_take_parked(state->slot)))
        launcher_launch(self, entry);
}

static void end_zygote(profile_state_t *state)
{
    zmq_pollitem_t item = {.fd = zygote_socket(state->zygote)};

    zloop_poller_end(state->launcher->needs.loop, &item);
    zygote_destroy(&state->zygote);
}

/* Replaces a spent zygote. Requests meanwhile wait in the new one's socket. */
static void replace_worn(profile_state_t *state)
{
    if (!zygote_slot_is_worn(state->slot, clock_monotonic_ms()))
        return;
    log_notice("profile=%s zygote replaced sessions=%llu",
               zygote_slot_profile(state->slot)->name,
               (unsigned long long) zygote_slot_forks(state->slot));
    end_zygote(state);
    zygote_slot_on_replaced(state->slot, "");
    start(state);
}

static int on_retry(zloop_t *loop, int timer, void *arg)
{
    profile_state_t *state = arg;

    (void) loop;
    (void) timer;
    if (!state->zygote
        && !session_table_is_closing(state->launcher->needs.table))
        start(state);
    return 0;
}

/* Ends the launches that the zygote was asked for. They are repeated if the
 * next zygote is expected soon. */
static void settle_launches(profile_state_t *state, const char *text)
{
    session_entry_t *entry;

    while ((entry = zygote_slot_first_launch(state->slot))) {
        if (!zygote_slot_comes_back(state->slot)) {
            fail_launch(state->launcher, entry, text);
            continue;
        }
        launcher_forget(state->launcher, entry);
        mailbox_line_send(entry->line,
                          session_command_new_text(SESSION_AGAIN, 0, text));
    }
}

static void end_zygote_slot(profile_state_t *state, const char *text)
{
    const char *profile = zygote_slot_profile(state->slot)->name;

    log_error("profile=%s zygote gone: %s", profile, text);
    audit_writer_note(state->launcher->needs.audit, "zygote", "", "gone",
                      json_pack("{s:s,s:s}", "profile", profile, "text", text));
    end_zygote(state);
    settle_launches(state, text);
}

static void on_gone(profile_state_t *state, const zygote_result_t *answer)
{
    int64_t pause =
        zygote_slot_on_gone(state->slot, answer->is_explained, answer->text);

    end_zygote_slot(state, answer->text);
    if (!zygote_slot_comes_back(state->slot))
        give_up(state);
    zloop_timer(state->launcher->needs.loop, (size_t) pause, 1, on_retry,
                state);
}

/* Ends a kernel whose session has gone meanwhile. */
static void end_orphan(const zygote_result_t *answer)
{
    if (answer->pidfd < 0)
        return;
    (void) syscall(SYS_pidfd_send_signal, answer->pidfd, SIGKILL, NULL, 0);
    close(answer->pidfd);
}

static void on_launched(profile_state_t *state, const zygote_result_t *answer)
{
    launcher_t *self = state->launcher;
    session_entry_t *entry = zygote_slot_find(state->slot, answer->number);
    session_command_t *command;

    if (!entry) {
        end_orphan(answer);
        return;
    }
    launcher_forget(self, entry);
    audit_writer_note(self->needs.audit, "fork", entry->id, "ok",
                      json_pack("{s:s,s:i,s:I}", "profile",
                                entry->profile->name, "pid", (int) answer->pid,
                                "host_uid", (json_int_t) entry->host_uid));
    command = session_command_new(SESSION_LAUNCHED, 0);
    command->launched =
        (session_launched_t){.pid = answer->pid, .pidfd = answer->pidfd};
    /* The kernel starts on that processor; without this the system could wake
     * the session's thread there. */
    mailbox_line_keep_off(entry->line, answer->processor);
    mailbox_line_send(entry->line, command);
}

static void on_failed(profile_state_t *state, const zygote_result_t *answer)
{
    session_entry_t *entry = zygote_slot_find(state->slot, answer->number);

    if (entry)
        fail_launch(state->launcher, entry, answer->text);
}

static void on_ready(profile_state_t *state, const zygote_result_t *answer)
{
    const char *profile = zygote_slot_profile(state->slot)->name;

    zygote_slot_on_ready(state->slot, answer->text);
    log_notice("profile=%s zygote ready python=%s", profile,
               zygote_slot_python(state->slot));
    audit_writer_note(state->launcher->needs.audit, "zygote", "", "ready",
                      json_pack("{s:s,s:s,s:i}", "profile", profile, "python",
                                zygote_slot_python(state->slot), "pid",
                                (int) zygote_pid(state->zygote)));
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    profile_state_t *state = arg;
    zygote_event_t event;
    zygote_result_t answer;

    (void) loop;
    (void) item;
    while (state->zygote
           && zygote_receive(state->zygote, &event, &answer) == 1) {
        switch (event) {
        case ZYGOTE_READY:
            on_ready(state, &answer);
            break;
        case ZYGOTE_LAUNCHED:
            on_launched(state, &answer);
            zygote_slot_on_forked(state->slot);
            replace_worn(state);
            break;
        case ZYGOTE_FAILED:
            on_failed(state, &answer);
            break;
        case ZYGOTE_GONE:
            on_gone(state, &answer);
            break;
        }
    }
    return 0;
}

launcher_t *launcher_new(const launcher_needs_t *needs)
{
    launcher_t *self = mem_new(sizeof *self);
    size_t count = needs->options->profile_count;

    self->needs = *needs;
    self->profiles = mem_new(count * sizeof *self->profiles);
    for (size_t i = 0; i < count; i++) {
        self->profiles[i].launcher = self;
        self->profiles[i].slot = zygote_slot_new(needs->options->profiles[i]);
        start(&self->profiles[i]);
    }
    return self;
}

void launcher_destroy(launcher_t **self_p)
{
    launcher_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->needs.options->profile_count; i++) {
        zygote_destroy(&self->profiles[i].zygote);
        zygote_slot_destroy(&self->profiles[i].slot);
    }
    free(self->profiles);
    free(self);
    *self_p = NULL;
}

/* Starts a new zygote. Requests from now on wait in its socket. */
static void renew(profile_state_t *state)
{
    static const char why[] = "the environment on disk has changed";
    launcher_t *self = state->launcher;

    self->needs.ops->renewed(self->needs.arg, zygote_slot_profile(state->slot));
    zygote_slot_set_changing(state->slot, false);
    if (!state->zygote)
        return;
    zygote_slot_on_replaced(state->slot, why);
    end_zygote_slot(state, why);
    start(state);
}

void launcher_on_stale(launcher_t *self, const session_entry_t *entry)
{
    profile_state_t *state = find_state(self, entry->profile);

    if (zygote_slot_made(state->slot, entry))
        renew(state);
}

/* Looks for a changed environment. An installation takes a while: the zygote is
 * replaced when the changes have stopped. */
void launcher_look(launcher_t *self)
{
    for (size_t i = 0; i < self->needs.options->profile_count; i++) {
        profile_state_t *state = &self->profiles[i];
        zygote_change_t change =
            state->zygote ? zygote_look(state->zygote) : ZYGOTE_SAME;

        if (change != ZYGOTE_SAME && !zygote_slot_is_changing(state->slot)) {
            zygote_slot_set_changing(state->slot, true);
            self->needs.ops->renewed(self->needs.arg,
                                     zygote_slot_profile(state->slot));
        } else if (change == ZYGOTE_CHANGED) {
            renew(state);
        }
    }
}

bool launcher_is_ready(const launcher_t *self, const profile_t *profile)
{
    const profile_state_t *state = find_state(self, profile);

    return state->zygote && zygote_is_ready(state->zygote)
           && !zygote_slot_is_changing(state->slot);
}

static json_t *list_preload(const profile_t *profile)
{
    json_t *list = json_array();

    for (char *const *name = profile->preload; name && *name; name++)
        json_array_append_new(list, json_string(*name));
    return list;
}

json_t *launcher_describe(const launcher_t *self, const profile_t *profile)
{
    const profile_state_t *state = find_state(self, profile);
    const char *name = !state->zygote                   ? "failed"
                       : zygote_is_ready(state->zygote) ? "ready"
                                                        : "warming";
    json_t *model = json_pack("{s:s,s:b,s:s,s:s,s:o,s:s}", "name",
                              profile->name, "notebook_folder",
                              profile->gives_folder, "python", profile->python,
                              "python_version", zygote_slot_python(state->slot),
                              "preload", list_preload(profile), "state", name);

    if (!state->zygote)
        json_object_set_new(model, "fault",
                            json_string(zygote_slot_fault(state->slot)));
    return model;
}
