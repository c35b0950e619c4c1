/* See text.h. Plain functions over bytes; any thread. */
#include "kernels/hearth_kernel/text.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* How many bytes a character has that begins with this one; 0: none does. */
static size_t sequence_size(uint8_t first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Whether `next` may be the byte at `index` behind `first`. The second byte
 * has the rules against overlong forms, surrogates and past U+10FFFF. */
static bool continues(uint8_t first, size_t index, uint8_t next)
{
    uint8_t low = 0x80, high = 0xbf;

    if (index == 1) {
        low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    }
    return next >= low && next <= high;
}

/* Takes one byte that is not plain ASCII in the middle of nothing. */
static void decode_byte(text_decoder_t *self, uint8_t byte, buffer_t *out)
{
    if (self->size && !continues(self->held[0], self->size, byte)) {
        buffer_append(out, REPLACEMENT, 3);
        self->size = 0;
    }
    if (!self->size && sequence_size(byte) == 0) {
        buffer_append(out, REPLACEMENT, 3);
        return;
    }
    self->held[self->size++] = byte;
    if (self->size == sequence_size(self->held[0])) {
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

static bool is_plain(char c)
{
    return (unsigned char) c >= 0x20 && c != '"' && c != '\\';
}

/* Words of 8 bytes, each byte `byte`. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether all 8 bytes are plain; text mostly is. It may say no to a word that
 * is, behind one that is not: the bytes are then looked at one by one. */
static bool is_plain_word(const char *at)
{
    uint64_t word, quotes, slashes;

    memcpy(&word, at, sizeof word);
    quotes = word ^ EACH('"');
    slashes = word ^ EACH('\\');
    return ((((word - EACH(0x20)) & ~word) | ((quotes - EACH(1)) & ~quotes)
             | ((slashes - EACH(1)) & ~slashes))
            & EACH(0x80))
           == 0;
}

static void escape_one(char c, buffer_t *out)
{
    static const char hex[] = "0123456789abcdef";
    char text[] = {'\\', 'u', '0', '0', hex[(c >> 4) & 15], hex[c & 15]};

    switch (c) {
    case '\n':
        buffer_append(out, "\\n", 2);
        break;
    case '\t':
        buffer_append(out, "\\t", 2);
        break;
    case '\r':
        buffer_append(out, "\\r", 2);
        break;
    case '"':
    case '\\':
        text[1] = c;
        buffer_append(out, text, 2);
        break;
    default:
        buffer_append(out, text, sizeof text);
    }
}

void text_escape(const char *text, size_t size, buffer_t *out)
{
    size_t i = 0;

    while (i < size) {
        size_t start = i;

        while (size - i >= 8 && is_plain_word(text + i))
            i += 8;
        while (i < size && is_plain(text[i]))
            i++;
        if (i > start)
            buffer_append(out, text + start, i - start);
        if (i < size)
            escape_one(text[i++], out);
    }
}

size_t text_cut(const char *text, size_t max)
{
    size_t cut = max;

    while (cut > 0 && ((unsigned char) text[cut] & 0xc0) == 0x80)
        cut--;
    return cut ? cut : max;
}

/* The index behind the string that begins at `start`. */
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
