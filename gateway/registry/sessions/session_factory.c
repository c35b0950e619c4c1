/* See session_factory.h. Lives in the main thread. */
#include "gateway/registry/sessions/session_factory.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "base/uuid.h"
#include "gateway/config/lowering.h"
#include "gateway/config/tool_list.h"
#include "gateway/files/actor.h"
#include "gateway/registry/core/session_discovery.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/prealloc.h"
#include "gateway/registry/tools/tool_servers.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRONMENT_MAX (16u << 10) /* bytes of it as JSON */

const profile_t *session_factory_profile(const options_t *options,
                                         const char *name)
{
    const profile_t *profile = options_profile(options, name);

    return profile ? profile : options_profile(options, NULL);
}

void session_factory_fill_settings(const registry_parts_t *parts,
                                   session_spec_t *spec)
{
    const options_t *options = parts->options;

    spec->group.tree = parts->cgroups;
    spec->is_lent = options->users.lends_subids;
    spec->times.grace_ms = options->times.interrupt_grace_ms;
    spec->times.output_timeout_ms = options->times.output_timeout_ms;
    spec->times.tool_grace_ms = options->times.tool_grace_ms;
    spec->times.ready_ms = options->times.ready_timeout_ms;
    spec->times.gone_keep_ms = options->kept.gone_keep_ms;
    spec->bounds.memory = parts->memory;
    spec->bounds.subscriber_bytes = options->subscribers.bytes;
    spec->bounds.subscriber_patience_ms = options->subscribers.patience_ms;
    spec->journal.options = (journal_options_t){
        .bytes_max = spec->limits.journal_bytes, .spill_min = options->spill};
    memcpy(spec->journal.key, parts->journal_key, sizeof spec->journal.key);
    /* A session from before its profile had an index gets a token, too; its
     * kernel has it from its next start on (sees_packages). */
    if (spec->profile->packages.index && !spec->packages.token[0])
        packages_token_make(spec->packages.token);
}

static void make_id(char ret_id[SESSION_ID_MAX])
{
    uint8_t b[16];

    randombytes_buf(b, sizeof b);
    uuid_write(b, 4, ret_id);
}

void session_factory_prealloc(const registry_parts_t *parts)
{
    const profile_t *profile = options_profile(parts->options, NULL);
    cgroup_limits_t limits = profile_group_limits(&profile->limits);
    char id[SESSION_ID_MAX];

    make_id(id);
    prealloc_make(parts->prealloc, id, &limits);
}

static int check_transport(const char *file, const char *transport,
                           fault_t *fault)
{
    if (transport && strcmp(transport, "tcp") != 0
        && strcmp(transport, "ipc") != 0)
        return fault_set(fault, EINVAL, "transport must be ipc or tcp");
    if (file && transport)
        return fault_set(fault, EINVAL,
                         "a connection file has its own transport");
    return 0;
}

int session_factory_make_connection(const options_t *options,
                                    session_spec_t *spec, const char *file,
                                    const char *transport, fault_t *fault)
{
    connection_file_t *connection = &spec->connection;
    cleanup_free char *sockets = session_spec_sockets(spec);
    bool is_tcp = transport ? strcmp(transport, "tcp") == 0
                            : options->transport == OPTIONS_TCP;
    int r = check_transport(file, transport, fault);

    if (r < 0)
        return r;
    if (file) {
        spec->connection_file = mem_text(file);
        spec->is_external = true;
        return connection_file_read(file, connection, fault);
    }
    spec->connection_file =
        mem_format("%s/connection.json", spec->runtime_folder);
    connection->secret = secret_new_random();
    snprintf(connection->kernel_name, sizeof connection->kernel_name, "%.60s",
             spec->profile->name);
    if (is_tcp) {
        snprintf(connection->transport, sizeof connection->transport, "tcp");
        snprintf(connection->ip, sizeof connection->ip, "%.100s", options->ip);
        return 0;
    }
    snprintf(connection->transport, sizeof connection->transport, "ipc");
    if (snprintf(connection->ip, sizeof connection->ip, "%s", sockets)
        >= (int) sizeof connection->ip - 2)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is too long for ipc sockets; "
                         "set gateway/runtime_dir to a shorter one",
                         spec->runtime_folder);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection->ports[i] = i + 1;
    return 0;
}

static int make_each(const session_spec_t *spec, bool has_own_workspace,
                     fault_t *fault)
{
    int r = path_make_folders(spec->runtime_folder, 0700, fault);

    if (r == 0)
        r = path_make_folders(spec->state_folder, 0700, fault);
    if (r == 0 && has_own_workspace)
        r = path_make_folders(spec->workspace, 0700, fault);
    return r;
}

/* Takes the id of the preallocation if it fits. A member of the pool leaves it
 * for a client that waits. */
static void choose_id(const registry_parts_t *parts, session_spec_t *spec,
                      json_t *content)
{
    if (!spec->is_pooled && prealloc_is_there(parts->prealloc)
        && !json_object_get(content, "workspace"))
        snprintf(spec->id, sizeof spec->id, "%s", prealloc_id(parts->prealloc));
    else
        make_id(spec->id);
}

/* Refuses the gateway's own files: code in that folder could read every
 * session. */
static int refuse_own_files(const options_t *options, const char *folder,
                            fault_t *fault)
{
    const char *const own[] = {
        options->state_dir,
        options->runtime_dir,
        options->jupyter.discovery ? options->jupyter.runtime_dir : NULL,
        options->packages.dir,
        options->fetch.dir,
    };
    cleanup_free char *path = realpath(folder, NULL);

    if (!path)
        return fault_set(fault, errno, "workspace %s: %s", folder,
                         strerror(errno));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        cleanup_free char *kept = own[i] ? realpath(own[i], NULL) : NULL;

        if (kept && (path_is_within(kept, path) || path_is_within(path, kept)))
            return fault_set(fault, EINVAL,
                             "%s cannot be a workspace: the gateway keeps its "
                             "own files in %s; choose a folder without them",
                             path, kept);
    }
    return 0;
}

static int make_folders(const registry_parts_t *parts, session_spec_t *spec,
                        const char *workspace, uid_t host_uid, fault_t *fault)
{
    bool is_made;
    int r = workspace ? refuse_own_files(parts->options, workspace, fault) : 0;

    if (r < 0)
        return r;
    spec->runtime_folder =
        mem_format("%s/sessions/%s", parts->options->runtime_dir, spec->id);
    spec->state_folder =
        session_state_folder(parts->options->state_dir, spec->id);
    spec->workspace = workspace ? mem_text(workspace)
                                : session_own_workspace(spec->state_folder);
    is_made = prealloc_take(parts->prealloc, spec->id, spec->runtime_folder,
                            spec->state_folder);
    if (!is_made && (r = make_each(spec, !workspace, fault)) < 0)
        return r;
    if (host_uid != geteuid() && !workspace
        && chown(spec->workspace, host_uid, host_uid) < 0)
        return fault_set(fault, errno, "chown of %s: %s", spec->workspace,
                         strerror(errno));
    return 0;
}

/* Returns a duration; a negative number if it is negative or longer than
 * permitted. */
static int64_t get_ms(json_t *content, const char *key, int64_t otherwise)
{
    json_t *value = json_object_get(content, key);

    if (!json_is_number(value))
        return otherwise;
    return json_number_value(value) > SESSION_SECONDS_MAX
               ? -1
               : (int64_t) (json_number_value(value) * 1000);
}

/* Returns true if a session's name is one line, as lists and the log need it.
 */
static bool is_one_line(const char *name)
{
    for (const char *c = name; c && *c; c++)
        if ((unsigned char) *c < ' ' || *c == 0x7f)
            return false;
    return true;
}

/* Notes the process that asks, if the session is to end with it. */
static int fill_holder(json_t *content, const message_t *request,
                       session_spec_t *spec, fault_t *fault)
{
    pid_t pid = request ? message_sender_process(request) : 0;

    if (!json_is_true(json_object_get(content, "held")))
        return 0;
    spec->holder = (holder_id_t){pid, pidfd_start_time(pid)};
    if (spec->holder.start_time)
        return 0;
    return fault_set(fault, ESRCH,
                     "a session that is `held` ends with the process that asks "
                     "for it, and the gateway does not see that process: start "
                     "it in the gateway's PID namespace");
}

int session_factory_fill_wishes(const options_t *options, json_t *content,
                                const message_t *request, session_spec_t *spec,
                                fault_t *fault)
{
    const char *restart =
        json_string_value(json_object_get(content, "restart"));
    int r;

    if (restart && strcmp(restart, "auto") != 0
        && strcmp(restart, "never") != 0)
        return fault_set(fault, EINVAL, "restart must be auto or never");
    if (!is_one_line(json_string_value(json_object_get(content, "name"))))
        return fault_set(fault, EINVAL,
                         "a session's name has no control characters");
    spec->times.idle_timeout_ms =
        get_ms(content, "idle_timeout", options->times.idle_timeout_ms);
    spec->times.lifetime_ms =
        get_ms(content, "lifetime", options->times.lifetime_ms);
    spec->times.cell_limit_ms =
        get_ms(content, "cell_time_limit", options->times.cell_time_limit_ms);
    if (spec->times.idle_timeout_ms < 0 || spec->times.lifetime_ms < 0
        || spec->times.cell_limit_ms < 0)
        return fault_set(fault, EINVAL,
                         "idle_timeout, lifetime and "
                         "cell_time_limit are seconds, 0 to %.0f",
                         SESSION_SECONDS_MAX);
    spec->restarts = restart ? strcmp(restart, "auto") == 0
                             : options->restart == OPTIONS_RESTART_AUTO;
    if ((r = fill_holder(content, request, spec, fault)) < 0
        || (r = download_wishes_read(spec->profile, content,
                                     &spec->asked.downloads, fault))
               < 0)
        return r;
    return tool_list_ask(spec->profile, json_object_get(content, "tools"),
                         &spec->asked.tools, fault);
}

/* Returns the gateway's own variables that kernels have, too. */
static json_t *inherited(const options_t *options)
{
    json_t *environment = json_object();

    for (char *const *name = options->environment.inherit; name && *name;
         name++) {
        const char *value = getenv(*name);
        if (value)
            json_object_set_new(environment, *name, json_string(value));
    }
    return environment;
}

/* Makes the environment from scratch: variables that control the interpreter or
 * its libraries are not a client's choice. */
static int fill_environment(const registry_parts_t *parts, json_t *content,
                            session_spec_t *spec, fault_t *fault)
{
    json_t *environment = json_object_get(content, "environment"), *value;
    json_auto_t *all = inherited(parts->options);
    const char *name;

    if (environment && !json_is_object(environment))
        return fault_set(fault, EINVAL, "environment must be an object");
    json_object_foreach(environment, name, value)
    {
        if (!options_permits_variable(parts->options, name)
            || !json_is_string(value))
            return fault_set(
                fault, EINVAL,
                "environment must have texts; their names are KERNEL_ with "
                "capitals, digits or _, or are in sessions/allow_env");
    }
    json_object_update(all, environment);
    if (!json_object_size(all))
        return 0;
    spec->environment = json_dumps(all, JSON_COMPACT);
    if (strlen(spec->environment) > ENVIRONMENT_MAX)
        return fault_set(fault, E2BIG,
                         "environment has %zu bytes, %u are the limit",
                         strlen(spec->environment), ENVIRONMENT_MAX);
    return 0;
}

/* Fills in what the request itself decides. */
static int fill_asked(const registry_parts_t *parts, json_t *content,
                      const message_t *request, session_spec_t *spec,
                      fault_t *fault)
{
    const char *profile =
        json_string_value(json_object_get(content, "profile"));
    int r;

    spec->profile = options_profile(parts->options, profile);
    if (!spec->profile)
        return fault_set(fault, EINVAL,
                         "there is no profile \"%s\"; `hearth "
                         "gateway info` lists them",
                         profile);
    if ((r = session_factory_fill_wishes(parts->options, content, request, spec,
                                         fault))
            < 0
        || (r = fill_environment(parts, content, spec, fault)) < 0)
        return r;
    return lowering_ask(spec->profile, LOWERING_LIMITS,
                        json_object_get(content, LOWERING_LIMITS),
                        &spec->asked.limits, fault);
}

int session_factory_check(const registry_parts_t *parts, json_t *content,
                          const message_t *request, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    const char *workspace =
        json_string_value(json_object_get(content, "workspace"));
    const char *file =
        json_string_value(json_object_get(content, "connection_file"));
    const char *transport =
        json_string_value(json_object_get(content, "transport"));
    int r = fill_asked(parts, content, request, spec, fault);

    if (r == 0 && workspace)
        r = refuse_own_files(parts->options, workspace, fault);
    if (r == 0)
        r = check_transport(file, transport, fault);
    return r == 0 && file ? connection_file_read(file, &spec->connection, fault)
                          : r;
}

static int fill_spec(const registry_parts_t *parts, json_t *content,
                     const message_t *request, session_spec_t *spec,
                     uid_t host_uid, fault_t *fault)
{
    const char *name = json_string_value(json_object_get(content, "name"));
    int r = fill_asked(parts, content, request, spec, fault);

    if (r < 0)
        return r;
    spec->limits = lowering_limits(spec->profile, spec->asked.limits);
    choose_id(parts, spec, content);
    spec->times.created_us = clock_wall_us();
    spec->epoch = 1;
    session_factory_fill_settings(parts, spec);
    r = make_folders(parts, spec,
                     json_string_value(json_object_get(content, "workspace")),
                     host_uid, fault);
    if (r < 0)
        return r;
    spec->name = name ? mem_text(name) : mem_format("%.8s", spec->id);
    return session_factory_make_connection(
        parts->options, spec,
        json_string_value(json_object_get(content, "connection_file")),
        json_string_value(json_object_get(content, "transport")), fault);
}

void session_factory_announce(const registry_parts_t *parts,
                              session_entry_t *entry)
{
    const files_limits_t limits = {entry->limits.workspace_bytes,
                                   entry->limits.workspace_files};

    session_feed_report(parts->feed, entry);
    session_discovery_follow(parts, entry);
    tool_servers_greet(parts->tool_servers, entry);
    files_watch(parts->files, entry->id, entry->workspace, limits);
}

int session_factory_add(const registry_parts_t *parts, session_spec_t **spec_p,
                        bool is_start, session_entry_t **ret_entry,
                        fault_t *fault)
{
    int r = session_table_add(parts->table, spec_p, is_start,
                              clock_monotonic_ms(), ret_entry, fault);

    if (r == 0 && !session_entry_is_gone(*ret_entry))
        session_factory_announce(parts, *ret_entry);
    return r;
}

/* Removes the folders of a session that is not to be. */
static void remove_folders(const session_spec_t *spec)
{
    fault_t ignored;

    if (spec->runtime_folder)
        (void) path_remove_tree(spec->runtime_folder, &ignored);
    if (spec->state_folder)
        (void) path_remove_tree(spec->state_folder, &ignored);
}

session_entry_t *session_factory_start(const registry_parts_t *parts,
                                       json_t *content,
                                       const message_t *request_or_null,
                                       fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    uid_t host_uid = launch_users_choose(
        parts->users, json_is_string(json_object_get(content, "workspace")));
    session_entry_t *entry;

    spec->is_pooled = !request_or_null;
    spec->asker =
        request_or_null ? mem_text(message_sender(request_or_null)) : NULL;
    if (fill_spec(parts, content, request_or_null, spec, host_uid, fault) < 0) {
        remove_folders(spec);
        return NULL;
    }
    if (spec->is_pooled)
        spec->times.idle_timeout_ms = spec->times.lifetime_ms =
            spec->times.gone_keep_ms = 0;
    if (session_factory_add(parts, &spec, true, &entry, fault) < 0) {
        remove_folders(spec);
        return NULL;
    }
    launch_users_hold(parts->users, entry, host_uid);
    return entry;
}
