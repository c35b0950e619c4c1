/* See chunked.h. A byte at a time but for the data. What is lenient elsewhere
 * (a lone LF, spaces, a sign before the size) is refused: two that read the
 * same bytes differently are how requests are smuggled. */
#include "gateway/http/core/chunked.h"

#include <errno.h>
#include <stdbool.h>

#define DIGITS_MAX 15 /* a size that no int64_t holds is no size */

static int digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

static int on_size(chunks_t *self, uint8_t byte)
{
    int value = digit(byte);

    if (value >= 0) {
        if (++self->digits > DIGITS_MAX)
            return -EMSGSIZE;
        self->left = self->left * 16 + (uint64_t) value;
        return 0;
    }
    if (!self->digits || (byte != ';' && byte != '\r'))
        return -EBADMSG;
    self->state = byte == ';' ? CHUNKS_EXTENSION : CHUNKS_SIZE_END;
    return 0;
}

/* Whatever an extension says, it is passed over. */
static int on_extension(chunks_t *self, uint8_t byte)
{
    if (byte == '\r')
        self->state = CHUNKS_SIZE_END;
    else if (byte == '\n' || byte == '\0' || ++self->line > CHUNKS_LINE_MAX)
        return -EBADMSG;
    return 0;
}

static int on_size_end(chunks_t *self, uint8_t byte)
{
    if (byte != '\n')
        return -EBADMSG;
    self->line = self->digits = 0;
    self->state = self->left ? CHUNKS_DATA : CHUNKS_TRAILER;
    return 0;
}

static int on_mark(chunks_t *self, uint8_t byte)
{
    bool is_first = self->state == CHUNKS_DATA_CR;

    if (byte != (is_first ? '\r' : '\n'))
        return -EBADMSG;
    self->state = is_first ? CHUNKS_DATA_LF : CHUNKS_SIZE;
    return 0;
}

/* Fields behind the body are passed over, too. */
static int on_trailer(chunks_t *self, uint8_t byte)
{
    if (++self->line > CHUNKS_TRAILER_MAX || byte == '\0')
        return -EBADMSG;
    if (self->state == CHUNKS_TRAILER && byte == '\r')
        self->state = CHUNKS_END_LF;
    else
        self->state = byte == '\n' ? CHUNKS_TRAILER : CHUNKS_TRAILER_ROW;
    return 0;
}

static int on_end(chunks_t *self, uint8_t byte)
{
    if (byte != '\n')
        return -EBADMSG;
    self->state = CHUNKS_OVER;
    return 1;
}

/* One byte that is no data. */
static int step(chunks_t *self, uint8_t byte)
{
    switch ((int) self->state) {
    case CHUNKS_SIZE:
        return on_size(self, byte);
    case CHUNKS_EXTENSION:
        return on_extension(self, byte);
    case CHUNKS_SIZE_END:
        return on_size_end(self, byte);
    case CHUNKS_DATA_CR:
    case CHUNKS_DATA_LF:
        return on_mark(self, byte);
    case CHUNKS_TRAILER:
    case CHUNKS_TRAILER_ROW:
        return on_trailer(self, byte);
    case CHUNKS_END_LF:
        return on_end(self, byte);
    default:
        return 1;
    }
}

static size_t take_data(chunks_t *self, const uint8_t *bytes, size_t size,
                        buffer_t *body)
{
    size_t taken = self->left < size ? (size_t) self->left : size;

    buffer_append(body, bytes, taken);
    self->left -= taken;
    if (!self->left)
        self->state = CHUNKS_DATA_CR;
    return taken;
}

int chunks_feed(chunks_t *self, const void *bytes, size_t size, uint64_t max,
                buffer_t *body)
{
    const uint8_t *at = bytes, *end = at + size;
    int r = self->state == CHUNKS_OVER;

    while (at < end && r == 0) {
        if (self->state == CHUNKS_DATA)
            at += take_data(self, at, (size_t) (end - at), body);
        else
            r = step(self, *at++);
        /* As soon as it is announced, not when it has come. */
        if (r == 0 && (body->size > max || self->left > max - body->size))
            r = -EMSGSIZE;
    }
    return r;
}
