/* The paths of E2B's door, and what its procedures have in common. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_E2B_DOOR_H
#define HEARTH_GATEWAY_HTTP_E2B_E2B_DOOR_H

#include "gateway/http/core/http.h"

#define E2B_PATH "/e2b" /* below the base URL */

/* Returns what an error's `code` is for the clients of that path, owned by the
 * caller: a number in E2B's REST, a word in Connect's procedures. */
json_t *e2b_door_code(const char *path, int status);
/* Returns the Connect protocol's word for a status. */
const char *e2b_door_word(int status);
/* Return true if the request of a procedure is JSON, or a stream of JSON. If
 * not, they have refused the request. */
bool e2b_door_is_json(exchange_t *exchange);
bool e2b_door_is_stream(exchange_t *exchange);

#endif
