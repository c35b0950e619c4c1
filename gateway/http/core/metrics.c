/* See metrics.h. Names and buckets of requests are Jupyter Server's. */
#include "gateway/http/core/metrics.h"

#include "base/clock.h"
#include "gateway/metrics/histogram.h"

#include <inttypes.h>

static const double bounds[HISTOGRAM_BUCKETS] = {
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10};

struct metrics {
    zhashx_t *requests; /* owned; labels -> histogram_t */
};

static void destroy_histogram(void **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

metrics_t *metrics_new(void)
{
    metrics_t *self = mem_new(sizeof *self);

    self->requests = zhashx_new();
    zhashx_set_destructor(self->requests, destroy_histogram);
    return self;
}

void metrics_destroy(metrics_t **self_p)
{
    metrics_t *self = *self_p;

    if (!self)
        return;
    zhashx_destroy(&self->requests);
    free(self);
    *self_p = NULL;
}

/* Labels are patterns of the table: there are only so many. */
void metrics_count_answer(const exchange_t *exchange)
{
    metrics_t *self = exchange->http->metrics;
    int64_t us = clock_monotonic_us() - exchange->begun_us;
    const char *pattern = exchange->pattern ? exchange->pattern : "";
    cleanup_free char *labels =
        mem_format("method=\"%s\",handler=\"%s\",status_code=\"%d\"",
                   method_text(exchange->method), pattern, exchange->status);
    histogram_t *histogram = zhashx_lookup(self->requests, labels);

    if (!histogram) {
        histogram = mem_new(sizeof *histogram);
        zhashx_insert(self->requests, labels, histogram);
    }
    histogram_note(histogram, bounds, us);
}

void metrics_head(const char *name, const char *kind, const char *help,
                  buffer_t *out)
{
    buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

void metrics_number(const char *name, const char *kind, const char *help,
                    uint64_t value, buffer_t *out)
{
    metrics_head(name, kind, help, out);
    buffer_format(out, "%s %" PRIu64 "\n", name, value);
}

void metrics_histogram(const json_t *histogram, const char *name,
                       const char *labels, buffer_t *out)
{
    const json_t *limits = json_object_get(histogram, "bounds");
    const json_t *buckets = json_object_get(histogram, "buckets");
    json_int_t count = json_integer_value(json_object_get(histogram, "count"));
    const char *comma = *labels ? "," : "";
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";

    for (size_t i = 0; i < json_array_size(limits); i++)
        buffer_format(
            out, "%s_bucket{%s%sle=\"%g\"} %" JSON_INTEGER_FORMAT "\n", name,
            labels, comma, json_real_value(json_array_get(limits, i)),
            json_integer_value(json_array_get(buckets, i)));
    buffer_format(out,
                  "%s_bucket{%s%sle=\"+Inf\"} %" JSON_INTEGER_FORMAT "\n"
                  "%s_count%s%s%s %" JSON_INTEGER_FORMAT "\n"
                  "%s_sum%s%s%s %.6f\n",
                  name, labels, comma, count, name, open, labels, close, count,
                  name, open, labels, close,
                  json_real_value(json_object_get(histogram, "seconds")));
}

static void write_seconds(const char *name, const char *help, double value,
                          buffer_t *out)
{
    metrics_head(name, "gauge", help, out);
    buffer_format(out, "%s %.6f\n", name, value);
}

/* Jupyter Server's own. It has no terminals here and no extensions. */
static void write_server(const http_t *http, buffer_t *out)
{
    double active = (double) http->active_us / 1e6;
    double started = (double) http->started_us / 1e6;

    write_seconds("jupyter_server_started_timestamp_seconds", "of the gateway",
                  started, out);
    write_seconds("jupyter_server_last_activity_timestamp_seconds",
                  "of the last request", active, out);
    write_seconds("jupyter_server_active_duration_seconds",
                  "from the start to the last request", active - started, out);
    write_seconds("terminal_currently_running_total", "there are none", 0, out);
    buffer_text(out, "# HELP jupyter_server_info what answers here\n"
                     "# TYPE jupyter_server_info gauge\n"
                     "jupyter_server_info{version=\"" HEARTH_VERSION "\"} 1\n");
}

void metrics_write(const http_t *http, buffer_t *out)
{
    static const char requests[] = "http_request_duration_seconds";
    const metrics_t *self = http->metrics;

    metrics_head(requests, "histogram", "duration of HTTP requests", out);
    for (const histogram_t *at = zhashx_first(self->requests); at;
         at = zhashx_next(self->requests)) {
        json_auto_t *histogram = histogram_describe(at, bounds);
        metrics_histogram(histogram, requests, zhashx_cursor(self->requests),
                          out);
    }
    metrics_number("hearth_http_connections", "gauge", "open connections",
                   http->connections, out);
    metrics_number("hearth_http_connections_max", "gauge", "that there may be",
                   http->room, out);
    metrics_number("hearth_http_held_bytes", "gauge",
                   "sent by clients, and taken by nobody yet",
                   http->holdings.taken, out);
    metrics_number("hearth_http_held_bytes_max", "gauge", "that there may be",
                   http->holdings.max, out);
    write_server(http, out);
}
