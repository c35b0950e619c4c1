/* The durations of a session's replies, gathered until the registry gets them:
 * a message for each would cost more than it is worth. Pure: time is an
 * argument. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_LATENCY_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_LATENCY_H

#include "gateway/metrics/histogram.h"
#include "gateway/session/requests/request.h"

#include <stdbool.h>
#include <stdint.h>

#define LATENCY_MS 500 /* how long durations are gathered */

/* Durations that the registry does not know yet. */
typedef struct {
    histogram_t gathered;
} latency_t;

/* Counts a request that is answered now (monotonic, in us). One that no client
 * has sent, or that was answered before, does not count. */
void latency_count(latency_t *self, const request_t *request, int64_t now_us);
/* Returns true if nothing was gathered. */
bool latency_is_empty(const latency_t *self);
/* Returns what was gathered, and begins anew. */
histogram_t latency_take(latency_t *self);

#endif
