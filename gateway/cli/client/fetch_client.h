/* One fetch after the other for a session: it is awaited, shows on a terminal
 * how far it has come, and is cancelled by SIGINT and SIGTERM. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_FETCH_CLIENT_H
#define HEARTH_GATEWAY_CLI_CLIENT_FETCH_CLIENT_H

#include "base/cleanup.h"
#include "gateway/config/state_files.h"

#include <jansson.h>
#include <stdbool.h>

#define FETCH_PATH_WIDTH 200 /* columns of a path that is shown */

typedef struct fetch_client fetch_client_t;

/* Finds the gateway, and catches the signals from now on. If that fails, the
 * reason was printed. */
gateway_exit_t fetch_client_new(fetch_client_t **ret_client);
void fetch_client_destroy(fetch_client_t **self_p);
#define cleanup_fetch_client CLEANUP(fetch_client_destroy)

/* Asks with that content of a fetch_request, which is taken, and waits for the
 * reply, which the caller owns; it has no `status`. If it fails or was
 * cancelled, that was printed, and the reply is management_client_failure. */
gateway_exit_t fetch_client_ask(fetch_client_t *self, json_t *content,
                                json_t **ret_reply);
/* Returns the path of --into as a request has it, which the caller owns: that
 * of a folder ends with a slash, as if the user had written it, if `is_folder`.
 * "" without --into; NULL after what is wrong was printed. */
char *fetch_client_path(const char *into_or_null, bool is_folder);
/* Returns true after one of the signals. */
bool fetch_client_is_interrupted(void);

#endif
