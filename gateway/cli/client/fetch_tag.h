/* The tag of a fetch, by which its client finds it in the list of fetches that
 * are not done. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_FETCH_TAG_H
#define HEARTH_GATEWAY_CLI_CLIENT_FETCH_TAG_H

#include "gateway/cli/client/management_client.h"

#include <jansson.h>

#define FETCH_TAG_BYTES 8

typedef struct {
    char text[2 * FETCH_TAG_BYTES + 1];
} fetch_tag_t;

/* Makes a tag that no other client has. */
void fetch_tag_make(fetch_tag_t *ret_tag);
/* Returns the session's fetch as the gateway lists it, which the caller owns;
 * NULL if it is not there. */
json_t *fetch_tag_find(management_client_t *management, const char *session,
                       const fetch_tag_t *tag);
/* Cancels the fetch; returns it as it was listed, which the caller owns. NULL
 * if there is nothing to cancel. */
json_t *fetch_tag_cancel(management_client_t *management, const char *session,
                         const fetch_tag_t *tag);

#endif
