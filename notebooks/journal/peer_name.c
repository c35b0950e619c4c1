/* See peer_name.h. Clients choose their identities: what is printed as text has
 * no character that a log or a terminal takes for something else. */
#include "notebooks/journal/peer_name.h"

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_word(const uint8_t *bytes, size_t size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";

    for (size_t i = 0; i < size; i++)
        if (!bytes[i] || !strchr(letters, bytes[i]))
            return false;
    return size > 0 && !(size > 1 && bytes[0] == '0' && bytes[1] == 'x');
}

char *peer_name(const char *frontend, const void *identity, size_t size)
{
    const uint8_t *bytes = identity;
    buffer_t out = BUFFER_EMPTY;

    if (*frontend) {
        buffer_text(&out, strcmp(frontend, "http") == 0 ? "token=" : "viewer=");
        if (size)
            buffer_append(&out, bytes, size);
    } else if (is_word(bytes, size)) {
        buffer_text(&out, "client=");
        buffer_append(&out, bytes, size);
    } else {
        buffer_text(&out, size ? "client=0x" : "client=");
        for (size_t i = 0; i < size; i++)
            buffer_format(&out, "%02x", bytes[i]);
    }
    buffer_append(&out, "", 0);
    return (char *) out.data;
}
