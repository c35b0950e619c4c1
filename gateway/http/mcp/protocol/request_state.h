/* The text `requestState`: what a client sends back when it repeats a call
 * whose code has asked for input. Clients can write any text there, so it is
 * signed: it is good for one call of one client, for a while. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_REQUEST_STATE_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_REQUEST_STATE_H

#include "base/buffer.h"
#include "gateway/http/mcp/protocol/task_id.h"

#include <stddef.h>
#include <stdint.h>

#define REQUEST_STATE_KEY 32 /* bytes of the key */

typedef struct {
    char run[TASK_ID_SIZE]; /* session and run (task_id.h) */
    uint64_t question;      /* the question's number in the journal */
    int64_t until_s;        /* wall clock; good until then */
} request_state_t;

/* The call that a text is made for. */
typedef struct {
    const uint8_t *key;    /* borrowed; REQUEST_STATE_KEY bytes */
    const char *principal; /* borrowed; the caller's name */
    bytes_t call;          /* borrowed; what is called, with its arguments */
} request_state_owner_t;

/* Appends the text to *out. */
void request_state_write(const request_state_t *self,
                         const request_state_owner_t *owner, buffer_t *out);
/* Reads a text. Returns false if it was not made for this owner, or is too old;
 * NULL is no text. */
bool request_state_read(const char *text, const request_state_owner_t *owner,
                        int64_t now_s, request_state_t *ret_state);

#endif
