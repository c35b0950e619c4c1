/* Zygotes, one a profile, and the launching of kernels: the zygote gets the
 * listening sockets, the session's actor connects to them at once. A zygote
 * that ends is started again, later each time that it fails. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/privilege.h"
#include "kernels/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ZYGOTE_RETRY_MS 2000 /* a zygote that ended is started again */

warmth_t *launcher_warmth(registry_t *self, const profile_t *profile)
{
    for (size_t i = 0; i < self->options->profile_count; i++)
        if (self->warmths[i].profile == profile)
            return &self->warmths[i];
    return NULL;
}

void launcher_hold_user(entry_t *entry, uid_t uid)
{
    launcher_release_user(entry);
    entry->host_uid = uid;
    entry->holds_user = entry->registry->users != NULL;
    if (entry->holds_user)
        users_hold(entry->registry->users, uid);
}

void launcher_release_user(entry_t *entry)
{
    if (entry->holds_user)
        users_release(entry->registry->users, entry->host_uid);
    entry->holds_user = false;
}

static void begin_launch(registry_t *self, entry_t *entry)
{
    warmth_t *warmth = launcher_warmth(self, entry->profile);

    launcher_forget(entry);
    entry->launch = ++self->counter;
    entry->next_launch = warmth->launching;
    warmth->launching = entry;
}

void launcher_forget(entry_t *entry)
{
    warmth_t *warmth = launcher_warmth(entry->registry, entry->profile);
    entry_t **at = &warmth->launching;

    while (*at && *at != entry)
        at = &(*at)->next_launch;
    if (*at)
        *at = entry->next_launch;
    entry->launch = 0;
}

static entry_t *find_launch(const warmth_t *warmth, uint64_t number)
{
    entry_t *at = warmth->launching;

    while (at && at->launch != number)
        at = at->next_launch;
    return at;
}

/* The last user of the range is that of all sessions' pid 1; 0: it has the
 * session's. The one before is the zygotes'. */
static uid_t choose_init_uid(const registry_t *self)
{
    const options_t *options = self->options;

    if (!privilege_gives_users() || options->uid_count < 2)
        return 0;
    return (uid_t) (options->uid_first + options->uid_count - 1);
}

users_t *launcher_users(const options_t *options)
{
    uint64_t count = options->uid_count;

    if (!privilege_gives_users() || !count)
        return NULL;
    if (count > 1)
        count--; /* choose_init_uid's */
    if (count > 1)
        count--; /* launcher_choose_zygote_user's */
    return users_new((uid_t) options->uid_first, count);
}

int launcher_choose_zygote_user(registry_t *self, fault_t *fault)
{
    const options_t *options = self->options;
    const char *why = options_refuse_zygote_user(
        options, cgroups_mode(self->cgroups) == CGROUP_V1);

    if (why && options->zygote_user == OPTIONS_ZYGOTE_OWN)
        return fault_set(fault, EPERM, "gateway/zygote_user = own: %s", why);
    if (options->lends_subids) {
        /* Without the privilege that this process has over the range. */
        self->has_zygote_user = true;
        self->zygote_user = (zygote_user_t){.uid = geteuid(),
                                            .gid = getegid(),
                                            .first = (uid_t) options->uid_first,
                                            .count = options->uid_count};
        return 0;
    }
    if (why || !options_wants_zygote_user(options))
        return 0;
    self->has_zygote_user = true;
    self->zygote_user = (zygote_user_t){
        .uid = (uid_t) (options->uid_first + options->uid_count - 2),
        .gid = (gid_t) (options->uid_first + options->uid_count - 2),
        .first = (uid_t) options->uid_first,
        .count = options->uid_count};
    log_notice("zygotes user=%u", self->zygote_user.uid);
    return cgroups_admit(self->cgroups, (gid_t) self->zygote_user.uid, fault);
}

uid_t launcher_choose_uid(registry_t *self, bool has_folder)
{
    /* A folder of the user's is written to by the user. */
    if (!self->users || (has_folder && self->options->lends_subids))
        return geteuid();
    return users_choose(self->users);
}

uid_t launcher_found_uid(const entry_t *entry)
{
    const options_t *options = entry->registry->options;
    struct stat about;

    if (!entry->registry->users || stat(entry->workspace, &about) < 0)
        return geteuid();
    return options->lends_subids
                   && (about.st_uid < options->uid_first
                       || about.st_uid - options->uid_first
                              >= options->uid_count)
               ? geteuid()
               : about.st_uid;
}

/* A workspace that hearth keeps is the user's again since it has ended. */
uid_t launcher_revived_uid(const entry_t *entry)
{
    registry_t *self = entry->registry;
    cleanup_free char *state =
        session_state_folder(self->options->state_dir, entry->id);
    bool has_folder = !session_keeps_workspace(state, entry->workspace);

    return self->options->lends_subids ? launcher_choose_uid(self, has_folder)
                                       : entry->host_uid;
}

/* Made ahead, or now: the group ahead of the fork, in any case. */
static int find_sockets(registry_t *self, const entry_t *entry,
                        outfit_t *outfit, fault_t *fault)
{
    const cgroup_limits_t limits = profile_group_limits(&entry->limits);

    blank_take_outfit(self->blank, entry->id, &limits, outfit);
    return outfit->link_fd >= 0
               ? 0
               : outfit_listen(outfit, entry->runtime_folder, fault);
}

/* With its entries in the order, to be closed. */
static int find_group(registry_t *self, const entry_t *entry, outfit_t *outfit,
                      zygote_launch_t *order, fault_t *fault)
{
    const cgroup_limits_t limits = profile_group_limits(&entry->limits);
    int r = 0;

    if (!outfit->group)
        r = outfit_make_group(outfit, self->cgroups, entry->id, &limits, fault);
    order->cgroup_mode = cgroups_mode(self->cgroups);
    if (r == 0 && outfit->group)
        r = cgroup_entries(outfit->group, order->cgroup_fds,
                           &order->cgroup_count, fault);
    if (r < 0)
        outfit_discard(outfit);
    return r;
}

static void close_group(zygote_launch_t *order)
{
    while (order->cgroup_count)
        close(order->cgroup_fds[--order->cgroup_count]);
}

static void fail_launch(entry_t *entry, const char *text)
{
    launcher_forget(entry);
    scribe_note(
        entry->registry->scribe, "fork", entry->id, "failed",
        json_pack("{s:s,s:s}", "profile", entry->profile->name, "text", text));
    line_say(entry->line, "FAILED", text, NULL);
}

/* The zygote gets the listening sockets, the actor connects to them at once:
 * its greeting waits there for the kernel. */
static int launch(registry_t *self, entry_t *entry, fault_t *fault)
{
    warmth_t *warmth = launcher_warmth(self, entry->profile);
    cleanup_fd int workspace_fd = -1, status_fd = -1;
    cleanup_outfit outfit_t outfit = OUTFIT_NONE;
    int pipe_fds[2];
    char text[48];
    zygote_launch_t order = {
        .host_uid = entry->host_uid,
        .host_gid = users_group(entry->host_uid),
        .init_uid = choose_init_uid(self),
        .limits = &entry->limits,
        .environment = entry->environment,
        .orphan_seconds = (unsigned) (self->options->orphan_timeout_ms / 1000),
    };
    int r;

    if (!warmth->zygote)
        return fault_set(fault, ECHILD, "profile %s cannot start: %s",
                         entry->profile->name, warmth->fault);
    r = find_sockets(self, entry, &outfit, fault);
    if (r < 0)
        return r;
    workspace_fd = open(entry->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (workspace_fd < 0)
        return fault_set(fault, errno, "workspace %s: %s", entry->workspace,
                         strerror(errno));
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    status_fd = pipe_fds[1];
    r = find_group(self, entry, &outfit, &order, fault);
    snprintf(text, sizeof text, "%d %u %u", pipe_fds[0], order.host_uid,
             order.init_uid);
    line_say(entry->line, "LAUNCHING", text,
             outfit.group ? cgroup_name(outfit.group) : "");
    if (r < 0)
        return r;
    begin_launch(self, entry);
    order.number = entry->launch;
    order.workspace_fd = workspace_fd;
    order.link_fd = outfit.link_fd;
    order.init_fd = outfit.init_fd;
    order.status_fd = status_fd;
    r = zygote_launch(warmth->zygote, &order, fault);
    close_group(&order);
    /* It has ended; what it said of that is still to be read, and fails those
     * that are under way. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

void launcher_launch(registry_t *self, entry_t *entry)
{
    fault_t fault;

    if (launch(self, entry, &fault) < 0)
        fail_launch(entry, fault.text);
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg);

void launcher_start(warmth_t *warmth)
{
    registry_t *self = warmth->registry;
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    fault_t fault;

    if (isolation_start(warmth->profile, self->package_folder,
                        self->has_zygote_user ? &self->zygote_user : NULL,
                        &warmth->zygote, &fault)
        < 0) {
        snprintf(warmth->fault, sizeof warmth->fault, "%s", fault.text);
        warmth->failures++;
        log_error("profile=%s %s", warmth->profile->name, fault.text);
        return;
    }
    warmth->born_ms = clock_monotonic_ms();
    warmth->forks = 0;
    item.fd = zygote_socket(warmth->zygote);
    zloop_poller(self->loop, &item, on_zygote, warmth);
    zloop_poller_set_tolerant(self->loop, &item);
}

/* Its sessions share a layout of addresses and a hash seed, so they are not to
 * become too many. Not while one is on its way; who asks meanwhile waits in the
 * new one's socket. */
static void replace_old(warmth_t *warmth)
{
    const profile_t *profile = warmth->profile;
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    bool is_spent =
        profile->zygote_forks && warmth->forks >= profile->zygote_forks;
    bool is_old =
        profile->zygote_age_ms
        && clock_monotonic_ms() - warmth->born_ms >= profile->zygote_age_ms;

    if ((!is_spent && !is_old) || !warmth->zygote || warmth->launching)
        return;
    log_notice("profile=%s zygote replaced sessions=%llu", profile->name,
               (unsigned long long) warmth->forks);
    item.fd = zygote_socket(warmth->zygote);
    zloop_poller_end(warmth->registry->loop, &item);
    zygote_destroy(&warmth->zygote);
    warmth->ready[0] = '\0';
    launcher_start(warmth);
}

static int on_zygote_retry(zloop_t *loop, int timer, void *arg)
{
    warmth_t *warmth = arg;

    (void) loop;
    (void) timer;
    if (!warmth->zygote && !warmth->registry->is_stopping)
        launcher_start(warmth);
    return 0;
}

/* With it go the launches that it was asked for. */
static void bury_zygote(warmth_t *warmth, const char *text)
{
    registry_t *self = warmth->registry;
    zmq_pollitem_t item = {.fd = zygote_socket(warmth->zygote)};

    log_error("profile=%s zygote gone: %s", warmth->profile->name, text);
    scribe_note(
        self->scribe, "zygote", "", "gone",
        json_pack("{s:s,s:s}", "profile", warmth->profile->name, "text", text));
    zloop_poller_end(self->loop, &item);
    zygote_destroy(&warmth->zygote);
    snprintf(warmth->fault, sizeof warmth->fault, "%s", text);
    warmth->ready[0] = '\0';
    while (warmth->launching)
        fail_launch(warmth->launching, text);
}

static void on_zygote_gone(warmth_t *warmth, const char *text)
{
    bool was_ready = warmth->ready[0] != '\0';

    bury_zygote(warmth, text);
    warmth->failures = was_ready ? 0 : warmth->failures + 1;
    zloop_timer(warmth->registry->loop,
                (size_t) ZYGOTE_RETRY_MS
                    << (warmth->failures < 5 ? warmth->failures : 5),
                1, on_zygote_retry, warmth);
}

static void on_launched(warmth_t *warmth, zygote_answer_t *answer)
{
    entry_t *entry = find_launch(warmth, answer->number);
    char pid[16], pidfd[16];

    if (!entry) { /* its session is gone meanwhile */
        if (answer->pidfd < 0)
            return;
        (void) syscall(SYS_pidfd_send_signal, answer->pidfd, SIGKILL, NULL, 0);
        close(answer->pidfd);
        return;
    }
    launcher_forget(entry);
    scribe_note(warmth->registry->scribe, "fork", entry->id, "ok",
                json_pack("{s:s,s:i,s:I}", "profile", entry->profile->name,
                          "pid", (int) answer->pid, "host_uid",
                          (json_int_t) entry->host_uid));
    snprintf(pid, sizeof pid, "%d", (int) answer->pid);
    snprintf(pidfd, sizeof pidfd, "%d", answer->pidfd);
    /* The kernel starts there, and this system may wake the session's thread
     * there all the same. */
    line_keep_off(entry->line, answer->processor);
    line_say(entry->line, "LAUNCHED", pid, pidfd);
}

static void on_failed(warmth_t *warmth, const zygote_answer_t *answer)
{
    entry_t *entry = find_launch(warmth, answer->number);

    if (entry)
        fail_launch(entry, answer->text);
}

static int on_zygote(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    warmth_t *warmth = arg;
    registry_t *self = warmth->registry;
    zygote_event_t event;
    zygote_answer_t answer;

    (void) loop;
    (void) item;
    while (warmth->zygote
           && zygote_receive(warmth->zygote, &event, &answer) == 1) {
        switch (event) {
        case ZYGOTE_READY:
            warmth->failures = 0;
            snprintf(warmth->ready, sizeof warmth->ready, "%.60s",
                     answer.text[0] ? answer.text : "?");
            log_notice("profile=%s zygote ready python=%s",
                       warmth->profile->name, warmth->ready);
            scribe_note(self->scribe, "zygote", "", "ready",
                        json_pack("{s:s,s:s,s:i}", "profile",
                                  warmth->profile->name, "python",
                                  warmth->ready, "pid",
                                  (int) zygote_pid(warmth->zygote)));
            break;
        case ZYGOTE_LAUNCHED:
            on_launched(warmth, &answer);
            warmth->forks++;
            replace_old(warmth);
            break;
        case ZYGOTE_FAILED:
            on_failed(warmth, &answer);
            break;
        case ZYGOTE_GONE:
            on_zygote_gone(warmth, answer.text);
            break;
        }
    }
    return 0;
}

/* Who asks from now on waits in the new one's socket. */
void launcher_renew(registry_t *self, const profile_t *profile)
{
    warmth_t *warmth = launcher_warmth(self, profile);

    pool_drain(self, profile);
    warmth->is_changing = false;
    if (!warmth->zygote)
        return;
    bury_zygote(warmth, "the environment on disk has changed; it is warmed up "
                        "anew, try again in a few seconds");
    launcher_start(warmth);
}

/* An installation takes a while: what has changed is loaded anew when it has
 * stopped changing. */
void launcher_look(registry_t *self)
{
    for (size_t i = 0; i < self->options->profile_count; i++) {
        warmth_t *warmth = &self->warmths[i];
        zygote_change_t change =
            warmth->zygote ? zygote_look(warmth->zygote) : ZYGOTE_SAME;

        if (change != ZYGOTE_SAME && !warmth->is_changing) {
            warmth->is_changing = true;
            pool_drain(self, warmth->profile);
        } else if (change == ZYGOTE_CHANGED) {
            launcher_renew(self, warmth->profile);
        }
    }
}
