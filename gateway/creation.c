/* Sessions begin here: made on request, or taken over from a gateway that is
 * no more. What a session is made from is its spec (session.h). */
#include "gateway/registry_internal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/gateway.h"
#include "kernels/kernel.h"

#include <sodium.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_UNKNOWN_MS 2000 /* for a kernel of no known session */

static void fill_settings(registry_t *self, session_spec_t *spec)
{
    const options_t *options = self->options;

    spec->cgroups = self->cgroups;
    spec->grace_ms = options->interrupt_grace_ms;
    spec->gone_keep_ms = options->gone_keep_ms;
    spec->journal_options = (journal_options_t){
        .bytes_max = options->journal_bytes, .spill_min = options->spill};
    memcpy(spec->journal_key, self->journal_key, sizeof spec->journal_key);
}

static void make_id(char ret_id[SESSION_ID_MAX])
{
    uint8_t b[16];

    randombytes_buf(b, sizeof b);
    b[6] = (uint8_t) ((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t) ((b[8] & 0x3f) | 0x80);
    snprintf(ret_id, SESSION_ID_MAX,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

static int make_connection(registry_t *self, session_spec_t *spec,
                           const char *file, fault_t *fault)
{
    connection_t *connection = &spec->connection;
    const options_t *options = self->options;

    if (file) {
        spec->connection_file = mem_text(file);
        spec->is_external = true;
        return connection_read(file, connection, fault);
    }
    spec->connection_file =
        mem_format("%s/connection.json", spec->runtime_folder);
    connection->secret = secret_new_random();
    snprintf(connection->kernel_name, sizeof connection->kernel_name, "%.60s",
             spec->profile->name);
    if (options->transport == OPTIONS_TCP) {
        snprintf(connection->transport, sizeof connection->transport, "tcp");
        snprintf(connection->ip, sizeof connection->ip, "%.100s", options->ip);
        return 0;
    }
    snprintf(connection->transport, sizeof connection->transport, "ipc");
    if (snprintf(connection->ip, sizeof connection->ip, "%s/z",
                 spec->runtime_folder)
        >= (int) sizeof connection->ip - 2)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is too long for ipc sockets; "
                         "set gateway/runtime_dir to a shorter one",
                         spec->runtime_folder);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection->ports[i] = i + 1;
    return 0;
}

static int make_folders(registry_t *self, session_spec_t *spec,
                        const char *workspace, uid_t host_uid, fault_t *fault)
{
    int r;

    spec->runtime_folder =
        mem_format("%s/sessions/%s", self->options->runtime_dir, spec->id);
    spec->state_folder =
        mem_format("%s/sessions/%s", self->options->state_dir, spec->id);
    spec->workspace = workspace
                          ? mem_text(workspace)
                          : mem_format("%s/workspace", spec->state_folder);
    if ((r = path_make_folders(spec->runtime_folder, 0700, fault)) < 0
        || (r = path_make_folders(spec->state_folder, 0700, fault)) < 0
        || (!workspace
            && (r = path_make_folders(spec->workspace, 0700, fault)) < 0))
        return r;
    if (host_uid != geteuid() && !workspace
        && chown(spec->workspace, host_uid, host_uid) < 0)
        return fault_set(fault, errno, "chown of %s: %s", spec->workspace,
                         strerror(errno));
    return 0;
}

static int64_t get_ms(json_t *content, const char *key, int64_t otherwise)
{
    json_t *value = json_object_get(content, key);

    return json_is_number(value) ? (int64_t) (json_number_value(value) * 1000)
                                 : otherwise;
}

static int fill_spec(registry_t *self, json_t *content, session_spec_t *spec,
                     uid_t host_uid, fault_t *fault)
{
    const options_t *options = self->options;
    const char *profile =
        json_string_value(json_object_get(content, "profile"));
    const char *name = json_string_value(json_object_get(content, "name"));
    const char *restart =
        json_string_value(json_object_get(content, "restart"));
    int r;

    spec->profile = options_profile(options, profile);
    if (!spec->profile)
        return fault_set(fault, EINVAL,
                         "there is no profile \"%s\"; `hearth "
                         "gateway info` lists them",
                         profile);
    if (restart && strcmp(restart, "auto") != 0
        && strcmp(restart, "never") != 0)
        return fault_set(fault, EINVAL, "restart must be auto or never");
    make_id(spec->id);
    spec->created_us = clock_wall_us();
    spec->epoch = 1;
    spec->idle_timeout_ms =
        get_ms(content, "idle_timeout", options->idle_timeout_ms);
    spec->lifetime_ms = get_ms(content, "lifetime", options->lifetime_ms);
    spec->cell_limit_ms =
        get_ms(content, "cell_time_limit", options->cell_time_limit_ms);
    if (spec->idle_timeout_ms < 0 || spec->lifetime_ms < 0
        || spec->cell_limit_ms < 0)
        return fault_set(fault, EINVAL,
                         "idle_timeout, lifetime and "
                         "cell_time_limit are seconds, 0 or more");
    spec->restarts = restart ? strcmp(restart, "auto") == 0
                             : options->restart == OPTIONS_RESTART_AUTO;
    fill_settings(self, spec);
    r = make_folders(self, spec,
                     json_string_value(json_object_get(content, "workspace")),
                     host_uid, fault);
    if (r < 0)
        return r;
    spec->name = name ? mem_text(name) : mem_format("%.8s", spec->id);
    return make_connection(
        self, spec,
        json_string_value(json_object_get(content, "connection_file")), fault);
}

void creation_make(registry_t *self, json_t *content, message_t **request_p)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    cleanup_message message_t *request = take_ptr(*request_p);
    uid_t host_uid = launcher_choose_uid(self);
    entry_t *entry;
    fault_t fault;

    if (self->alive_count >= self->options->sessions_max) {
        management_reply(self->management, request,
                         management_error("TooManySessions",
                                          GATEWAY_EXIT_FAILED,
                                          "%zu sessions are alive, the limit "
                                          "sessions/sessions_max; delete one "
                                          "or try again later",
                                          self->alive_count));
        return;
    }
    if (fill_spec(self, content, spec, host_uid, &fault) < 0) {
        management_reply(self->management, request,
                         management_error("SessionNotStarted",
                                          GATEWAY_EXIT_FAILED, "%s",
                                          fault.text));
        return;
    }
    entry = registry_add(self, &spec);
    entry->host_uid = host_uid;
    entry->create_token = mem_text(orders_wait(self, &request)->token);
    launcher_launch(self, entry);
}

static const profile_t *adopted_profile(registry_t *self, const char *name)
{
    const profile_t *profile = options_profile(self->options, name);

    return profile ? profile : options_profile(self->options, NULL);
}

/* Nobody can say any more whose kernel it is: it must not live on. Its pid 1
 * leaves when it has told the end. */
static void end_unknown(registry_t *self, const char *state_folder)
{
    cleanup_free char *folder =
        mem_format("%s/sessions%s", self->options->runtime_dir,
                   strrchr(state_folder, '/'));
    cleanup_kernel kernel_t *kernel = NULL;
    kernel_end_t end = {0};
    fault_t fault;

    if (kernel_new(folder, &kernel, &fault) == 0) {
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
    struct stat about;
    entry_t *entry;
    int r = session_spec_read(folder, &spec, &profile, fault);

    if (r < 0) {
        end_unknown(self, folder);
        return r;
    }
    spec->profile = adopted_profile(self, profile);
    fill_settings(self, spec);
    if (spec->reason[0]
        && clock_wall_us() - spec->ended_us > spec->gone_keep_ms * 1000)
        return 0;
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
    entry = registry_add(self, &spec);
    if (stat(entry->workspace, &about) == 0)
        entry->host_uid = about.st_uid;
    return 0;
}

void creation_adopt_all(registry_t *self)
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
    if (count)
        log_notice("%zu sessions of an earlier gateway were found, %zu of them "
                   "alive",
                   count, self->alive_count);
}
