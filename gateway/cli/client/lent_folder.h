/* A folder of the caller's that a session works in. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_LENT_FOLDER_H
#define HEARTH_GATEWAY_CLI_CLIENT_LENT_FOLDER_H

#include <jansson.h>

/* Prints a warning if the user of that session, an answer of the gateway, is
 * not the folder's owner and cannot write there. */
void lent_folder_warn(const json_t *session, const char *folder);

#endif
