/* /metrics, in Prometheus' text format: the reference's names, and what
 * hearth knows of its sessions. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/server/routes.h"

static const char type[] = "text/plain; version=0.0.4; charset=utf-8";

/* A number for each value of a label. */
static void count(json_t *counts, const char *name)
{
    json_int_t before = json_integer_value(json_object_get(counts, name));

    json_object_set_new(counts, name, json_integer(before + 1));
}

static void write_counts(const char *name, const char *kind, const char *label,
                         const char *help, json_t *counts, buffer_t *out)
{
    const char *key;
    json_t *value;

    metrics_head(name, kind, help, out);
    json_object_foreach(counts, key, value)
    {
        buffer_format(out, "%s{%s=\"%s\"} %" JSON_INTEGER_FORMAT "\n", name,
                      label, key, json_integer_value(value));
    }
}

static void write_sessions(const json_t *sessions, buffer_t *out)
{
    json_auto_t *states = json_pack("{s:i,s:i,s:i,s:i}", "starting", 0, "idle",
                                    0, "busy", 0, "stopping", 0);
    json_auto_t *profiles = json_object(), *ends = json_object();
    json_int_t memory = 0, journals = 0;

    for (size_t i = 0; i < json_array_size(sessions); i++) {
        const json_t *session = json_array_get(sessions, i);
        journals +=
            json_integer_value(json_object_get(session, "journal_bytes"));
        if (model_is_gone(session)) {
            count(ends, model_text(session, "reason"));
            continue;
        }
        count(states, model_text(session, "state"));
        count(profiles, model_text(session, "profile"));
        memory += json_integer_value(json_object_get(session, "memory_kib"));
    }
    write_counts("kernel_currently_running_total", "gauge", "type",
                 "kernels that run, by kernelspec", profiles, out);
    write_counts("hearth_sessions", "gauge", "state", "sessions that live",
                 states, out);
    write_counts("hearth_sessions_remembered", "gauge", "reason",
                 "sessions that are gone and have a tombstone", ends, out);
    metrics_number("hearth_kernels_memory_bytes", "gauge", "resident, in all",
                   (uint64_t) memory * 1024, out);
    metrics_number("hearth_journal_bytes", "gauge",
                   "of the sessions' journals, those that are gone and "
                   "remembered included",
                   (uint64_t) journals, out);
}

static void write_pool(const json_t *profiles, const char *member,
                       const char *name, const char *kind, const char *help,
                       buffer_t *out)
{
    metrics_head(name, kind, help, out);
    for (size_t i = 0; i < json_array_size(profiles); i++) {
        const json_t *profile = json_array_get(profiles, i);
        const json_t *pool = json_object_get(profile, "pool");
        buffer_format(out, "%s{profile=\"%s\"} %" JSON_INTEGER_FORMAT "\n",
                      name, model_text(profile, "name"),
                      json_integer_value(json_object_get(pool, member)));
    }
}

static void write_times(const json_t *times, const char *name, const char *help,
                        buffer_t *out)
{
    metrics_head(name, "histogram", help, out);
    metrics_histogram(times, name, "", out);
}

/* What the registry has counted, over HTTP or not. */
static void write_counted(const json_t *counted, buffer_t *out)
{
    const json_t *starts = json_object_get(counted, "starts");

    metrics_number(
        "hearth_sessions_started_total", "counter",
        "sessions that were made or handed out",
        (uint64_t) json_integer_value(json_object_get(starts, "count")), out);
    write_times(starts, "hearth_session_start_seconds",
                "from the request for a session to its ready kernel", out);
    write_times(json_object_get(counted, "trips"), "hearth_round_trip_seconds",
                "from a request that a kernel answers to its reply", out);
    write_counts("hearth_sessions_ended_total", "counter", "reason",
                 "sessions that have ended", json_object_get(counted, "ended"),
                 out);
    write_counts("hearth_limits_hit_total", "counter", "limit",
                 "times that a limit was hit",
                 json_object_get(counted, "limits"), out);
}

static void on_info(exchange_t *exchange, const json_t *reply)
{
    const json_t *profiles = json_object_get(reply, "profiles");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    if (!desk_is_ok(exchange, reply))
        return;
    buffer_append(&out, exchange->body.data, exchange->body.size);
    write_pool(profiles, "ready", "hearth_pool_ready", "gauge",
               "sessions that wait to be handed out", &out);
    write_pool(profiles, "target", "hearth_pool_target", "gauge",
               "sessions that should wait", &out);
    write_pool(profiles, "handed_out", "hearth_pool_handed_out_total",
               "counter", "sessions that had waited", &out);
    write_pool(profiles, "forked", "hearth_pool_forked_total", "counter",
               "sessions that were made when they were asked for", &out);
    write_counted(json_object_get(reply, "counted"), &out);
    metrics_write(exchange->http, &out);
    exchange_bytes(exchange, 200, type, out.data, out.size);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    if (!desk_is_ok(exchange, reply))
        return;
    /* Kept in the request's body, of which a GET has no need. */
    buffer_clear(&exchange->body);
    write_sessions(json_object_get(reply, "sessions"), &exchange->body);
    desk_order(exchange, "gateway_info_request", json_object(), on_info);
}

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_list_request", json_pack("{s:b}", "all", 1),
               on_list);
}

const route_t metrics_routes[] = {
    {METHOD_GET, "/metrics", AUTH_OBSERVE, show},
    {0},
};
