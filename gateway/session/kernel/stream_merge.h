/* Merges stream text: pieces that a kernel prints in a row become one message,
 * if no client has to wait for that. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_STREAM_MERGE_H
#define HEARTH_GATEWAY_SESSION_KERNEL_STREAM_MERGE_H

#include "base/cleanup.h"
#include "gateway/session/kernel/kernel_permissions.h"
#include "protocol/frame.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_MERGE_MAX (256u << 10) /* bytes of one merged message */

typedef struct stream_merge stream_merge_t;

stream_merge_t *stream_merge_new(void);
void stream_merge_destroy(stream_merge_t **self_p);
#define cleanup_stream_merge CLEANUP(stream_merge_destroy)

/* Returns true if text waits. */
bool stream_merge_is_open(const stream_merge_t *self);
/* Returns true if a STREAM's text joins the text that waits: it has the same
 * request and the same stream, and the message is not too long. */
bool stream_merge_joins(const stream_merge_t *self, const frame_t *frame,
                        const kernel_permissions_stream_t *stream);
/* Adds the text of a STREAM that joins, or begins with it. The text stays
 * escaped: checked JSON strings hold no half of a surrogate pair. */
void stream_merge_add(stream_merge_t *self, const frame_t *frame,
                      const kernel_permissions_stream_t *stream);
/* Returns the bytes of the message so far; 0 if no text waits. */
size_t stream_merge_bytes(const stream_merge_t *self);
/* Returns the request that the text belongs to. */
uint64_t stream_merge_request(const stream_merge_t *self);
/* Returns the number, on the link, of the last piece. */
uint64_t stream_merge_seq(const stream_merge_t *self);
/* Completes the message and returns its content, lent until the next call. */
bytes_t stream_merge_close(stream_merge_t *self);
/* Drops the text: it was published, or is to come again. */
void stream_merge_clear(stream_merge_t *self);

#endif
