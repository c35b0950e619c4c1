/* Counters and histograms of the HTTP side, for /metrics. */
#ifndef HEARTH_GATEWAY_HTTP_METRICS_H
#define HEARTH_GATEWAY_HTTP_METRICS_H

#include "gateway/http/internal.h"

metrics_t *metrics_new(void);
void metrics_destroy(metrics_t **self_p);
void metrics_count_answer(const exchange_t *exchange);
/* In Prometheus' text format. */
void metrics_write(const http_t *http, buffer_t *out);

#endif
