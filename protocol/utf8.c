/* Writing UTF-8; reading it is in the header. */
#include "protocol/utf8.h"

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
