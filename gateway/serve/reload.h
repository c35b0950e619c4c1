/* Does what SIGHUP and `hearth gateway reload` request. */
#ifndef HEARTH_GATEWAY_SERVE_RELOAD_H
#define HEARTH_GATEWAY_SERVE_RELOAD_H

#include "base/service_notify.h"
#include "gateway/config/options.h"

#include <czmq.h>
#include <jansson.h>

typedef struct reload reload_t;

/* Returns what serves reloads, which the caller owns. All arguments are
 * borrowed. `manager` and `http` may be NULL; `http` gets the new values. */
reload_t *reload_new(options_t *options, const service_notify_t *manager,
                     zactor_t *http);
void reload_destroy(reload_t **self_p);
#define cleanup_reload CLEANUP(reload_destroy)

/* Opens the log anew, reads the configuration again and logs the result.
 * Returns {"status":"ok"} with the result of config_reload_run, owned by the
 * caller. Returns an error with all "errors" if the new configuration is
 * invalid; then the old one stays in force. */
json_t *reload_run(reload_t *self);

#endif
