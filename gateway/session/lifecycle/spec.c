/* session.json: the values from which a session was made, and those that the
 * next gateway needs. Written on every change that matters, and replaced
 * atomically. Only the connection file has the key. */
#include "gateway/session/lifecycle/spec.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/fd.h"

#include <jansson.h>

#include <errno.h>
#include <string.h>

#define STATE_FILE_MAX (256u << 10)

char *session_state_folder(const char *state_dir, const char *id)
{
    return mem_format("%s/sessions/%s", state_dir, id);
}

char *session_own_workspace(const char *state_folder)
{
    return mem_format("%s/workspace", state_folder);
}

char *session_spec_sockets(const session_spec_t *self)
{
    return mem_format("%s/z", self->runtime_folder);
}

bool session_keeps_workspace(const char *state_folder, const char *workspace)
{
    cleanup_free char *own = session_own_workspace(state_folder);

    return strcmp(workspace, own) == 0;
}

/* Decides by the ids that the launch has noted. Without a launch, and for
 * sessions older than users of their own, the gateway's capabilities decide. */
bool session_spec_shares_user(const session_spec_t *self)
{
    return self->process.has_ids ? self->process.init_uid == 0
                                 : !capability_gives_users();
}

void session_spec_destroy(session_spec_t **self_p)
{
    session_spec_t *self = *self_p;

    if (!self)
        return;
    free(self->name);
    free(self->runtime_folder);
    free(self->state_folder);
    free(self->workspace);
    free(self->environment);
    free(self->asked.limits);
    free(self->asked.tools);
    download_wishes_clear(&self->asked.downloads);
    free(self->asker);
    free(self->connection_file);
    free(self->end.detail);
    free(self->group.name);
    free(self->packages.shown);
    free(self->process.preinstalled);
    connection_file_clear(&self->connection);
    free(self);
    *self_p = NULL;
}

/* One row for each number that is kept: its name on disk, and its member. */
#define NUMBERS(X)                                                             \
    X(created_us, times.created_us)                                            \
    X(asked_us, times.asked_us)                                                \
    X(idle_timeout_ms, times.idle_timeout_ms)                                  \
    X(lifetime_ms, times.lifetime_ms)                                          \
    X(cell_limit_ms, times.cell_limit_ms)                                      \
    X(epoch, epoch)                                                            \
    X(pid, process.pid)                                                        \
    X(start_time, process.start_time)                                          \
    X(host_uid, process.host_uid)                                              \
    X(init_uid, process.init_uid)                                              \
    X(holder_pid, holder.pid)                                                  \
    X(holder_start_time, holder.start_time)                                    \
    X(seed_count, seed.count)                                                  \
    X(subscribers, subscribers)                                                \
    X(ended_us, end.ended_us)

/* One row for each text. */
#define TEXTS(X)                                                               \
    X(name, name)                                                              \
    X(runtime_folder, runtime_folder)                                          \
    X(workspace, workspace)                                                    \
    X(environment, environment)                                                \
    X(limits_asked, asked.limits)                                              \
    X(tools_asked, asked.tools)                                                \
    X(packages_asked, asked.downloads.packages)                                \
    X(fetch_asked, asked.downloads.fetch)                                      \
    X(connection_file, connection_file)                                        \
    X(cgroup, group.name)                                                      \
    X(packages_shown, packages.shown)                                          \
    X(preinstalled, process.preinstalled)                                      \
    X(detail, end.detail)

int session_spec_write(const session_spec_t *self, fault_t *fault)
{
    json_auto_t *object = json_object();
    cleanup_free char *path = mem_format("%s/session.json", self->state_folder);
    cleanup_free char *spare = mem_format("%s.before", path);
    cleanup_free char *text = NULL;

#define X(name, member)                                                        \
    json_object_set_new(object, #name, json_integer((json_int_t) self->member));
    NUMBERS(X)
#undef X
#define X(name, member)                                                        \
    if (self->member)                                                          \
        json_object_set_new(object, #name, json_string(self->member));
    TEXTS(X)
#undef X
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "id", json_string(self->id));
    json_object_set_new(object, "profile", json_string(self->profile->name));
    json_object_set_new(object, "external", json_boolean(self->is_external));
    json_object_set_new(object, "has_ids", json_boolean(self->process.has_ids));
    json_object_set_new(object, "pooled", json_boolean(self->is_pooled));
    json_object_set_new(object, "seeding", json_boolean(self->seed.is_running));
    json_object_set_new(object, "restarts", json_boolean(self->restarts));
    json_object_set_new(object, "kernel_session",
                        json_string(self->kernel_session));
    json_object_set_new(object, "reason", json_string(self->end.reason));
    if (self->packages.token[0])
        json_object_set_new(object, "packages",
                            json_string(self->packages.token));
    text = json_dumps(object, JSON_INDENT(1));
    return file_alternate(path, spare, 0600, text, strlen(text), fault);
}

static void copy_text(char *to, size_t size, json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(to, size, "%s", text ? text : "");
}

/* Turns rules that are no text into unreadable ones: without rules a session
 * could do more. */
static void close_rules(json_t *object, const char *key, char **rules)
{
    if (!*rules && json_object_get(object, key))
        *rules = mem_text("");
}

int session_spec_read(const char *state_folder, session_spec_t **ret_spec,
                      char **ret_profile, fault_t *fault)
{
    cleanup_session_spec session_spec_t *self = mem_new(sizeof *self);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_free char *path = mem_format("%s/session.json", state_folder);
    json_auto_t *object = NULL;
    json_error_t error;
    const char *profile;
    int r = file_read(path, STATE_FILE_MAX, &content, fault);

    if (r < 0)
        return r;
    object = json_loadb((const char *) content.data, content.size, 0, &error);
    if (!object)
        return fault_set(fault, EINVAL, "%s:%d: %s", path, error.line,
                         error.text);
#define X(name, member)                                                        \
    self->member = (__typeof__(self->member)) json_integer_value(              \
        json_object_get(object, #name));
    NUMBERS(X)
#undef X
#define X(name, member)                                                        \
    self->member = mem_text(json_string_value(json_object_get(object, #name)));
    TEXTS(X)
#undef X
    close_rules(object, "packages_asked", &self->asked.downloads.packages);
    close_rules(object, "fetch_asked", &self->asked.downloads.fetch);
    copy_text(self->id, sizeof self->id, object, "id");
    copy_text(self->kernel_session, sizeof self->kernel_session, object,
              "kernel_session");
    copy_text(self->end.reason, sizeof self->end.reason, object, "reason");
    copy_text(self->packages.token, sizeof self->packages.token, object,
              "packages");
    if (!packages_token_is_valid(self->packages.token))
        self->packages.token[0] = '\0';
    self->is_external = json_is_true(json_object_get(object, "external"));
    self->process.has_ids = json_is_true(json_object_get(object, "has_ids"));
    self->is_pooled = json_is_true(json_object_get(object, "pooled"));
    self->seed.is_running = json_is_true(json_object_get(object, "seeding"));
    self->restarts = json_is_true(json_object_get(object, "restarts"));
    self->state_folder = mem_text(state_folder);
    self->is_adopted = true;
    profile = json_string_value(json_object_get(object, "profile"));
    if (!self->id[0] || !profile || !self->runtime_folder || !self->workspace
        || !self->connection_file)
        return fault_set(fault, EINVAL, "%s: members are missing", path);
    *ret_profile = mem_text(profile);
    *ret_spec = take_ptr(self);
    return 0;
}

int session_spec_find(const char *state_dir, const char *id,
                      session_spec_t **ret_spec, char **ret_profile,
                      fault_t *fault)
{
    cleanup_free char *folder = NULL;

    if (strchr(id, '/') || id[0] == '.' || !id[0])
        return fault_set(fault, ENOENT, "there is no session %s", id);
    folder = session_state_folder(state_dir, id);
    return session_spec_read(folder, ret_spec, ret_profile, fault);
}
