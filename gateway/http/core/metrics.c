/* See metrics.h. Names and buckets of requests are Jupyter Server's. */
#include "gateway/http/core/metrics.h"

#include "base/clock.h"
#include "gateway/metrics/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

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

/* Counts an answer. Labels are patterns of the route table, so their number is
 * bounded. */
void metrics_count_answer(const exchange_t *exchange)
{
    metrics_t *self = exchange->http->metrics;
    int64_t us = clock_monotonic_us() - exchange->begun_us;
    const char *pattern = exchange->pattern ? exchange->pattern : "";
    cleanup_free char *labels =
        mem_format("method=\"%s\",handler=\"%s\",status_code=\"%d\"",
                   method_text(exchange->request.method), pattern,
                   exchange->response.status);
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

static void write_seconds(const char *name, const char *kind, const char *help,
                          double value, buffer_t *out)
{
    metrics_head(name, kind, help, out);
    buffer_format(out, "%s %.6f\n", name, value);
}

static double seconds_of(struct timeval time)
{
    return (double) time.tv_sec + (double) time.tv_usec / 1e6;
}

/* Returns the bytes in memory, by proc(5); 0 if they are not known. */
static uint64_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

/* Writes the figures of a process that Prometheus' client libraries have. The
 * kernels are processes of their own. */
static void write_process(const http_t *http, buffer_t *out)
{
    struct rusage usage = {0};
    struct rlimit files = {0};

    (void) getrusage(RUSAGE_SELF, &usage);
    (void) getrlimit(RLIMIT_NOFILE, &files);
    write_seconds("process_cpu_seconds_total", "counter",
                  "processor time of the gateway",
                  seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), out);
    write_seconds("process_start_time_seconds", "gauge", "start of the gateway",
                  (double) http->clocks.started_us / 1e6, out);
    metrics_number("process_resident_memory_bytes", "gauge",
                   "memory of the gateway", resident_bytes(), out);
    metrics_number("process_max_fds", "gauge",
                   "the limit of the gateway's descriptors", files.rlim_cur,
                   out);
    metrics_head("hearth_build_info", "gauge", "version of the gateway", out);
    buffer_text(out, "hearth_build_info{version=\"" HEARTH_VERSION "\"} 1\n");
}

/* Writes Jupyter Server's metrics. There are no extensions here.
 */
static void write_server(const http_t *http, buffer_t *out)
{
    double active = (double) http->clocks.active_us / 1e6;
    double started = (double) http->clocks.started_us / 1e6;

    write_seconds("jupyter_server_started_timestamp_seconds", "gauge",
                  "start of the gateway", started, out);
    write_seconds("jupyter_server_last_activity_timestamp_seconds", "gauge",
                  "time of the last request", active, out);
    write_seconds("jupyter_server_active_duration_seconds", "gauge",
                  "time from the start to the last request", active - started,
                  out);
    write_seconds("terminal_currently_running_total", "gauge", "terminals",
                  (double) json_object_size(http->kept.terminals), out);
    buffer_text(out, "# HELP jupyter_server_info version of the server\n"
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
                   http->connections.count, out);
    metrics_number("hearth_http_connections_max", "gauge",
                   "the limit of connections", http->connections.max, out);
    metrics_number("hearth_http_held_bytes", "gauge",
                   "bytes received and not processed yet", http->memory.taken,
                   out);
    metrics_number("hearth_http_held_bytes_max", "gauge",
                   "the limit of held bytes", http->memory.max, out);
    write_server(http, out);
    write_process(http, out);
}
