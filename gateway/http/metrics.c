/* Counters of the HTTP side. */
#include "gateway/http/metrics.h"

struct metrics {
    uint64_t answers[6]; /* by the first digit of their status */
};

metrics_t *metrics_new(void)
{
    return mem_new(sizeof(metrics_t));
}

void metrics_destroy(metrics_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

void metrics_count_answer(const exchange_t *exchange)
{
    metrics_t *self = exchange->http->metrics;
    int class = exchange->status / 100;

    if (class > 0 && class < 6)
        self->answers[class]++;
}
