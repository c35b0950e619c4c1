/* See adopt.h. Lives in the main thread. */
#include "gateway/registry/sessions/adopt.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/lowering.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/sessions/session_factory.h"
#include "kernels/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* how long a kernel of no known session may take to end */
#define END_UNKNOWN_MS 2000

static char *runtime_folder(const registry_parts_t *parts,
                            const char *state_folder)
{
    return mem_format("%s/sessions%s", parts->options->runtime_dir,
                      strrchr(state_folder, '/'));
}

/* Ends a kernel whose session is unknown. Its pid 1 ends after it has reported
 * the end. */
static void end_unknown(const registry_parts_t *parts, const char *state_folder)
{
    cleanup_free char *folder = runtime_folder(parts, state_folder);
    cleanup_kernel kernel_t *kernel = NULL;
    kernel_end_t end = {0};
    fault_t fault;

    /* Through pid 1 alone, because the kernel's number is unknown. */
    if (kernel_new(folder, false, &kernel, &fault) == 0) {
        int64_t deadline = clock_monotonic_ms() + END_UNKNOWN_MS;

        kernel_kill(kernel);
        while (!kernel_read_end(kernel, &end) && kernel_init_fd(kernel) >= 0
               && clock_monotonic_ms() < deadline) {
            struct pollfd look = {kernel_init_fd(kernel), POLLIN, 0};
            (void) poll(&look, 1, 100);
        }
    }
    (void) path_remove_tree(folder, &fault);
}

/* Removes the folder of a session that has no description yet, if it has
 * nothing else either: its gateway was killed while it made it. Such a session
 * was for the pool, or no client has got its id. Returns false if it is kept.
 */
static bool remove_half_made(const char *folder)
{
    cleanup_free char *spare = mem_format("%s/session.json.before", folder);
    cleanup_free char *workspace = mem_format("%s/workspace", folder);
    cleanup_free char *journal = mem_format("%s/journal", folder);

    if (access(journal, F_OK) == 0 || (rmdir(workspace) < 0 && errno != ENOENT))
        return false;
    (void) unlink(spare);
    return rmdir(folder) == 0;
}

/* Returns 1 if the session was found, 0 if there was none to be kept. */
static int adopt_one(const registry_parts_t *parts, const char *folder,
                     fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    session_entry_t *entry;
    int r = session_spec_read(folder, &spec, &profile, fault);

    if (r < 0) {
        end_unknown(parts, folder);
        return r == -ENOENT && remove_half_made(folder) ? 0 : r;
    }
    if (spec->is_pooled) {
        end_unknown(parts, folder);
        return path_remove_tree(folder, fault);
    }
    spec->profile = session_factory_profile(parts->options, profile);
    spec->limits = lowering_limits(spec->profile, spec->asked.limits);
    session_factory_fill_settings(parts, spec);
    if (spec->end.reason[0]
        && clock_wall_us() - spec->end.ended_us
               > spec->times.gone_keep_ms * 1000) {
        cleanup_free char *old = runtime_folder(parts, folder);

        /* No thread will answer in that folder any more. */
        (void) path_remove_tree(old, fault);
        return 1;
    }
    spec->epoch++;
    r = connection_file_read(spec->connection_file, &spec->connection, fault);
    if (r < 0) {
        /* Without its key and ports no client can reach it: the machine was
         * booted, or the runtime folder was emptied. */
        if (spec->end.reason[0])
            return 1;
        kernel_kill_stray(spec->process.pid, spec->process.start_time);
        spec->process.pid = 0;
        snprintf(spec->end.reason, sizeof spec->end.reason, "lost");
        free(spec->end.detail);
        spec->end.detail =
            mem_format("its connection file is gone (%s)", fault->text);
        spec->end.ended_us = clock_wall_us();
        r = session_spec_write(spec, fault);
        return r < 0 ? r : 1;
    }
    r = session_spec_write(spec, fault);
    if (r < 0)
        return r;
    r = session_factory_add(parts, &spec, false, &entry, fault);
    if (r < 0)
        return r;
    launcher_report(parts->launcher, entry);
    entry->host_uid = launch_users_found(parts->users, entry);
    if (!session_entry_is_gone(entry))
        launch_users_hold(parts->users, entry, entry->host_uid);
    return 1;
}

void adopt_take_all(const registry_parts_t *parts)
{
    cleanup_free char *sessions =
        mem_format("%s/sessions", parts->options->state_dir);
    DIR *folder = opendir(sessions);
    struct dirent *item;
    size_t count = 0;

    while (folder && (item = readdir(folder))) {
        cleanup_free char *path = mem_format("%s/%s", sessions, item->d_name);
        fault_t fault = {0};

        if (item->d_name[0] == '.')
            continue;
        int r = adopt_one(parts, path, &fault);
        if (r < 0)
            log_error("session=%s not taken over: %s", item->d_name,
                      fault.text);
        else
            count += (size_t) r;
    }
    if (folder)
        closedir(folder);
    capacity_forget_gone(parts->capacity);
    if (count)
        log_notice("%zu sessions of an earlier gateway were found, %zu of them "
                   "alive",
                   count, session_table_alive(parts->table));
}

/* Finds its ports and its key if they are still in the runtime folder, and
 * makes others if not. */
static int find_connection(const registry_parts_t *parts, session_spec_t *spec,
                           fault_t *fault)
{
    int r;

    free(spec->runtime_folder);
    spec->runtime_folder =
        mem_format("%s/sessions/%s", parts->options->runtime_dir, spec->id);
    if (connection_file_read(spec->connection_file, &spec->connection, fault)
        == 0)
        return 0;
    connection_file_clear(&spec->connection);
    free(take_ptr(spec->connection_file));
    r = path_make_folders(spec->runtime_folder, 0700, fault);
    return r < 0 ? r
                 : session_factory_make_connection(parts->options, spec, NULL,
                                                   NULL, fault);
}

int adopt_unearth(const registry_parts_t *parts, const char *id,
                  session_entry_t **ret_entry, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int r = session_spec_find(parts->options->state_dir, id, &spec, &profile,
                              fault);

    if (r < 0)
        return r;
    if (spec->is_external)
        return fault_set(fault, EPERM, "its connection file is another's");
    spec->profile = session_factory_profile(parts->options, profile);
    spec->limits = lowering_limits(spec->profile, spec->asked.limits);
    session_factory_fill_settings(parts, spec);
    if (!spec->end.reason[0])
        snprintf(spec->end.reason, sizeof spec->end.reason, "lost");
    spec->epoch++;
    spec->subscribers = 0;
    /* Its tombstone must not expire meanwhile. */
    spec->end.ended_us = clock_wall_us();
    if ((r = find_connection(parts, spec, fault)) < 0)
        return r;
    if ((r = session_factory_add(parts, &spec, false, ret_entry, fault)) < 0)
        return r;
    launcher_report(parts->launcher, *ret_entry);
    (*ret_entry)->host_uid = launch_users_found(parts->users, *ret_entry);
    return 0;
}

void adopt_revive(const registry_parts_t *parts, session_entry_t *entry,
                  message_t **request_p)
{
    session_command_t *command = session_command_new(SESSION_REVIVE, 0);

    session_table_revive(parts->table, entry);
    session_factory_announce(parts, entry);
    launch_users_hold(parts->users, entry,
                      launch_users_revived(parts->users, entry));
    entry->create_token = pending_requests_add_start(
        parts->pending, NULL, request_p, clock_monotonic_us());
    command->host_uid = entry->host_uid;
    mailbox_line_send(entry->line, command);
}
