/* See gateway_info.h. Lives in the main thread. */
#include "gateway/registry/api/gateway_info.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "gateway/audit/audit.h"
#include "gateway/config/fd_limits.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/launch/pool.h"
#include "gateway/registry/tools/tool_servers.h"

#include <unistd.h>

/* Returns null for "any number": past 2^53 JSON would lose digits. */
static json_t *count_or_null(size_t count)
{
    return count == SIZE_MAX ? json_null() : json_integer((json_int_t) count);
}

static json_t *describe_memory(const memory_budget_t *memory)
{
    return json_pack("{s:I,s:I,s:I}", "bytes",
                     (json_int_t) memory_budget_held(memory), "max",
                     (json_int_t) memory_budget_max(memory), "refused",
                     (json_int_t) memory_budget_refusals(memory));
}

static json_t *describe_descriptors(const options_t *options)
{
    return json_pack("{s:o,s:o,s:I}", "limit",
                     count_or_null(fd_limits_descriptors()), "sessions",
                     count_or_null(fd_limits_sessions(options)), "connections",
                     (json_int_t) fd_limits_connections(options));
}

static json_t *describe_names(char *const *names)
{
    json_t *list = json_array();

    for (; names && *names; names++)
        json_array_append_new(list, json_string(*names));
    return list;
}

static json_t *describe_profiles(const registry_parts_t *parts)
{
    json_t *profiles = json_array();

    for (size_t i = 0; i < parts->options->profile_count; i++) {
        const profile_t *profile = parts->options->profiles[i];
        json_t *model = launcher_describe(parts->launcher, profile);

        json_object_set_new(
            model, "pool",
            pool_describe(parts->pool, profile, clock_monotonic_ms()));
        json_object_set_new(
            model, "tool_servers",
            tool_servers_describe(parts->tool_servers, profile));
        json_array_append_new(profiles, model);
    }
    return profiles;
}

json_t *gateway_info(const registry_parts_t *parts)
{
    const options_t *options = parts->options;

    return json_pack(
        "{s:s,s:s,s:i,s:s,s:s,s:s?,s:o,s:o,s:I,s:{s:s,s:s},s:o,s:o,s:o}",
        "status", "ok", "version", HEARTH_VERSION, "pid", (int) getpid(),
        "runtime_dir", options->runtime_dir, "state_dir", options->state_dir,
        "discovery", parts->discovery ? options->jupyter.runtime_dir : NULL,
        "allow_env", describe_names(options->environment.allow), "profiles",
        describe_profiles(parts), "sessions",
        (json_int_t) session_table_alive(parts->table), "limits", "by",
        cgroup_sweep_limits_by(parts->cgroups), "where",
        cgroups_where(parts->cgroups), "counted", stats_describe(parts->stats),
        "descriptors", describe_descriptors(options), "message_memory",
        describe_memory(parts->memory));
}

void gateway_info_note(const registry_parts_t *parts)
{
    const options_t *options = parts->options;

    audit_writer_note(parts->audit, "gateway_start", "", "ok",
                      json_pack("{s:s,s:i,s:s}", "version", HEARTH_VERSION,
                                "pid", (int) getpid(), "state_dir",
                                options->state_dir));
    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];

        if (!profile->network && !*profile->accept && !*profile->without)
            continue;
        audit_writer_note(
            parts->audit, "configuration", "", "weaker",
            json_pack("{s:s,s:b,s:b,s:b}", "profile", profile->name, "network",
                      profile->network != 0, "accept", *profile->accept != NULL,
                      "without", *profile->without != NULL));
    }
}
