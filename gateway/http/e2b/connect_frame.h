/* Messages of a stream of the Connect protocol: a byte of flags, the size in
 * four bytes, and JSON (https://connectrpc.com/docs/protocol). The last one of
 * an answer has a flag of its own, and the error if there is one. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_CONNECT_FRAME_H
#define HEARTH_GATEWAY_HTTP_E2B_CONNECT_FRAME_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fault.h"

#include <jansson.h>

#define CONNECT_STREAM "application/connect+json" /* its Content-Type */

/* Appends a message; `content` is taken. */
void connect_frame_write(json_t *content, buffer_t *out);
/* Appends the last message. `code` is a word of the Connect protocol, NULL if
 * all went well. */
void connect_frame_write_end(const char *code, const char *sentence,
                             buffer_t *out);
/* Takes the first message off `rest`. Returns 1, and the object, which the
 * caller owns; 0 if nothing is left. Returns a negative number, with a
 * sentence, if the bytes are not such a message. */
int connect_frame_read(bytes_t *rest, json_t **ret_content, fault_t *fault);

#endif
