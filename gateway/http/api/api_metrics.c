/* /metrics, in Prometheus' text format: Jupyter Server's names, and hearth's
 * own. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/terminals/terminals.h"

#include <string.h>

static const char type[] = "text/plain; version=0.0.4; charset=utf-8";

/* Adds a number for each value of a label. */
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
                 "running kernels, by kernelspec", profiles, out);
    write_counts("hearth_sessions", "gauge", "state", "live sessions", states,
                 out);
    write_counts("hearth_sessions_remembered", "gauge", "reason",
                 "gone sessions that still answer", ends, out);
    metrics_number("hearth_kernels_memory_bytes", "gauge",
                   "resident memory of all kernels", (uint64_t) memory * 1024,
                   out);
    metrics_number("hearth_journal_bytes", "gauge",
                   "size of all journals, also of gone sessions",
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

/* Writes one figure of each server; a state counts as 1 if it is "ready". */
static void write_servers_of(const json_t *profile, const char *member,
                             const char *name, buffer_t *out)
{
    const json_t *servers = json_object_get(profile, "tool_servers");

    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *server = json_array_get(servers, i);
        const json_t *value = json_object_get(server, member);
        json_int_t number =
            json_is_string(value)
                ? strcmp(model_text(server, member), "ready") == 0
                : json_integer_value(value);

        buffer_format(
            out, "%s{profile=\"%s\",server=\"%s\"} %" JSON_INTEGER_FORMAT "\n",
            name, model_text(profile, "name"), model_text(server, "name"),
            number);
    }
}

static void write_tool_servers(const json_t *profiles, buffer_t *out)
{
    static const struct {
        const char *member, *name, *kind, *help;
    } figures[] = {
        {"state", "hearth_tool_server_ready", "gauge",
         "1 if the server answers calls"},
        {"tools", "hearth_tool_server_tools", "gauge",
         "tools of the server that its profile permits"},
        {"starts", "hearth_tool_server_starts_total", "counter",
         "starts of the server's process"},
        {"calls", "hearth_tool_server_calls_total", "counter",
         "calls that were passed to the server"},
        {"refused", "hearth_tool_server_refused_total", "counter",
         "calls that failed because the server could not be given them"},
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        metrics_head(figures[i].name, figures[i].kind, figures[i].help, out);
        for (size_t j = 0; j < json_array_size(profiles); j++)
            write_servers_of(json_array_get(profiles, j), figures[i].member,
                             figures[i].name, out);
    }
}

static void write_times(const json_t *times, const char *name, const char *help,
                        buffer_t *out)
{
    metrics_head(name, "histogram", help, out);
    metrics_histogram(times, name, "", out);
}

/* Writes the counters of the registry, for all clients. */
static void write_counted(const json_t *counted, buffer_t *out)
{
    const json_t *starts = json_object_get(counted, "starts");

    metrics_number(
        "hearth_sessions_started_total", "counter",
        "sessions created or taken from a pool",
        (uint64_t) json_integer_value(json_object_get(starts, "count")), out);
    write_times(starts, "hearth_session_start_seconds",
                "time from the request for a session to its ready kernel", out);
    write_times(json_object_get(counted, "trips"), "hearth_round_trip_seconds",
                "time from a request to the reply of its kernel", out);
    write_counts("hearth_sessions_ended_total", "counter", "reason",
                 "ended sessions", json_object_get(counted, "ended"), out);
    write_counts("hearth_limits_hit_total", "counter", "limit",
                 "limits reached", json_object_get(counted, "limits"), out);
}

static void write_memory(const json_t *memory, buffer_t *out)
{
    static const struct {
        const char *member, *name, *kind, *help;
    } figures[] = {
        {"bytes", "hearth_message_memory_bytes", "gauge",
         "messages held for all sessions and clients"},
        {"max", "hearth_message_memory_bytes_max", "gauge",
         "the limit gateway/message_memory"},
        {"refused", "hearth_message_memory_refused_total", "counter",
         "refusals by that limit"},
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const json_t *figure = json_object_get(memory, figures[i].member);

        metrics_number(figures[i].name, figures[i].kind, figures[i].help,
                       (uint64_t) json_integer_value(figure), out);
    }
}

/* The first half of the answer, which waits for the second. */
typedef struct {
    buffer_t text;
} sessions_text_t;

static void destroy_text(void **self_p)
{
    sessions_text_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->text);
    free(self);
    *self_p = NULL;
}

static void on_info(exchange_t *exchange, const json_t *reply)
{
    const json_t *profiles = json_object_get(reply, "profiles");
    const sessions_text_t *before = exchange->task;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    if (!registry_client_is_ok(exchange, reply))
        return;
    buffer_append(&out, before->text.data, before->text.size);
    write_pool(profiles, "ready", "hearth_pool_ready", "gauge",
               "ready sessions in the pool", &out);
    write_pool(profiles, "target", "hearth_pool_target", "gauge",
               "sessions that the pool should have", &out);
    write_pool(profiles, "handed_out", "hearth_pool_handed_out_total",
               "counter", "sessions taken from the pool", &out);
    write_pool(profiles, "forked", "hearth_pool_forked_total", "counter",
               "sessions forked on request", &out);
    write_tool_servers(profiles, &out);
    write_counted(json_object_get(reply, "counted"), &out);
    write_memory(json_object_get(reply, "message_memory"), &out);
    terminals_sweep(exchange->http);
    metrics_write(exchange->http, &out);
    exchange_bytes(exchange, 200, type, out.data, out.size);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    if (!registry_client_is_ok(exchange, reply))
        return;
    sessions_text_t *self = mem_new(sizeof *self);
    write_sessions(json_object_get(reply, "sessions"), &self->text);
    exchange_keep(exchange, self, destroy_text);
    registry_client_ask(exchange, "gateway_info_request", json_object(),
                        on_info);
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_list_request",
                        json_pack("{s:b}", "all", 1), on_list);
}

const route_t metrics_routes[] = {
    {METHOD_GET, "/metrics", SCOPE_OBSERVE, show},
    {0},
};
