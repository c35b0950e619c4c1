/* See page_text.h. */
#include "notebooks/page/page_text.h"

#include "base/character.h"
#include "base/utf8.h"

#include <string.h>

/* Controls, formats, private characters and the two separators. */
#define UNSEEN                                                                 \
    (CHARACTER_CONTROL | CHARACTER_SEPARATOR | CHARACTER_BIDI                  \
     | CHARACTER_INVISIBLE | CHARACTER_JOINER | CHARACTER_FORMAT               \
     | CHARACTER_PRIVATE)

void page_text_character(uint32_t code, buffer_t *out)
{
    if (code != '\n' && code != '\t' && character_is(code, UNSEEN))
        buffer_format(out, "⟨U+%04X⟩", (unsigned) code);
    else if (code == '<')
        buffer_text(out, "&lt;");
    else if (code == '>')
        buffer_text(out, "&gt;");
    else if (code == '&')
        buffer_text(out, "&amp;");
    else if (code == '"')
        buffer_text(out, "&quot;");
    else if (code == '\'')
        buffer_text(out, "&#39;");
    else
        utf8_append(out, code);
}

/* Returns true for what needs no second look: ASCII that is only text. */
static bool is_plain(unsigned char byte)
{
    return (byte >= 0x20 && byte < 0x7F && !strchr("<>&\"'", byte))
           || byte == '\n' || byte == '\t';
}

void page_text(bytes_t text, buffer_t *out)
{
    const char *at = text.size ? text.bytes : "";
    const char *end = at + text.size;

    while (at < end) {
        const char *from = at;
        uint32_t code = UTF8_REPLACEMENT;
        while (at < end && is_plain((unsigned char) *at))
            at++;
        buffer_append(out, from, (size_t) (at - from));
        if (at == end)
            return;
        size_t size = utf8_decode(at, end, &code);
        page_text_character(size ? code : UTF8_REPLACEMENT, out);
        at += size ? size : 1;
    }
}

void page_text_line(const char *text, size_t max, buffer_t *out)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    size_t shown;

    for (const char *at = text + strspn(text, " \t\r\n"); *at;) {
        size_t size = strcspn(at, " \t\r\n");
        buffer_format(&line, "%s%.*s", line.size ? " " : "", (int) size, at);
        at += size;
        at += strspn(at, " \t\r\n");
    }
    shown = line.size <= max ? line.size : utf8_cut(line.data, max);
    page_text((bytes_t){line.data, shown}, out);
    if (shown < line.size)
        buffer_format(out, "… +%zu bytes", line.size - shown);
}
