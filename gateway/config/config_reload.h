/* Reads the configuration again while the gateway runs: changes that can take
 * effect at once do, the rest is listed. */
#ifndef HEARTH_GATEWAY_CONFIG_CONFIG_RELOAD_H
#define HEARTH_GATEWAY_CONFIG_CONFIG_RELOAD_H

#include "base/cleanup.h"
#include "gateway/config/config_report.h"
#include "gateway/config/options.h"

#include <jansson.h>

typedef struct config_reload config_reload_t;

/* Returns what reads the configuration again, which the caller owns. `live`,
 * which is borrowed, are the options that the gateway runs with: as they were
 * read, and as the command line has changed them. */
config_reload_t *config_reload_new(options_t *live);
void config_reload_destroy(config_reload_t **self_p);
#define cleanup_config_reload CLEANUP(config_reload_destroy)

/* Reads the same file again. With errors in the report nothing has changed, and
 * the result is NULL. Else, the caller's:
 *     "changed"       [{"key", "from", "to"}]  they hold now.
 *     "renewed"       [key]  files of HTTPS with another content, read again.
 *     "restart"       [key]  they take a restart.
 *     "command_line"  [key]  what the command line says goes on to hold.
 * Keys of the options change that `is_reread` says in their rows. */
json_t *config_reload_run(config_reload_t *self, config_report_t *report);

#endif
