/* A message of JSON-RPC 2.0 as the Model Context Protocol has it: one object,
 * whose id is a text or a whole number. Plain data, no sockets. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_RPC_MESSAGE_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_RPC_MESSAGE_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RPC_BODY_MAX   (32u << 20) /* bytes of a message */
#define RPC_ID_MAX     256         /* bytes of an id that is a text */
#define RPC_METHOD_MAX 128         /* bytes of a method's name */

/* Codes of errors: JSON-RPC's, then those of the revision 2026-07-28. */
#define RPC_PARSE_ERROR         (-32700)
#define RPC_INVALID_REQUEST     (-32600)
#define RPC_METHOD_NOT_FOUND    (-32601)
#define RPC_INVALID_PARAMS      (-32602)
#define RPC_INTERNAL_ERROR      (-32603)
#define RPC_HEADER_MISMATCH     (-32020)
#define RPC_MISSING_CAPABILITY  (-32021)
#define RPC_UNSUPPORTED_VERSION (-32022)

/* Our own, outside of what JSON-RPC keeps for itself. */
#define RPC_FORBIDDEN (-31403)
#define RPC_TOO_LARGE (-31413)

typedef enum {
    RPC_REQUEST,      /* has an id and a method */
    RPC_NOTIFICATION, /* has a method and no id */
    RPC_RESPONSE,     /* has an id and a result or an error */
} rpc_kind_t;

typedef struct {
    json_t *root; /* owned; NULL if the text is no JSON */
    rpc_kind_t kind;
    const json_t *id;   /* borrowed from root; NULL: none */
    const char *method; /* borrowed from root; NULL for a response */
    json_t *params;     /* borrowed from root; an object, or NULL */
} rpc_message_t;

/* Why a message is refused: an error object and the status of HTTP. */
typedef struct {
    int status; /* of HTTP */
    int code;
    json_t *data; /* owned; NULL: none */
    char text[252];
} rpc_flaw_t;

/* Reads a message. Returns false and fills the flaw if the bytes are no
 * message; the id is set nevertheless if there is a valid one. */
bool rpc_message_read(const void *bytes, size_t size,
                      rpc_message_t *ret_message, rpc_flaw_t *ret_flaw);
void rpc_message_clear(rpc_message_t *self);
#define cleanup_rpc_message CLEANUP(rpc_message_clear)

/* Replaces, in a sentence that repeats what a client or a session has sent,
 * what a terminal or a reader would take for something else: control characters
 * and marks of writing direction. Line breaks and tabs stay. */
void rpc_text_clean(char *text);

/* Fills the flaw. Returns false, so that a refusal is one line. */
bool rpc_flaw_set(rpc_flaw_t *self, int status, int code, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));
void rpc_flaw_clear(rpc_flaw_t *self);
#define cleanup_rpc_flaw CLEANUP(rpc_flaw_clear)

/* Returns the text of a member of the params, or NULL; lent. */
const char *rpc_message_text(const rpc_message_t *self, const char *name);
/* Returns a member of the params' `_meta`, or NULL; lent. */
json_t *rpc_message_meta(const rpc_message_t *self, const char *name);

/* Returns {"jsonrpc","id","error"} for the caller. `id` NULL: null. */
json_t *rpc_error(const json_t *id, const rpc_flaw_t *flaw);
/* Returns {"jsonrpc","id","result"} for the caller; `result` is taken. */
json_t *rpc_result(const json_t *id, json_t *result);
/* Returns {"jsonrpc","method","params"} for the caller; `params` is taken. */
json_t *rpc_notification(const char *method, json_t *params);

#endif
