/* Text as JSON strings: the only JSON that is written here; documents are
 * jansson's business. */
#include "protocol/json.h"

#include "protocol/json_lexis.h"
#include "protocol/utf8.h"

#include <string.h>

static void quote_control(buffer_t *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "btn\0fr"; /* from 8 on; 11 has none */
    char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    size_t size = sizeof escape;
    if (c == '"' || c == '\\') {
        escape[1] = (char) c;
        size = 2;
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = letters[c - 8];
        size = 2;
    }
    buffer_append(out, escape, size);
}

void json_quote(buffer_t *out, const void *text, size_t size)
{
    const char *at = text;
    const char *end = at + size;
    const char *kept = at; /* up to here it is written */
    buffer_reserve(out, size + 2);
    buffer_append(out, "\"", 1);
    while (at < end) {
        at = skip_plain(at, end);
        if (at == end)
            break;
        unsigned char c = (unsigned char) *at;
        size_t character = c >= 0x80 ? utf8_size(at, end) : 1;
        if (character > 0 && c >= 0x20 && c != '"' && c != '\\') {
            at += character;
            continue;
        }
        buffer_append(out, kept, (size_t) (at - kept));
        if (c >= 0x80)
            utf8_append(out, UTF8_REPLACEMENT);
        else
            quote_control(out, c);
        kept = ++at;
    }
    buffer_append(out, kept, (size_t) (end - kept));
    buffer_append(out, "\"", 1);
}

void json_quote_text(buffer_t *out, const char *text)
{
    json_quote(out, text, strlen(text));
}
