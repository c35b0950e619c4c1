/* Errors for a session that may get nothing from outside, by its profile's
 * rules or by its own. The caller owns them. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_OFF_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_OFF_H

#include "gateway/registry/core/session_table.h"

#include <jansson.h>

/* Returns the error for a session whose code would not find packages. */
json_t *download_off_packages(const session_entry_t *entry);
/* Returns the error for a session that may fetch nothing. */
json_t *download_off_fetch(const session_entry_t *entry);

/* Returns the error for a session that may have no submodules. */
json_t *download_off_submodules(const session_entry_t *entry);

/* Return the error for a session whose code may not ask although its clients
 * may. It advises to run `hearth packages OPERATION`, or `hearth COMMAND`. */
json_t *download_off_packages_cells(const session_entry_t *entry,
                                    const char *operation);
json_t *download_off_fetch_cells(const session_entry_t *entry,
                                 const char *command);

#endif
