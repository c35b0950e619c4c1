/* See text.h. Plain functions over bytes; any thread. */
#include "kernels/hearth_kernel/link/text.h"

#include "base/utf8.h"

#include <string.h>

/* Takes one byte that is not plain ASCII in the middle of nothing. */
static void decode_byte(text_decoder_t *self, uint8_t byte, buffer_t *out)
{
    if (self->size == 1 ? !utf8_is_second(self->held[0], byte)
                        : self->size && !utf8_is_continuation(byte)) {
        utf8_append(out, UTF8_REPLACEMENT);
        self->size = 0;
    }
    if (!self->size && utf8_length(byte) == 0) {
        utf8_append(out, UTF8_REPLACEMENT);
        return;
    }
    self->held[self->size++] = byte;
    if (self->size == utf8_length(self->held[0])) {
        buffer_append(out, self->held, self->size);
        self->size = 0;
    }
}

void text_decode(text_decoder_t *self, const uint8_t *bytes, size_t size,
                 buffer_t *out)
{
    size_t i = 0;

    while (i < size) {
        size_t start = i;

        while (!self->size && i < size && bytes[i] < 0x80)
            i++;
        if (i > start)
            buffer_append(out, bytes + start, i - start);
        if (i < size)
            decode_byte(self, bytes[i++], out);
    }
}

/* Returns the index after the end of the string that goes on at `from`, or the
 * end of the piece. */
static size_t skip_string(text_depth_t *self, const char *json, size_t from,
                          size_t size)
{
    size_t i = from + self->is_escaped;

    self->is_escaped = false;
    for (;;) {
        const char *quote = i < size ? memchr(json + i, '"', size - i) : NULL;
        size_t at = quote ? (size_t) (quote - json) : size;
        size_t slashes = 0;

        while (at - slashes > i && json[at - slashes - 1] == '\\')
            slashes++;
        if (!quote) {
            self->is_escaped = slashes % 2 == 1;
            return size;
        }
        i = at + 1;
        if (slashes % 2 == 0)
            break;
    }
    self->is_in_string = false;
    return i;
}

void text_depth_add(text_depth_t *self, bytes_t piece)
{
    const char *json = piece.bytes;
    size_t i = 0;

    while (i < piece.size) {
        char c = json[i];

        if (self->is_in_string) {
            i = skip_string(self, json, i, piece.size);
            continue;
        }
        self->is_in_string = c == '"';
        if (c == '[' || c == '{')
            self->depth++;
        else if (c == ']' || c == '}')
            self->depth--;
        if (self->depth > self->deepest)
            self->deepest = self->depth;
        i++;
    }
}
