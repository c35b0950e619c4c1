/* See utf8.h. Plain functions over bytes; any thread. */
#include "base/utf8.h"

size_t utf8_decode(const char *at, const char *end, uint32_t *ret_code)
{
    unsigned char lead = (unsigned char) at[0];
    size_t size = lead < 0x80 ? 1 : utf8_size(at, end);

    *ret_code = size > 1 ? lead & 0x7Fu >> size : lead;
    for (size_t i = 1; i < size; i++)
        *ret_code = *ret_code << 6 | ((unsigned char) at[i] & 0x3F);
    return size;
}

size_t utf8_whole(bytes_t text)
{
    const char *bytes = text.bytes;
    size_t back = 0, size = text.size;

    while (back < 3 && back < size
           && utf8_is_continuation(bytes[size - 1 - back]))
        back++;
    if (back == size)
        return size; /* no beginning of a character is among them */
    return utf8_length((unsigned char) bytes[size - 1 - back]) > back + 1
               ? size - 1 - back
               : size;
}

void utf8_append(buffer_t *out, uint32_t code)
{
    char bytes[4];
    size_t size = 0;
    if (code < 0x80) {
        bytes[size++] = (char) code;
    } else if (code < 0x800) {
        bytes[size++] = (char) (0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[size++] = (char) (0xE0 | code >> 12);
        bytes[size++] = (char) (0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[size++] = (char) (0xF0 | code >> 18);
        bytes[size++] = (char) (0x80 | (code >> 12 & 0x3F));
        bytes[size++] = (char) (0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        bytes[size++] = (char) (0x80 | (code & 0x3F));
    buffer_append(out, bytes, size);
}
