/* A stream message in pieces, for a client that does not accept it whole. Each
 * piece is a stream message with the same parent and name. */
#ifndef HEARTH_GATEWAY_HTTP_WS_STREAM_PIECES_H
#define HEARTH_GATEWAY_HTTP_WS_STREAM_PIECES_H

#include "base/cleanup.h"
#include "protocol/websocket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stream_pieces stream_pieces_t;

/* Returns the pieces of a message, which is borrowed. A piece's content has at
 * most `content_max` bytes. They begin after the first `skip` bytes of the text
 * as JSON has it, where an earlier piece has ended. NULL if it is no stream
 * message, or if less than half of a piece could be text. */
stream_pieces_t *stream_pieces_new(const websocket_parts_t *whole,
                                   size_t content_max, uint64_t skip);
void stream_pieces_destroy(stream_pieces_t **self_p);
#define cleanup_stream_pieces CLEANUP(stream_pieces_destroy)

/* Makes the next piece, lent until the next call; returns false if there is
 * none. `ret_end` is where the next one begins, 0 after the last one. */
bool stream_pieces_next(stream_pieces_t *self, websocket_parts_t *ret_piece,
                        uint64_t *ret_end);

#endif
