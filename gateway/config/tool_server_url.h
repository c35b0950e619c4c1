/* The entry of a tool server that is reached by a URL. What comes of it has
 * keys: it goes to the server's worker alone, by a file in memory. */
#ifndef HEARTH_GATEWAY_CONFIG_TOOL_SERVER_URL_H
#define HEARTH_GATEWAY_CONFIG_TOOL_SERVER_URL_H

#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>

/* Returns true if the entry is of a server by URL, whether it is right or not:
 * it has a `url`, or a `type` of that kind. */
bool tool_server_url_is(const json_t *entry);
/* Reads {"url", "type"?, "headers"?, "allowHttp"?} of the server `name`.
 * *ret_description is JSON, {"name", "url", "headers": [[NAME, VALUE]],
 * "missing"?}; *missing is a variable that is not set, as tool_server_expand
 * sets it. The caller owns both. `is_private` is false if other users can read
 * the file: then each header has to name a variable, and a query, too. -EINVAL
 * says what is wrong, and no word of a value. */
int tool_server_url_read(const char *name, const json_t *entry, bool is_private,
                         char **ret_description, char **missing,
                         fault_t *fault);

#endif
