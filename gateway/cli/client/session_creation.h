/* A session that a command asks the gateway for. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_SESSION_CREATION_H
#define HEARTH_GATEWAY_CLI_CLIENT_SESSION_CREATION_H

#include "gateway/cli/client/management_client.h"

/* Asks for a session and waits for it; prints errors. On a terminal the modules
 * that are loaded are shown if that takes seconds. `content`, of a
 * session_create_request, is taken. */
gateway_exit_t session_creation_ask(management_client_t *management,
                                    json_t *content, json_t **ret_reply);

#endif
