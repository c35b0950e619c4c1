/* A request's body that comes in chunks (RFC 9112, 7.1): libwebsockets passes
 * it on as it is on the wire. Plain data; zeroed is the beginning. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_CHUNKED_H
#define HEARTH_GATEWAY_HTTP_CORE_CHUNKED_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define CHUNKS_LINE_MAX 256 /* bytes of a chunk's size and extensions */
#define CHUNKS_TRAILER_MAX                                                     \
    (4u << 10) /* bytes of the lines behind the last one */

typedef struct {
    enum {
        CHUNKS_SIZE,      /* digits of a chunk's size */
        CHUNKS_EXTENSION, /* the rest of that line */
        CHUNKS_SIZE_END,  /* its LF */
        CHUNKS_DATA,
        CHUNKS_DATA_CR, /* behind the data */
        CHUNKS_DATA_LF,
        CHUNKS_TRAILER,     /* a line's beginning */
        CHUNKS_TRAILER_ROW, /* in a line */
        CHUNKS_END_LF,      /* of the last, empty line */
        CHUNKS_OVER,
    } state;
    uint64_t left; /* of this chunk: bytes to come */
    size_t line;   /* bytes of this line, or of all trailers */
    size_t digits; /* of this chunk's size */
} chunks_t;

/* Appends what the bytes say to `body`. 1: that was the end, 0: there is more
 * to come; -EBADMSG: these are no chunks; -EMSGSIZE: the body, which may have
 * `max` bytes, would be longer. */
int chunks_feed(chunks_t *self, const void *bytes, size_t size, uint64_t max,
                buffer_t *body);

#endif
