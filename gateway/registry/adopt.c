/* Sessions that a gateway which is no more has left: taken over with their
 * kernels, or ended when nobody can say whose they are. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/limit_overrides.h"
#include "kernels/kernel.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define END_UNKNOWN_MS 2000 /* for a kernel of no known session */

const profile_t *adoption_profile(const registry_t *self, const char *name)
{
    const profile_t *profile = options_profile(self->options, name);

    return profile ? profile : options_profile(self->options, NULL);
}

static char *runtime_folder(const registry_t *self, const char *state_folder)
{
    return mem_format("%s/sessions%s", self->options->runtime_dir,
                      strrchr(state_folder, '/'));
}

/* Nobody can say any more whose kernel it is: it must not live on. Its pid 1
 * leaves when it has told the end. */
static void end_unknown(registry_t *self, const char *state_folder)
{
    cleanup_free char *folder = runtime_folder(self, state_folder);
    cleanup_kernel kernel_t *kernel = NULL;
    kernel_end_t end = {0};
    fault_t fault;

    /* By pid 1 alone: its number is not known. */
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

static int adopt_one(registry_t *self, const char *folder, fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    entry_t *entry;
    int r = session_spec_read(folder, &spec, &profile, fault);

    if (r < 0) {
        end_unknown(self, folder);
        return r;
    }
    if (spec->is_pooled) {
        end_unknown(self, folder);
        return path_remove_tree(folder, fault);
    }
    spec->profile = adoption_profile(self, profile);
    spec->limits = session_limits_keep(spec->profile, spec->limits_asked);
    creation_fill_settings(self, spec);
    if (spec->reason[0]
        && clock_wall_us() - spec->ended_us > spec->gone_keep_ms * 1000) {
        cleanup_free char *old = runtime_folder(self, folder);

        /* Nobody answers there any more. */
        (void) path_remove_tree(old, fault);
        return 0;
    }
    spec->epoch++;
    r = connection_read(spec->connection_file, &spec->connection, fault);
    if (r < 0) {
        /* Without its key and ports nobody can talk to it: a reboot, or
         * somebody emptied the runtime folder. */
        if (spec->reason[0])
            return 0;
        kernel_kill_stray(spec->pid, spec->start_time);
        spec->pid = 0;
        snprintf(spec->reason, sizeof spec->reason, "lost");
        free(spec->detail);
        spec->detail =
            mem_format("its connection file is gone (%s)", fault->text);
        spec->ended_us = clock_wall_us();
        return session_spec_write(spec, fault);
    }
    r = session_spec_write(spec, fault);
    if (r < 0)
        return r;
    r = registry_add(self, &spec, &entry, fault);
    if (r < 0)
        return r;
    entry->host_uid = launcher_found_uid(entry);
    if (!entry->is_gone)
        launcher_hold_user(entry, entry->host_uid);
    return 0;
}

void adoption_take_all(registry_t *self)
{
    cleanup_free char *sessions =
        mem_format("%s/sessions", self->options->state_dir);
    DIR *folder = opendir(sessions);
    struct dirent *item;
    size_t count = 0;

    while (folder && (item = readdir(folder))) {
        cleanup_free char *path = mem_format("%s/%s", sessions, item->d_name);
        fault_t fault = {0};

        if (item->d_name[0] == '.')
            continue;
        if (adopt_one(self, path, &fault) < 0)
            log_error("session=%s not taken over: %s", item->d_name,
                      fault.text);
        else
            count++;
    }
    if (folder)
        closedir(folder);
    room_forget_gone(self);
    if (count)
        log_notice("%zu sessions of an earlier gateway were found, %zu of them "
                   "alive",
                   count, self->alive_count);
}

/* Its ports and its key, where they still stand in the runtime folder. */
static int find_connection(registry_t *self, session_spec_t *spec,
                           fault_t *fault)
{
    int r;

    free(spec->runtime_folder);
    spec->runtime_folder =
        mem_format("%s/sessions/%s", self->options->runtime_dir, spec->id);
    if (connection_read(spec->connection_file, &spec->connection, fault) == 0)
        return 0;
    connection_clear(&spec->connection);
    free(take_ptr(spec->connection_file));
    r = path_make_folders(spec->runtime_folder, 0700, fault);
    return r < 0 ? r : creation_make_connection(self, spec, NULL, NULL, fault);
}

int adoption_unearth(registry_t *self, const char *id, entry_t **ret_entry,
                     fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int r =
        session_spec_find(self->options->state_dir, id, &spec, &profile, fault);

    if (r < 0)
        return r;
    if (spec->is_external)
        return fault_set(fault, EPERM, "its connection file is another's");
    spec->profile = adoption_profile(self, profile);
    spec->limits = session_limits_keep(spec->profile, spec->limits_asked);
    creation_fill_settings(self, spec);
    if (!spec->reason[0])
        snprintf(spec->reason, sizeof spec->reason, "lost");
    spec->epoch++;
    spec->subscribers = 0;
    spec->ended_us = clock_wall_us(); /* its tombstone stands while we try */
    if ((r = find_connection(self, spec, fault)) < 0)
        return r;
    if ((r = registry_add(self, &spec, ret_entry, fault)) < 0)
        return r;
    (*ret_entry)->host_uid = launcher_found_uid(*ret_entry);
    return 0;
}

void adoption_revive(registry_t *self, entry_t *entry, message_t **request_p)
{
    char user[16];

    entry->is_ready = false;
    registry_count_alive(self, entry);
    launcher_hold_user(entry, launcher_revived_uid(entry));
    entry->create_token =
        mem_text(pending_new_start(self, request_p, clock_monotonic_us()));
    snprintf(user, sizeof user, "%u", entry->host_uid);
    line_say(entry->line, "REVIVE", user, NULL);
}
