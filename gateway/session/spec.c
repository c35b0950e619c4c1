/* session.json: what a session is made from, and what the next gateway must
 * know of it. Written on every change that matters, replaced atomically; the
 * key is in the connection file alone. */
#include "gateway/session/actor.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/privilege.h"

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

bool session_keeps_workspace(const char *state_folder, const char *workspace)
{
    cleanup_free char *own = session_own_workspace(state_folder);

    return strcmp(workspace, own) == 0;
}

/* Without a launch that tells: as it was before there were such users. */
bool session_spec_shares_user(const session_spec_t *self)
{
    return self->has_ids ? self->init_uid == 0 : !privilege_gives_users();
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
    free(self->limits_asked);
    free(self->asker);
    free(self->connection_file);
    free(self->detail);
    free(self->cgroup);
    connection_clear(&self->connection);
    free(self);
    *self_p = NULL;
}

/* One row a number that is kept. */
#define NUMBERS(X)                                                             \
    X(created_us)                                                              \
    X(idle_timeout_ms)                                                         \
    X(lifetime_ms)                                                             \
    X(cell_limit_ms)                                                           \
    X(epoch)                                                                   \
    X(pid)                                                                     \
    X(start_time)                                                              \
    X(host_uid)                                                                \
    X(init_uid)                                                                \
    X(seed_count)                                                              \
    X(subscribers)                                                             \
    X(ended_us)

#define TEXTS(X)                                                               \
    X(name)                                                                    \
    X(runtime_folder)                                                          \
    X(workspace)                                                               \
    X(environment)                                                             \
    X(limits_asked)                                                            \
    X(connection_file)                                                         \
    X(cgroup)                                                                  \
    X(detail)

int session_spec_write(const session_spec_t *self, fault_t *fault)
{
    json_auto_t *object = json_object();
    cleanup_free char *path = mem_format("%s/session.json", self->state_folder);
    cleanup_free char *spare = mem_format("%s.before", path);
    cleanup_free char *text = NULL;

#define X(member)                                                              \
    json_object_set_new(object, #member,                                       \
                        json_integer((json_int_t) self->member));
    NUMBERS(X)
#undef X
#define X(member)                                                              \
    if (self->member)                                                          \
        json_object_set_new(object, #member, json_string(self->member));
    TEXTS(X)
#undef X
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "id", json_string(self->id));
    json_object_set_new(object, "profile", json_string(self->profile->name));
    json_object_set_new(object, "external", json_boolean(self->is_external));
    json_object_set_new(object, "has_ids", json_boolean(self->has_ids));
    json_object_set_new(object, "pooled", json_boolean(self->is_pooled));
    json_object_set_new(object, "seeding", json_boolean(self->is_seeding));
    json_object_set_new(object, "restarts", json_boolean(self->restarts));
    json_object_set_new(object, "kernel_session",
                        json_string(self->kernel_session));
    json_object_set_new(object, "reason", json_string(self->reason));
    text = json_dumps(object, JSON_INDENT(1));
    return file_alternate(path, spare, 0600, text, strlen(text), fault);
}

static void copy_text(char *to, size_t size, json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(to, size, "%s", text ? text : "");
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
#define X(member)                                                              \
    self->member = (__typeof__(self->member)) json_integer_value(              \
        json_object_get(object, #member));
    NUMBERS(X)
#undef X
#define X(member)                                                              \
    self->member =                                                             \
        mem_text(json_string_value(json_object_get(object, #member)));
    TEXTS(X)
#undef X
    copy_text(self->id, sizeof self->id, object, "id");
    copy_text(self->kernel_session, sizeof self->kernel_session, object,
              "kernel_session");
    copy_text(self->reason, sizeof self->reason, object, "reason");
    self->is_external = json_is_true(json_object_get(object, "external"));
    self->has_ids = json_is_true(json_object_get(object, "has_ids"));
    self->is_pooled = json_is_true(json_object_get(object, "pooled"));
    self->is_seeding = json_is_true(json_object_get(object, "seeding"));
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
