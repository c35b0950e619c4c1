/* See url_encode.h. */
#include "base/url_encode.h"

#include "base/buffer.h"

#include <string.h>

#define UNRESERVED                                                             \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

char *url_encode(const char *text, const char *kept)
{
    buffer_t out = BUFFER_EMPTY;

    buffer_text(&out, "");
    for (const char *at = text; *at; at++)
        buffer_format(&out,
                      strchr(UNRESERVED, *at) || strchr(kept, *at) ? "%c"
                                                                   : "%%%02X",
                      (unsigned) (unsigned char) *at);
    return (char *) out.data;
}
