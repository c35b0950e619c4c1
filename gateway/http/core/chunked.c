/* See chunked.h. All but the data is parsed byte by byte. Lenient forms (a lone
 * LF, spaces, a sign before the size) are refused: request smuggling needs two
 * parsers that read the same bytes differently. */
#include "gateway/http/core/chunked.h"

#include "base/hex.h"

#include <errno.h>
#include <stdbool.h>

#define DIGITS_MAX 15 /* larger sizes do not fit into an int64_t */

static int on_size(chunked_t *self, uint8_t byte)
{
    int value = hex_value((char) byte);

    if (value >= 0) {
        if (++self->digits > DIGITS_MAX)
            return -EMSGSIZE;
        self->left = self->left * 16 + (uint64_t) value;
        return 0;
    }
    if (!self->digits || (byte != ';' && byte != '\r'))
        return -EBADMSG;
    self->state = byte == ';' ? CHUNKED_EXTENSION : CHUNKED_SIZE_END;
    return 0;
}

/* Skips an extension. */
static int on_extension(chunked_t *self, uint8_t byte)
{
    if (byte == '\r')
        self->state = CHUNKED_SIZE_END;
    else if (byte == '\n' || byte == '\0' || ++self->line > CHUNKED_LINE_MAX)
        return -EBADMSG;
    return 0;
}

static int on_size_end(chunked_t *self, uint8_t byte)
{
    if (byte != '\n')
        return -EBADMSG;
    self->line = self->digits = 0;
    self->state = self->left ? CHUNKED_DATA : CHUNKED_TRAILER;
    return 0;
}

static int on_mark(chunked_t *self, uint8_t byte)
{
    bool is_first = self->state == CHUNKED_DATA_CR;

    if (byte != (is_first ? '\r' : '\n'))
        return -EBADMSG;
    self->state = is_first ? CHUNKED_DATA_LF : CHUNKED_SIZE;
    return 0;
}

/* Skips the trailer fields after the body. */
static int on_trailer(chunked_t *self, uint8_t byte)
{
    if (++self->line > CHUNKED_TRAILER_MAX || byte == '\0')
        return -EBADMSG;
    if (self->state == CHUNKED_TRAILER && byte == '\r')
        self->state = CHUNKED_END_LF;
    else
        self->state = byte == '\n' ? CHUNKED_TRAILER : CHUNKED_TRAILER_ROW;
    return 0;
}

static int on_end(chunked_t *self, uint8_t byte)
{
    if (byte != '\n')
        return -EBADMSG;
    self->state = CHUNKED_OVER;
    return 1;
}

/* Takes one byte that is not data. */
static int step(chunked_t *self, uint8_t byte)
{
    switch (self->state) {
    case CHUNKED_SIZE:
        return on_size(self, byte);
    case CHUNKED_EXTENSION:
        return on_extension(self, byte);
    case CHUNKED_SIZE_END:
        return on_size_end(self, byte);
    case CHUNKED_DATA_CR:
    case CHUNKED_DATA_LF:
        return on_mark(self, byte);
    case CHUNKED_TRAILER:
    case CHUNKED_TRAILER_ROW:
        return on_trailer(self, byte);
    case CHUNKED_END_LF:
        return on_end(self, byte);
    case CHUNKED_DATA:
    case CHUNKED_OVER:
        break;
    }
    return 1;
}

static size_t take_data(chunked_t *self, const uint8_t *bytes, size_t size,
                        buffer_t *body)
{
    size_t taken = self->left < size ? (size_t) self->left : size;

    buffer_append(body, bytes, taken);
    self->left -= taken;
    if (!self->left)
        self->state = CHUNKED_DATA_CR;
    return taken;
}

int chunked_feed(chunked_t *self, const void *bytes, size_t size, uint64_t max,
                 buffer_t *body)
{
    const uint8_t *at = bytes, *end = at + size;
    int r = self->state == CHUNKED_OVER;

    while (at < end && r == 0) {
        if (self->state == CHUNKED_DATA)
            at += take_data(self, at, (size_t) (end - at), body);
        else
            r = step(self, *at++);
        /* Checked as soon as the size is announced, before the data has
         * arrived. */
        if (r == 0 && (body->size > max || self->left > max - body->size))
            r = -EMSGSIZE;
    }
    return r;
}
