/* Looks whether a session has what it once got from outside: packages, a file
 * or a repository. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_OUTSIDE_CLIENT_H
#define HEARTH_GATEWAY_CLI_CLIENT_OUTSIDE_CLIENT_H

#include "gateway/cli/client/management_client.h"

#include <jansson.h>
#include <stdbool.h>

/* Returns true if something is at the path of the session's workspace. */
bool outside_client_exists(management_client_t *management, const char *session,
                           const char *path);
/* Returns true if the session has what the recorded result of a call says: the
 * packages at these versions and none of the removed ones, the file with that
 * hash, or anything in the repository's place. */
bool outside_client_has(management_client_t *management, const char *session,
                        const json_t *result);

#endif
