/* Where the user's own gateway serves HTTP, and whether it still does. Its file
 * outlives a gateway that was killed, and any program may then take its port:
 * only what is checked here may be sent there. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_OWN_GATEWAY_H
#define HEARTH_GATEWAY_CLI_CLIENT_OWN_GATEWAY_H

#include "base/cleanup.h"

#include <stdbool.h>

typedef struct own_gateway own_gateway_t;

/* Finds the gateway whose runtime folder that is; the caller owns the result.
 * NULL if no gateway runs there, or it does not serve HTTP. */
own_gateway_t *own_gateway_find(const char *runtime_dir);
void own_gateway_destroy(own_gateway_t **self_p);
#define cleanup_own_gateway CLEANUP(own_gateway_destroy)

/* Return the gateway's URL and its token, lent; the token is NULL if the
 * gateway needs none. */
const char *own_gateway_url(const own_gateway_t *self);
const char *own_gateway_token(const own_gateway_t *self);

/* Returns true if that gateway lives and still serves at its URL. A connection
 * that was opened before leads to it then. */
bool own_gateway_serves(const own_gateway_t *self);

#endif
