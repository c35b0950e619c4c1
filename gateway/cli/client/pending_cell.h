/* A cell that was sent to a session and whose end is awaited: what has come of
 * it, and how long ago. It sends nothing to the kernel; its owner acts. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_PENDING_CELL_H
#define HEARTH_GATEWAY_CLI_CLIENT_PENDING_CELL_H

#include "gateway/cli/client/management_client.h"
#include "protocol/channel.h"
#include "protocol/message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define PENDING_CELL_DOUBT_MS 5000 /* silence before the gateway is asked */

/* The meaning of a message for the caller that waits. */
typedef enum {
    PENDING_CELL_OTHERS,   /* of another request; no content is returned */
    PENDING_CELL_REPLY,    /* execute_reply */
    PENDING_CELL_QUESTION, /* input_request */
    PENDING_CELL_OUTPUT,   /* on iopub, except for its states */
    PENDING_CELL_IDLE,     /* the last of a cell's messages */
    PENDING_CELL_SIGN      /* of that request, only a sign of life */
} pending_cell_event_t;

/* All zero: no cell has been sent yet. */
typedef struct {
    char *request;   /* owned; id of its execute_request */
    json_t *reply;   /* owned; the reply's content, once it came */
    json_t *figures; /* owned; hearth's members of the reply's metadata, or
                        NULL */
    bool is_idle;    /* the session said so for the request */
    int64_t heard;   /* monotonic ms; the last message */
    int64_t asked;   /* the last look at the gateway, or the last message */
} pending_cell_t;

void pending_cell_clear(pending_cell_t *self);
/* Begins to wait for the cell with that request, instead of the one before. */
void pending_cell_begin(pending_cell_t *self, const char *request);
/* Takes a message of the session: keeps a reply, and notes the idle. Returns
 * what the message means. *ret_content, which the caller owns, is untouched for
 * PENDING_CELL_OTHERS. */
pending_cell_event_t pending_cell_hear(pending_cell_t *self, channel_t channel,
                                       const message_t *message,
                                       json_t **ret_content);
/* Returns true if the reply has come, but nothing in the 3 s after it: the idle
 * is not awaited any more. */
bool pending_cell_is_late(const pending_cell_t *self, int64_t now);
/* Asks the gateway if the session is gone, because no message came for long. */
bool pending_cell_is_session_gone(pending_cell_t *self,
                                  management_client_t *management,
                                  const char *session);

#endif
