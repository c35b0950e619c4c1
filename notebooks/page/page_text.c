/* See page_text.h. */
#include "notebooks/page/page_text.h"

#include "base/utf8.h"

#include <string.h>

typedef struct {
    uint32_t first, last;
} range_t;

/* Formats, also those that turn the direction of writing, private characters
 * and the two separators (Unicode's Cf, Co, Zl and Zp). */
static const range_t unseen[] = {
    {0x00AD, 0x00AD},   {0x0600, 0x0605},   {0x061C, 0x061C},
    {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},
    {0x08E2, 0x08E2},   {0x180E, 0x180E},   {0x200B, 0x200F},
    {0x2028, 0x202E},   {0x2060, 0x2064},   {0x2066, 0x206F},
    {0xE000, 0xF8FF},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0001, 0xE0001},
    {0xE0020, 0xE007F}, {0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD},
};

static bool is_unseen(uint32_t code)
{
    if (code < 0xA0)
        return (code < 0x20 && code != '\n' && code != '\t')
               || (code >= 0x7F && code < 0xA0);
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (code >= unseen[i].first && code <= unseen[i].last)
            return true;
    return false;
}

void page_text_character(uint32_t code, buffer_t *out)
{
    if (is_unseen(code))
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
    shown = line.size <= max ? line.size : utf8_cut((char *) line.data, max);
    page_text((bytes_t){line.data, shown}, out);
    if (shown < line.size)
        buffer_format(out, "… +%zu bytes", line.size - shown);
}
