/* See session_info.h. */
#include "gateway/session/core/session_info.h"

#include "base/clock.h"
#include "gateway/config/tool_list.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/deadlines.h"
#include "gateway/session/requests/request_queue.h"

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

/* Returns the phase to show: a session whose seed runs is not ready. */
static session_phase_t shown_phase(const session_t *self)
{
    return self->spec->seed.is_running && session_state_is_at_work(self->state)
               ? PHASE_STARTING
               : session_state_phase(self->state);
}

json_t *session_info_of(const session_t *self)
{
    const session_spec_t *spec = self->spec;
    session_phase_t phase = session_state_phase(self->state);
    json_t *model = json_object();

    json_object_set_new(model, "id", json_string(spec->id));
    json_object_set_new(model, "name", json_string(spec->name));
    json_object_set_new(model, "profile", json_string(spec->profile->name));
    json_object_set_new(model, "state",
                        json_string(session_phase_name(shown_phase(self))));
    json_object_set_new(model, "connection_file",
                        json_string(spec->connection_file));
    json_object_set_new(model, "workspace", json_string(spec->workspace));
    json_object_set_new(model, "journal",
                        json_sprintf("%s/journal", spec->state_folder));
    if (self->journal)
        json_object_set_new(
            model, "journal_bytes",
            json_integer((json_int_t) journal_bytes(self->journal)));
    set_time(model, "created", spec->times.created_us);
    set_time(model, "last_activity", activity_last_us(self));
    set_time(model, "expires_at",
             deadlines_expiry(activity_last_us(self),
                              spec->times.idle_timeout_ms,
                              phase != PHASE_GONE && phase != PHASE_BUSY));
    json_object_set_new(model, "idle_timeout",
                        json_real((double) spec->times.idle_timeout_ms / 1000));
    if (spec->asked.limits)
        json_object_set_new(model, "limits",
                            json_loads(spec->asked.limits, 0, NULL));
    download_wishes_show(&spec->asked.downloads, model);
    if (spec->asked.tools)
        json_object_set_new(model, "tools", tool_list_array(spec->asked.tools));
    json_object_set_new(
        model, "execution_count",
        json_integer(request_queue_next_count(self->requests) - 1));
    json_object_set_new(model, "pid", json_integer(spec->process.pid));
    if (spec->process.has_ids)
        json_object_set_new(model, "host_uid",
                            json_integer(spec->process.host_uid));
    json_object_set_new(model, "kernel_session",
                        json_string(publisher_kernel_session(self->publisher)));
    if (spec->end.reason[0]) {
        json_object_set_new(model, "reason", json_string(spec->end.reason));
        json_object_set_new(model, "detail", json_string(spec->end.detail));
        set_time(model, "ended", spec->end.ended_us);
    }
    return model;
}

json_t *session_info_measured(const session_t *self)
{
    json_t *model = session_info_of(self);

    if (session_kernel(self))
        json_object_set_new(
            model, "memory_kib",
            json_integer((json_int_t) kernel_memory_kib(session_kernel(self))));
    return model;
}
