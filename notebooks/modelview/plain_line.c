/* See plain_line.h. Most lines have nothing to change and are lent from the
 * text itself. Any other line is laid out on columns, of which there are at
 * most COLUMNS_MAX: what reaches further can no longer be overwritten. So time
 * and memory are linear in the text. */
#include "notebooks/modelview/plain_line.h"

#include "base/character.h"
#include "base/utf8.h"

#include <string.h>

#define COLUMNS_MAX 65536
#define ESCAPE      0x1B
#define ONES        UINT64_C(0x0101010101010101)
#define HIGHS       (ONES * 0x80)

void plain_line_init(plain_line_t *self, const char *text, size_t size)
{
    if (size == 0)
        text = "";
    *self = (plain_line_t){.at = text, .end = text + size};
}

void plain_line_clear(plain_line_t *self)
{
    free(self->columns);
    buffer_reset(&self->out);
    *self = (plain_line_t){0};
}

/* --- Characters --- */

/* Characters that show nothing or change the order of others. The joiners
 * stay: scripts and emoji need them. */
#define UNSEEN                                                                 \
    (CHARACTER_CONTROL | CHARACTER_SEPARATOR | CHARACTER_BIDI                  \
     | CHARACTER_INVISIBLE)

/* Returns true if each of eight bytes is an ASCII character that is shown. */
static bool are_plain(const char *at)
{
    uint64_t word, del;

    memcpy(&word, at, sizeof word);
    del = word ^ (ONES * 0x7F);
    return ((((word - ONES * 0x20) & ~word) | word | ((del - ONES) & ~del))
            & HIGHS)
           == 0;
}

/* Returns where the first byte is that ends the line or must be changed. */
static const char *skip_plain(const char *at, const char *end)
{
    uint32_t code;
    size_t size;

    for (;;) {
        while (end - at >= 8 && are_plain(at))
            at += 8;
        if (at == end)
            return at;
        unsigned char byte = (unsigned char) *at;
        if (byte < 0x80) {
            if (byte != '\t' && (byte < 0x20 || byte == 0x7F))
                return at;
            at++;
            continue;
        }
        size = utf8_decode(at, end, &code);
        if (size == 0 || character_is(code, UNSEEN))
            return at;
        at += size;
    }
}

/* --- Control sequences --- */

/* Passes over a string that a BEL or ESC \ ends. */
static const char *skip_string(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '\a')
            return at + 1;
        if (*at == ESCAPE)
            return end - at > 1 && at[1] == '\\' ? at + 2 : at;
    }
    return end;
}

static void erase(plain_line_t *self, unsigned long mode)
{
    if (mode == 0)
        self->width = self->cursor < self->width ? self->cursor : self->width;
    else if (mode == 2)
        self->width = 0;
    for (size_t i = 0; mode == 1 && i < self->cursor && i < self->width; i++)
        self->columns[i] = ' ';
}

/* Passes over what follows a CSI; erasing and the move to a column count. */
static const char *skip_csi(plain_line_t *self, const char *at, const char *end)
{
    unsigned long number = 0;
    bool has_number = false;

    for (; at < end && (*at & 0xF0) == 0x30; at++)
        if (*at >= '0' && *at <= '9' && number < COLUMNS_MAX) {
            number = number * 10 + (unsigned long) (*at - '0');
            has_number = true;
        }
    while (at < end && (*at & 0xF0) == 0x20)
        at++;
    if (at == end || (unsigned char) *at < 0x40 || (unsigned char) *at > 0x7E)
        return at;
    if (*at == 'K')
        erase(self, number);
    else if (*at == 'G' && (!has_number || number <= self->width + 1))
        self->cursor = number ? number - 1 : 0;
    return at + 1;
}

/* Passes over what follows an ESC. */
static const char *skip_escape(plain_line_t *self, const char *at,
                               const char *end)
{
    if (at == end)
        return at;
    if (*at == '[')
        return skip_csi(self, at + 1, end);
    if (strchr("]PX^_", *at))
        return skip_string(at + 1, end);
    while (at < end && (*at & 0xF0) == 0x20)
        at++;
    return at < end && (unsigned char) *at >= 0x30 && (unsigned char) *at < 0x7F
               ? at + 1
               : at;
}

/* --- Columns --- */

static void flush(plain_line_t *self)
{
    for (size_t i = 0; i < self->width; i++)
        utf8_append(&self->out, self->columns[i]);
    self->width = self->cursor = 0;
}

static void put(plain_line_t *self, uint32_t code)
{
    while (self->width < self->cursor)
        self->columns[self->width++] = ' ';
    self->columns[self->cursor++] = code;
    if (self->cursor > self->width)
        self->width = self->cursor;
    if (self->width == COLUMNS_MAX)
        flush(self);
}

/* Takes one character or control sequence; returns what follows it. */
static const char *take(plain_line_t *self, const char *at, const char *end)
{
    uint32_t code;
    size_t size = utf8_decode(at, end, &code);

    if (size == 0) {
        put(self, UTF8_REPLACEMENT);
        return at + 1;
    }
    at += size;
    if (code == ESCAPE)
        return skip_escape(self, at, end);
    if (code == 0x9B)
        return skip_csi(self, at, end);
    if (code == 0x9D || code == 0x90)
        return skip_string(at, end);
    if (code == '\r')
        self->cursor = 0;
    else if (code == '\b')
        self->cursor -= self->cursor > 0;
    else if (code == '\t' || !character_is(code, UNSEEN))
        put(self, code);
    return at;
}

static bytes_t lay_out(plain_line_t *self, const char *at, const char *end)
{
    if (!self->columns)
        self->columns = mem_new(COLUMNS_MAX * sizeof *self->columns);
    buffer_clear(&self->out);
    buffer_reserve(&self->out, 1);
    self->cursor = self->width = 0;
    while (at < end)
        at = take(self, at, end);
    flush(self);
    while (self->out.size && self->out.data[self->out.size - 1] == ' ')
        self->out.size--;
    return buffer_bytes(&self->out);
}

bool plain_line_next(plain_line_t *self)
{
    const char *begin = self->at, *stop;

    if (begin == self->end)
        return false;
    stop = skip_plain(begin, self->end);
    self->is_copy = stop < self->end && *stop != '\n';
    if (self->is_copy) {
        const char *newline = memchr(stop, '\n', (size_t) (self->end - stop));
        stop = newline ? newline : self->end;
        self->line = lay_out(self, begin, stop);
    } else {
        self->line = (bytes_t){begin, (size_t) (stop - begin)};
    }
    self->at = stop < self->end ? stop + 1 : stop;
    return true;
}
