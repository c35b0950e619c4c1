/* Decodes a request's chunked body (RFC 9112, 7.1): libwebsockets passes it on
 * undecoded. Plain data, initialised to zero. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_CHUNKED_H
#define HEARTH_GATEWAY_HTTP_CORE_CHUNKED_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define CHUNKED_LINE_MAX 256 /* bytes of a chunk's size and extensions */
#define CHUNKED_TRAILER_MAX                                                    \
    (4u << 10) /* bytes of the lines after the last one */

typedef struct {
    enum {
        CHUNKED_SIZE,      /* digits of a chunk's size */
        CHUNKED_EXTENSION, /* the rest of that line */
        CHUNKED_SIZE_END,  /* its LF */
        CHUNKED_DATA,
        CHUNKED_DATA_CR, /* after the data */
        CHUNKED_DATA_LF,
        CHUNKED_TRAILER,     /* a line's beginning */
        CHUNKED_TRAILER_ROW, /* in a line */
        CHUNKED_END_LF,      /* of the last, empty line */
        CHUNKED_OVER,
    } state;
    uint64_t left; /* bytes of this chunk that are missing */
    size_t line;   /* bytes of this line, or of all trailers */
    size_t digits; /* of this chunk's size */
} chunked_t;

/* Appends the decoded bytes to `body`. Returns 1 at the end of the body, 0 if
 * more follows. Returns -EBADMSG if the chunks are malformed, -EMSGSIZE if the
 * body would be longer than `max` bytes. */
int chunked_feed(chunked_t *self, const void *bytes, size_t size, uint64_t max,
                 buffer_t *body);

#endif
