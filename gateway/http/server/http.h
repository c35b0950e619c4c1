/* The HTTP side of the gateway: Jupyter's REST interface and WebSockets, and
 * hearth's own (docs/reference/http.md). It has a thread of its own, and knows
 * sessions only through gateway/frontends/frontend.h. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_HTTP_H
#define HEARTH_GATEWAY_HTTP_SERVER_HTTP_H

#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/config/options.h"
#include "gateway/discovery/discovery.h"

#include <czmq.h>

/* Binds, writes its URL to GATEWAY_HTTP_FILE in the runtime folder, and serves
 * until zactor_destroy; then it asks its clients to come back. `memory`, the
 * bound of what it holds, is borrowed. So are `options`, of which it reads
 * members that a reload never changes; it has a copy of the rest. `begun_us` is
 * the wall clock when this gateway began: older records of a journal are those
 * of an earlier gateway. It is published by `discovery_or_null` before this
 * returns. */
int http_new(options_t *options, memory_budget_t *memory, int64_t begun_us,
             discovery_t *discovery_or_null, zactor_t **ret_http,
             fault_t *fault);
/* Gives it a copy of the options as they are now, and has it read certificate
 * and key again. Returns at once. */
void http_change(zactor_t *self, options_t *options);

#endif
