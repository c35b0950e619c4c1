/* See registry.h. Makes the parts, and has the main thread's loop: the readers
 * of the sockets, the signals, and how a gateway stops. */
#include "gateway/registry/main/registry.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/api/files_api.h"
#include "gateway/registry/api/gateway_info.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/closing.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/downloads/preinstall.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/launch/pool.h"
#include "gateway/registry/main/session_events.h"
#include "gateway/registry/sessions/adopt.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/registry/storage/fetch_folder.h"
#include "gateway/registry/storage/packages_folder.h"
#include "gateway/registry/storage/retention.h"
#include "gateway/registry/tools/tool_servers.h"
#include "notebooks/journal/log_key.h"
#include "protocol/czmq_cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TICK_MS    1000
#define EVENTS_MAX 64 /* of sessions in a row, before other events */
/* Likewise, when a request needs to know what sessions have reported: several
 * of each of the most sessions that a gateway can have. */
#define CATCH_UP_MAX 16384

struct registry {
    registry_parts_t parts;     /* owned, but for what registry_new was given */
    mailbox_t *mailbox;         /* owned; its sessions */
    remover_t *remover;         /* owned */
    registry_reload_fn *reload; /* reads the configuration again; or NULL */
    void *reload_arg;           /* borrowed */
    char *package_folder;       /* owned */
    uint8_t journal_key[LOG_KEY_SIZE];
    closing_t *closing; /* owned */
};

static void take_events(registry_t *self, int max)
{
    void *entry;

    for (int i = 0; i < max; i++) {
        session_report_t *event = mailbox_receive(self->mailbox, &entry);

        if (!event)
            break;
        session_events_take(&self->parts, entry, &event);
    }
}

static int on_lines(zloop_t *loop, zsock_t *socket, void *arg)
{
    registry_t *self = arg;

    (void) loop;
    (void) socket;
    take_events(self, EVENTS_MAX);
    return closing_is_done(self->closing) ? -1 : 0;
}

static void catch_up(void *arg)
{
    take_events(arg, CATCH_UP_MAX);
}

static int on_management(zloop_t *loop, zsock_t *socket, void *arg)
{
    registry_t *self = arg;

    (void) loop;
    (void) socket;
    management_api_serve(self->parts.management_api);
    return closing_is_done(self->closing) ? -1 : 0;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;

    (void) loop;
    (void) timer;
    if (session_table_is_closing(self->parts.table))
        return 0;
    launcher_look(self->parts.launcher);
    preinstall_look(self->parts.downloads.preinstall);
    tool_servers_look(self->parts.tool_servers, clock_monotonic_ms());
    pool_tick(self->parts.pool, clock_monotonic_ms());
    return 0;
}

static void stop(void *arg, bool ends_sessions)
{
    const registry_t *self = arg;

    closing_begin(self->closing, ends_sessions
                                     || self->parts.options->stop_sessions
                                            == OPTIONS_STOP_END);
    create_stop(self->parts.create);
    package_wait_stop(self->parts.package_wait);
    packages_jobs_stop(self->parts.downloads.packages);
    preinstall_stop(self->parts.downloads.preinstall);
    fetch_jobs_stop(self->parts.downloads.fetches);
}

/* Reads the configuration again, and ends pool members that were made with the
 * old settings. */
static json_t *reload(void *arg)
{
    registry_t *self = arg;
    registry_parts_t *parts = &self->parts;
    json_t *reply;

    if (!self->reload)
        return management_error("ConfigurationError", GATEWAY_EXIT_ENVIRONMENT,
                                "this gateway cannot reload its configuration");
    reply = self->reload(self->reload_arg);
    audit_writer_note(parts->audit, "configuration", "",
                      json_object_get(reply, "changed") ? "ok" : "refused",
                      json_pack("{s:O*,s:O*,s:O*}", "changed",
                                json_object_get(reply, "changed"), "renewed",
                                json_object_get(reply, "renewed"), "restart",
                                json_object_get(reply, "restart")));
    launcher_reload(parts->launcher);
    if (json_array_size(json_object_get(reply, "changed"))) {
        pool_drain(parts->pool, NULL);
        create_next(parts->create);
        pool_refill_soon(parts->pool);
    }
    return reply;
}

static const registry_ops_t ops = {
    .stop = stop, .reload = reload, .catch_up = catch_up};

static int on_signal(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    registry_t *self = arg;
    struct signalfd_siginfo signal;

    (void) loop;
    while (read(item->fd, &signal, sizeof signal) == (ssize_t) sizeof signal) {
        if (signal.ssi_signo == SIGHUP) {
            json_decref(reload(self));
            continue;
        }
        stop(self, false);
        if (closing_is_done(self->closing))
            return -1;
    }
    return 0;
}

bool registry_end(registry_t *self)
{
    registry_parts_t *parts = &self->parts;

    if (parts->endpoints && self->closing
        && closing_ends_sessions(self->closing))
        endpoints_end_sessions(parts->endpoints);
    endpoints_destroy(&parts->endpoints); /* the endpoints use the sessions */
    return !self->closing || closing_end_threads(self->closing);
}

void registry_destroy(registry_t **self_p)
{
    registry_t *self = *self_p;
    registry_parts_t *parts;

    if (!self)
        return;
    (void) registry_end(self);
    parts = &self->parts;
    closing_destroy(&self->closing);
    management_api_destroy(&parts->management_api);
    fetch_jobs_destroy(&parts->downloads.fetches);
    preinstall_destroy(&parts->downloads.preinstall);
    packages_jobs_destroy(&parts->downloads.packages);
    tool_servers_destroy(&parts->tool_servers);
    retention_destroy(&self->parts.retention);
    fetch_folder_destroy(&parts->downloads.fetch_folder);
    packages_folder_destroy(&parts->downloads.packages_folder);
    remover_destroy(&self->remover);
    create_destroy(&parts->create);
    package_wait_destroy(&parts->package_wait);
    pool_destroy(&parts->pool);
    launcher_destroy(&parts->launcher);
    launch_users_destroy(&parts->users);
    cgroup_sweep_destroy(&parts->sweep);
    session_feed_destroy(&parts->feed);
    capacity_destroy(&parts->capacity);
    pending_requests_destroy(&parts->pending);
    session_table_destroy(&parts->table);
    mailbox_destroy(&self->mailbox);
    files_destroy(&parts->files);
    prealloc_destroy(&parts->prealloc);
    stats_destroy(&parts->stats);
    audit_writer_destroy(&parts->audit);
    management_destroy(&parts->management);
    zloop_destroy(&parts->loop);
    cgroups_destroy(&parts->cgroups);
    free(self->package_folder);
    free(self);
    *self_p = NULL;
}

/* Counts other users of descriptors (capacity.h). */
static size_t count_others(void *arg)
{
    const registry_parts_t *parts = arg;

    return create_waiting(parts->create)
           + package_wait_size(parts->package_wait)
           + (parts->endpoints ? endpoints_count(parts->endpoints) : 0);
}

static void on_renewed(void *arg, const profile_t *profile)
{
    const registry_parts_t *parts = arg;

    pool_drain(parts->pool, profile);
}

static int on_prepare(void *arg, const profile_t *profile, fault_t *fault)
{
    const registry_parts_t *parts = arg;

    return preinstall_ask(parts->downloads.preinstall, profile, fault);
}

static void on_prepared(void *arg, const profile_t *profile)
{
    const registry_parts_t *parts = arg;

    preinstall_look_soon(parts->downloads.preinstall);
    package_wait_go_on(parts->package_wait, profile);
    create_next(parts->create);
}

static void start_launcher(registry_t *self)
{
    static const launcher_ops_t launcher_ops = {
        .renewed = on_renewed, .prepare = on_prepare, .prepared = on_prepared};
    registry_parts_t *parts = &self->parts;
    const launcher_needs_t needs = {
        .options = parts->options,
        .package_folder = self->package_folder,
        .loop = parts->loop,
        .audit = parts->audit,
        .cgroups = parts->cgroups,
        .prealloc = parts->prealloc,
        .users = parts->users,
        .table = parts->table,
        .ops = &launcher_ops,
        .arg = parts,
    };

    parts->launcher = launcher_new(&needs);
    launcher_start(parts->launcher);
}

static int make_folders(registry_parts_t *parts, fault_t *fault)
{
    const download_users_t users = launch_users_of_downloads(parts->users);
    const packages_owners_t owners = {
        .zygotes = launch_users_of_zygotes(parts->users),
        .uv_uid = users.sandbox_uid,
    };
    int r = packages_folder_new(parts->options, &owners,
                                &parts->downloads.packages_folder, fault);

    return r < 0 ? r
                 : fetch_folder_new(parts->options, owners.zygotes,
                                    &parts->downloads.fetch_folder, fault);
}

/* Makes the parts that have no thread and no socket for others. */
static int make_parts(registry_t *self, fault_t *fault)
{
    registry_parts_t *parts = &self->parts;
    const options_t *options = parts->options;
    int r;

    if ((r = cgroup_sweep_find(options, &parts->cgroups, fault)) < 0
        || (r = launch_users_new(options, parts->cgroups, &parts->users, fault))
               < 0
        || (r = make_folders(parts, fault)) < 0)
        return r;
    self->mailbox =
        mailbox_new(session_command_discard, session_report_discard);
    parts->stats = stats_new();
    parts->prealloc =
        prealloc_new(options->runtime_dir, options->state_dir, parts->cgroups);
    parts->management = management_new(options->runtime_dir);
    management_watch(parts->management, management_api_on_bad_message, parts);
    parts->table = session_table_new(self->mailbox);
    parts->pending =
        pending_requests_new(parts->management, parts->table, parts->stats);
    parts->feed = session_feed_new(parts->management, parts->table);
    parts->tool_servers = tool_servers_new(parts);
    parts->package_wait = package_wait_new(parts);
    parts->create = create_new(parts);
    parts->capacity =
        capacity_new(parts->table, capacity_measure(options),
                     (size_t) options->kept.gone_max, count_others, parts);
    parts->sweep = cgroup_sweep_new(parts->loop, parts->cgroups, parts->table,
                                    parts->prealloc);
    parts->pool = pool_new(parts->loop, options, parts->table, parts->capacity,
                           &create_pool_source, parts->create);
    parts->downloads.packages = packages_jobs_new(parts, self->package_folder);
    parts->downloads.preinstall = preinstall_new(parts, self->package_folder);
    parts->downloads.fetches = fetch_jobs_new(parts, self->package_folder);
    parts->management_api = management_api_new(parts);
    self->closing =
        closing_new(options, parts->table, parts->pending, parts->loop);
    return 0;
}

/* Binds the sockets for clients, after all sessions are there. */
static int open_sockets(registry_t *self, fault_t *fault)
{
    registry_parts_t *parts = &self->parts;
    int r = management_bind(parts->management, fault);

    if (r < 0)
        return r;
    r = endpoints_new(parts->options, parts->memory, self->journal_key,
                      &parts->endpoints, fault);
    if (r < 0)
        return r;
    zloop_reader(parts->loop, endpoints_socket(parts->endpoints),
                 endpoints_api_on_endpoints, parts);
    zloop_reader(parts->loop, management_socket(parts->management),
                 on_management, self);
    zloop_reader(parts->loop, files_socket(parts->files), files_api_on_files,
                 parts);
    return 0;
}

/* Starts the threads and timers that need no client. */
static void start_parts(registry_t *self)
{
    registry_parts_t *parts = &self->parts;
    const options_t *options = parts->options;
    cleanup_free char *aside = mem_format("%s/discarded", options->state_dir);

    start_launcher(self);
    parts->files = files_new(options->state_dir, options->checkpoint_bytes);
    self->remover = remover_new(aside);
    parts->retention = retention_new(
        options->state_dir, aside, options->kept.journal_keep_ms, parts->table,
        parts->downloads.packages_folder, self->remover);
    zloop_reader(parts->loop, mailbox_socket(self->mailbox), on_lines, self);
}

int registry_new(const options_t *options, const char *package_folder,
                 memory_budget_t *memory, struct discovery *discovery,
                 registry_t **ret_registry, fault_t *fault)
{
    cleanup_registry registry_t *self = mem_new(sizeof *self);
    registry_parts_t *parts = &self->parts;
    cleanup_free char *key =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    int r;

    *parts = (registry_parts_t){.options = options,
                                .memory = memory,
                                .discovery = discovery,
                                .journal_key = self->journal_key,
                                .ops = &ops,
                                .arg = self};
    self->package_folder = mem_text(package_folder);
    parts->audit = audit_writer_new("gateway");
    parts->loop = zloop_new();
    zloop_set_nonstop(parts->loop, true);
    gateway_info_note(parts);
    if ((r = log_key_read(key, true, self->journal_key, fault)) < 0
        || (r = make_parts(self, fault)) < 0)
        return r;
    start_parts(self);
    adopt_take_all(parts);
    cgroup_sweep_run(parts->sweep);
    if ((r = open_sockets(self, fault)) < 0)
        return r;
    cgroup_sweep_run_soon(parts->sweep);
    tool_servers_look(parts->tool_servers, clock_monotonic_ms());
    zloop_timer(parts->loop, TICK_MS, 0, on_tick, self);
    retention_run(parts->retention, parts->loop);
    *ret_registry = take_ptr(self);
    return 0;
}

void registry_on_reload(registry_t *self, registry_reload_fn *reload_fn,
                        void *arg)
{
    self->reload = reload_fn;
    self->reload_arg = arg;
}

int registry_run(registry_t *self, int signal_fd)
{
    zmq_pollitem_t item = {.fd = signal_fd, .events = ZMQ_POLLIN};

    zloop_poller(self->parts.loop, &item, on_signal, self);
    zloop_start(self->parts.loop);
    cgroup_sweep_run(self->parts.sweep);
    return 0;
}
