/* Makes requests of clients for packages, files and repositories again, which a
 * recording has as calls of its notes. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_OUTSIDE_AGAIN_H
#define HEARTH_GATEWAY_CLI_CLIENT_OUTSIDE_AGAIN_H

#include "gateway/cli/client/management_client.h"

#include <jansson.h>

typedef struct outside_again outside_again_t;

typedef struct {
    management_client_t *management; /* borrowed */
    const char *session;             /* its id */
    bool is_revival; /* recorded cells of this session run again */
    /* Returns false when an answer is not to be awaited any more; or NULL. */
    bool (*goes_on)(void *arg);
} outside_again_how_t;

outside_again_t *outside_again_new(const outside_again_how_t *how);
void outside_again_destroy(outside_again_t **self_p);

/* Makes the request again, as cell_executor.h's `bring` says: -EINTR if it was
 * not to be awaited, -ECONNRESET if the gateway stops or has ended, -ESHUTDOWN
 * if the session is gone. A revival notes what was not asked for, and what has
 * failed. */
int outside_again_bring(outside_again_t *self, const json_t *call,
                        char **ret_why, fault_t *fault);

#endif
