/* Finds the older session that a new one replaces: it has the connection file
 * that the new one is requested with, or one with the same ports. The client
 * starts its kernel anew, so the older session is ended first. An equal key
 * alone is not enough: clients may give one key to many kernels. Belongs to the
 * main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_REPLACEMENTS_H
#define HEARTH_GATEWAY_REGISTRY_CORE_REPLACEMENTS_H

#include "gateway/registry/core/session_table.h"

#include <jansson.h>

/* Returns the older session, lent, that the request with this content replaces.
 * NULL if the request replaces no session, or if the connection file is wrong:
 * making the new session then reports what is wrong with it. */
session_entry_t *replacements_find(const session_table_t *table,
                                   const json_t *content);
/* Asks it to end, unless it has ended. Its ports are free when it is out of the
 * table. */
void replacements_end(const session_entry_t *older);

#endif
