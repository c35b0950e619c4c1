/* Counters and histograms of the HTTP side and figures of the process, for
 * /metrics; how a metric is written in Prometheus' text format. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_METRICS_H
#define HEARTH_GATEWAY_HTTP_CORE_METRICS_H

#include "gateway/http/core/http.h"

metrics_t *metrics_new(void);
void metrics_destroy(metrics_t **self_p);
void metrics_count_answer(const exchange_t *exchange);
void metrics_write(const http_t *http, buffer_t *out);

/* Writes the lines before a metric's samples. */
void metrics_head(const char *name, const char *kind, const char *help,
                  buffer_t *out);
/* Writes a whole metric of a single sample. */
void metrics_number(const char *name, const char *kind, const char *help,
                    uint64_t value, buffer_t *out);
/* Writes the samples of one set of labels (a="b",..., or ""); `histogram` is
 * the result of histogram_describe. */
void metrics_histogram(const json_t *histogram, const char *name,
                       const char *labels, buffer_t *out);

#endif
