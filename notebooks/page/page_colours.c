/* A terminal's colours and weights as classes of the page (ECMA-48, 8.3.117,
 * Select Graphic Rendition); see page_text.h. */
#include "notebooks/page/page_text.h"

#include <stdbool.h>
#include <string.h>

#define ESCAPE    0x1B
#define CODE_MAX  9999
#define NO_COLOUR (-1)

typedef struct {
    int colour; /* one of eight, or NO_COLOUR */
    bool is_bold, is_italic, is_underlined;
} style_t;

typedef struct {
    const char *at, *end; /* of the numbers between ESC [ and m */
} codes_t;

/* Returns false when there is no further one; an empty one is 0. */
static bool next_code(codes_t *self, int *ret_code)
{
    if (self->at > self->end)
        return false;
    *ret_code = 0;
    for (; self->at < self->end && *self->at >= '0' && *self->at <= '9';
         self->at++)
        if (*ret_code < CODE_MAX)
            *ret_code = *ret_code * 10 + (*self->at - '0');
    self->at++;
    return true;
}

/* Takes what follows 38 or 48; returns the nearest of the page's eight colours,
 * which can all be read on its ground. */
static int nearest(codes_t *codes)
{
    int kind = 0, index = 7, rgb[3] = {0};

    next_code(codes, &kind);
    if (kind == 5) {
        next_code(codes, &index);
        if (index < 16)
            return index % 8;
        if (index > 231)
            return index > 243 ? 7 : 0;
        index -= 16;
        return (index / 36 > 2) | (index / 6 % 6 > 2) << 1
               | (index % 6 > 2) << 2;
    }
    if (kind != 2)
        return 7;
    for (size_t i = 0; i < 3; i++)
        next_code(codes, &rgb[i]);
    return (rgb[0] > 127) | (rgb[1] > 127) << 1 | (rgb[2] > 127) << 2;
}

static void restyle(style_t *style, codes_t codes)
{
    int code;

    while (next_code(&codes, &code)) {
        if (code == 0)
            *style = (style_t){.colour = NO_COLOUR};
        else if (code == 38)
            style->colour = nearest(&codes);
        else if (code == 48)
            (void) nearest(&codes);
        else if (code == 39)
            style->colour = NO_COLOUR;
        else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
            style->colour = code % 10;
        else if (code == 1 || code == 22)
            style->is_bold = code == 1;
        else if (code == 3 || code == 23)
            style->is_italic = code == 3;
        else if (code == 4 || code == 24)
            style->is_underlined = code == 4;
    }
}

/* Returns where the next colour begins, or `end`; sets its numbers. */
static const char *find_rendition(const char *at, const char *end,
                                  codes_t *ret_codes)
{
    while ((at = memchr(at, ESCAPE, (size_t) (end - at)))) {
        const char *from, *to;
        if (end - at < 3 || at[1] != '[') {
            at++;
            continue;
        }
        from = to = at + 2;
        while (to < end && *to && strchr("0123456789;:", *to))
            to++;
        if (to < end && *to == 'm') {
            *ret_codes = (codes_t){from, to};
            return at;
        }
        at++;
    }
    return end;
}

static void write_styled(const style_t *style, const char *at, const char *end,
                         buffer_t *out)
{
    bytes_t text = {at, (size_t) (end - at)};
    bool is_plain = style->colour == NO_COLOUR && !style->is_bold
                    && !style->is_italic && !style->is_underlined;

    if (at == end)
        return;
    if (is_plain) {
        page_text(text, out);
        return;
    }
    buffer_text(out, "<span class=\"");
    if (style->colour != NO_COLOUR)
        buffer_format(out, "ansi%d ", style->colour);
    buffer_format(out, "%s%s%s\">", style->is_bold ? "bold " : "",
                  style->is_italic ? "italic " : "",
                  style->is_underlined ? "underline" : "");
    page_text(text, out);
    buffer_text(out, "</span>");
}

/* Writes a line, or with `out` NULL only takes its colours. */
static void write_line(style_t *style, const char *at, const char *end,
                       buffer_t *out)
{
    codes_t codes = {0};

    while (at < end) {
        const char *escape = find_rendition(at, end, &codes);
        if (out)
            write_styled(style, at, escape, out);
        if (escape == end)
            return;
        restyle(style, codes);
        at = codes.end + 1;
    }
}

void page_text_coloured(bytes_t text, buffer_t *out)
{
    const char *at = text.size ? text.bytes : "", *end = at + text.size;
    style_t style = {.colour = NO_COLOUR};

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t) (end - at));
        const char *stop = newline ? newline : end;
        const char *from;
        while (stop > at && stop[-1] == '\r')
            stop--;
        from = stop;
        while (from > at && from[-1] != '\r')
            from--;
        write_line(&style, at, from, NULL);
        write_line(&style, from, stop, out);
        if (!newline)
            return;
        buffer_text(out, "\n");
        at = newline + 1;
    }
}
