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

/* Returns the index after the string that begins at `start`. */
static size_t skip_string(const char *json, size_t start, size_t size)
{
    size_t i = start + 1;

    while (i < size) {
        const char *quote = memchr(json + i, '"', size - i);
        size_t at = quote ? (size_t) (quote - json) : size;
        size_t slashes = 0;

        if (!quote)
            return size;
        while (at - slashes > start + 1 && json[at - slashes - 1] == '\\')
            slashes++;
        i = at + 1;
        if (slashes % 2 == 0)
            break;
    }
    return i;
}

unsigned text_json_depth(const char *json, size_t size)
{
    unsigned depth = 0, deepest = 0;
    size_t i = 0;

    while (i < size) {
        char c = json[i];

        if (c == '"') {
            i = skip_string(json, i, size);
            continue;
        }
        if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            depth--;
        if (depth > deepest)
            deepest = depth;
        i++;
    }
    return deepest;
}
