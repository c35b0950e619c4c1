/* See metrics.h. Names and buckets of requests are Jupyter Server's. */
#include "gateway/http/metrics.h"

#include "base/clock.h"
#include "gateway/histogram.h"

#include <inttypes.h>
#include <string.h>

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

static void write_histogram(const histogram_t *self, const char *name,
                            const char *labels, buffer_t *out)
{
    const char *comma = *labels ? "," : "";
    uint64_t below = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        below += self->buckets[i];
        buffer_format(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name,
                      labels, comma, bounds[i], below);
    }
    buffer_format(out,
                  "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n"
                  "%s_count{%s} %" PRIu64 "\n%s_sum{%s} %.6f\n",
                  name, labels, comma, self->count, name, labels, self->count,
                  name, labels, (double) self->us / 1e6);
}

static void write_type(const char *name, const char *help, buffer_t *out)
{
    buffer_format(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
}

static void write_gauge(const char *name, const char *help, double value,
                        buffer_t *out)
{
    buffer_format(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.6f\n", name, help,
                  name, name, value);
}

/* Jupyter Server's own. It has no terminals here and no extensions. */
static void write_server(const http_t *http, buffer_t *out)
{
    double active = (double) http->active_us / 1e6;
    double started = (double) http->started_us / 1e6;

    write_gauge("jupyter_server_started_timestamp_seconds", "of the gateway",
                started, out);
    write_gauge("jupyter_server_last_activity_timestamp_seconds",
                "of the last request", active, out);
    write_gauge("jupyter_server_active_duration_seconds",
                "from the start to the last request", active - started, out);
    write_gauge("terminal_currently_running_total", "there are none", 0, out);
    buffer_text(out, "# HELP jupyter_server_info what answers here\n"
                     "# TYPE jupyter_server_info gauge\n"
                     "jupyter_server_info{version=\"" HEARTH_VERSION "\"} 1\n");
}

void metrics_write(const http_t *http, buffer_t *out)
{
    static const char requests[] = "http_request_duration_seconds";
    const metrics_t *self = http->metrics;

    write_type(requests, "duration of HTTP requests", out);
    for (const histogram_t *at = zhashx_first(self->requests); at;
         at = zhashx_next(self->requests))
        write_histogram(at, requests, zhashx_cursor(self->requests), out);
    buffer_format(out,
                  "# HELP hearth_http_connections open connections\n"
                  "# TYPE hearth_http_connections gauge\n"
                  "hearth_http_connections %u\n"
                  "# HELP hearth_http_connections_max that there may be\n"
                  "# TYPE hearth_http_connections_max gauge\n"
                  "hearth_http_connections_max %u\n"
                  "# HELP hearth_http_held_bytes sent by clients, and taken by "
                  "nobody yet\n"
                  "# TYPE hearth_http_held_bytes gauge\n"
                  "hearth_http_held_bytes %" PRIu64 "\n"
                  "# HELP hearth_http_held_bytes_max that there may be\n"
                  "# TYPE hearth_http_held_bytes_max gauge\n"
                  "hearth_http_held_bytes_max %" PRIu64 "\n",
                  http->connections, http->room, http->holdings.taken,
                  http->holdings.max);
    write_server(http, out);
}
