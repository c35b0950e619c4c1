/* The HTTP face of the gateway: Jupyter's REST interface and WebSockets, and
 * hearth's own (docs/HTTP.md). One thread of its own; it knows sessions only
 * through gateway/frontends/frontend.h. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_HTTP_H
#define HEARTH_GATEWAY_HTTP_SERVER_HTTP_H

#include "base/fault.h"
#include "gateway/config/options.h"

#include <czmq.h>

/* Binds, tells its URL in GATEWAY_HTTP_FILE of the runtime folder, and serves
 * until zactor_destroy: then its clients are told to come back. `options` is
 * borrowed. */
int http_new(const options_t *options, zactor_t **ret_http, fault_t *fault);

#endif
