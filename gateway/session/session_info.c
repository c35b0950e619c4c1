/* A session as the management protocol shows it (docs/PROTOCOL.management.md,
 * "session"). */
#include "gateway/session/internal.h"

#include "base/clock.h"

#include <jansson.h>

static void set_time(json_t *object, const char *key, int64_t wall_us)
{
    char iso[CLOCK_ISO_SIZE];

    if (!wall_us) {
        json_object_set_new(object, key, json_null());
        return;
    }
    clock_iso(wall_us, iso);
    json_object_set_new(object, key, json_string(iso));
}

static int64_t expires_us(const self_t *self)
{
    if (self->state == LIFE_GONE || self->state == LIFE_BUSY
        || !self->spec->idle_timeout_ms)
        return 0;
    return self->idle_since_us + self->spec->idle_timeout_ms * 1000;
}

json_t *portrait_of(const self_t *self)
{
    const session_spec_t *spec = self->spec;
    json_t *model = json_object();

    json_object_set_new(model, "id", json_string(spec->id));
    json_object_set_new(model, "name", json_string(spec->name));
    json_object_set_new(model, "profile", json_string(spec->profile->name));
    json_object_set_new(
        model, "state",
        json_string(life_name(spec->is_seeding && life_is_at_work(self->state)
                                  ? LIFE_STARTING
                                  : self->state)));
    json_object_set_new(model, "connection_file",
                        json_string(spec->connection_file));
    json_object_set_new(model, "workspace", json_string(spec->workspace));
    json_object_set_new(model, "journal",
                        json_sprintf("%s/journal", spec->state_folder));
    if (self->journal)
        json_object_set_new(
            model, "journal_bytes",
            json_integer((json_int_t) journal_bytes(self->journal)));
    set_time(model, "created", spec->created_us);
    set_time(model, "last_activity", self->idle_since_us);
    set_time(model, "expires_at", expires_us(self));
    json_object_set_new(model, "idle_timeout",
                        json_real((double) spec->idle_timeout_ms / 1000));
    if (spec->limits_asked)
        json_object_set_new(model, "limits",
                            json_loads(spec->limits_asked, 0, NULL));
    json_object_set_new(model, "execution_count",
                        json_integer(self->next_count - 1));
    json_object_set_new(model, "pid", json_integer(spec->pid));
    if (spec->has_ids)
        json_object_set_new(model, "host_uid", json_integer(spec->host_uid));
    json_object_set_new(model, "kernel_session",
                        json_string(output_kernel_session(self->output)));
    if (spec->reason[0]) {
        json_object_set_new(model, "reason", json_string(spec->reason));
        json_object_set_new(model, "detail", json_string(spec->detail));
        set_time(model, "ended", spec->ended_us);
    }
    return model;
}

json_t *portrait_measured(const self_t *self)
{
    json_t *model = portrait_of(self);

    if (self->kernel)
        json_object_set_new(
            model, "memory_kib",
            json_integer((json_int_t) kernel_memory_kib(self->kernel)));
    return model;
}
