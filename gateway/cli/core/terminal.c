/* The filter between a kernel's text and a person's terminal (ECMA-48). It
 * keeps its state between calls, because a sequence may be cut anywhere. It
 * knows nothing of images: what hearth itself draws goes past it. */
#include "gateway/cli/core/terminal.h"

#include "base/character.h"
#include "base/environment.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEQUENCE_MAX 64 /* bytes of a colour sequence; longer ones are cut */

typedef enum {
    STATE_TEXT,
    STATE_ESCAPE,  /* after ESC */
    STATE_CHARSET, /* after ESC and an intermediate byte */
    STATE_CSI,     /* after ESC [ */
    STATE_STRING,  /* OSC, DCS, APC, PM, SOS: up to BEL or ESC \ */
    STATE_STRING_ESCAPE,
    STATE_C1,   /* after 0xC2: may be a control of ISO 6429's C1 set */
    STATE_BIDI, /* in a character that begins as those that reorder text do */
} escape_state_t;

struct terminal {
    FILE *file; /* borrowed */
    bool is_tty;
    bool has_color;  /* the user does not object */
    bool is_colored; /* a colour was switched on */
    bool at_line_start;
    escape_state_t state;
    char sequence[SEQUENCE_MAX]; /* parameters after ESC [ */
    size_t sequence_size;
    char held[3]; /* of a character, in STATE_BIDI */
    size_t held_size;
};

terminal_t *terminal_new(FILE *file)
{
    terminal_t *self = mem_new(sizeof *self);
    const char *term = getenv("TERM");

    self->file = file;
    self->is_tty = isatty(fileno(file));
    self->has_color = self->is_tty && !environment_text("NO_COLOR")
                      && !(term && strcmp(term, "dumb") == 0);
    self->at_line_start = true;
    return self;
}

void terminal_destroy(terminal_t **self_p)
{
    if (!*self_p)
        return;
    terminal_end(*self_p);
    free(*self_p);
    *self_p = NULL;
}

bool terminal_is_tty(const terminal_t *self)
{
    return self->is_tty;
}

bool terminal_at_line_start(const terminal_t *self)
{
    return self->at_line_start;
}

void terminal_mark_line_start(terminal_t *self)
{
    self->at_line_start = true;
}

static void put(terminal_t *self, char byte)
{
    putc((unsigned char) byte, self->file);
    self->at_line_start = byte == '\n';
}

static void put_color(terminal_t *self)
{
    if (!self->has_color || self->sequence_size == SEQUENCE_MAX)
        return;
    fprintf(self->file, "\033[%.*sm", (int) self->sequence_size,
            self->sequence);
    self->is_colored = true;
}

static escape_state_t in_text(terminal_t *self, unsigned char byte)
{
    if (byte == 033)
        return STATE_ESCAPE;
    if (byte == 0xC2)
        return STATE_C1;
    if (byte == 0xE2) {
        self->held[0] = (char) byte;
        self->held_size = 1;
        return STATE_BIDI;
    }
    if (byte >= ' '
            ? byte != 0177
            : byte == '\n' || byte == '\t' || byte == '\r' || byte == '\b')
        put(self, (char) byte);
    return STATE_TEXT;
}

static escape_state_t in_escape(terminal_t *self, unsigned char byte)
{
    self->sequence_size = 0;
    if (byte == '[')
        return STATE_CSI;
    if (byte && strchr("]PX^_", byte))
        return STATE_STRING;
    if (byte >= 0x20 && byte <= 0x2F)
        return STATE_CHARSET;
    return byte == 033 ? STATE_ESCAPE : STATE_TEXT;
}

static escape_state_t in_csi(terminal_t *self, unsigned char byte)
{
    if (byte >= 0x40 && byte <= 0x7E) {
        if (byte == 'm')
            put_color(self);
        return STATE_TEXT;
    }
    if (byte == 033)
        return STATE_ESCAPE;
    if (byte < 0x20 || byte > 0x7E)
        return in_text(self, byte);
    /* A private or an intermediate byte makes it another sequence that also
     * ends with m: the size at its limit keeps it from being a colour. */
    if (!strchr("0123456789;:", byte))
        self->sequence_size = SEQUENCE_MAX;
    else if (self->sequence_size < SEQUENCE_MAX)
        self->sequence[self->sequence_size++] = (char) byte;
    return STATE_CSI;
}

static escape_state_t in_c1(terminal_t *self, unsigned char byte)
{
    /* U+009B is CSI and U+009D OSC to some terminals; U+00A0 and above are
     * letters. */
    if (byte == 0x9B) {
        self->sequence_size = 0;
        return STATE_CSI;
    }
    if (byte == 0x90 || byte == 0x98 || (byte >= 0x9D && byte <= 0x9F))
        return STATE_STRING;
    if (byte >= 0x80 && byte < 0xA0)
        return STATE_TEXT;
    put(self, (char) 0xC2);
    return in_text(self, byte);
}

static void put_held(terminal_t *self)
{
    for (size_t i = 0; i < self->held_size; i++)
        put(self, self->held[i]);
    self->held_size = 0;
}

static escape_state_t in_bidi(terminal_t *self, unsigned char byte)
{
    if (!utf8_is_continuation(byte)) {
        put_held(self);
        return in_text(self, byte);
    }
    self->held[self->held_size++] = (char) byte;
    if (self->held_size < sizeof self->held)
        return STATE_BIDI;
    uint32_t code = 0;
    utf8_decode(self->held, self->held + sizeof self->held, &code);
    if (!character_is(code, CHARACTER_BIDI))
        put_held(self);
    return STATE_TEXT;
}

static escape_state_t next_state(terminal_t *self, unsigned char byte)
{
    switch (self->state) {
    case STATE_TEXT:
        return in_text(self, byte);
    case STATE_ESCAPE:
        return in_escape(self, byte);
    case STATE_CHARSET:
        return byte >= 0x20 && byte <= 0x2F ? STATE_CHARSET : STATE_TEXT;
    case STATE_CSI:
        return in_csi(self, byte);
    case STATE_STRING:
        if (byte == 033)
            return STATE_STRING_ESCAPE;
        /* A newline ends it, too: an unterminated sequence must not hide all
         * later text. */
        return byte == 07 || byte == '\n' ? STATE_TEXT : STATE_STRING;
    case STATE_STRING_ESCAPE:
        return byte == '\\' ? STATE_TEXT : in_escape(self, byte);
    case STATE_C1:
        return in_c1(self, byte);
    case STATE_BIDI:
        return in_bidi(self, byte);
    }
    return STATE_TEXT;
}

static void filter(terminal_t *self, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        self->state = next_state(self, (unsigned char) text[i]);
    fflush(self->file);
}

void terminal_text(terminal_t *self, const char *text, size_t size)
{
    if (!size)
        return;
    if (self->is_tty) {
        filter(self, text, size);
        return;
    }
    fwrite(text, 1, size, self->file);
    fflush(self->file);
    self->at_line_start = text[size - 1] == '\n';
}

void terminal_colored(terminal_t *self, const char *text, size_t size)
{
    filter(self, text, size);
}

void terminal_fresh_line(terminal_t *self)
{
    if (!self->at_line_start)
        put(self, '\n');
}

void terminal_end(terminal_t *self)
{
    if (self->is_colored)
        fputs("\033[0m", self->file);
    self->is_colored = false;
    self->state = STATE_TEXT;
    fflush(self->file);
}

const char *terminal_write_cell(terminal_cell_t *self, const char *text,
                                size_t width)
{
    const char *end = text + strlen(text);
    char *cell = self->text;
    size_t size = 0;

    for (size_t shown = 0;
         text < end && shown < width && size + 4 < sizeof self->text; shown++) {
        uint32_t code = 0;
        size_t step = utf8_decode(text, end, &code);
        bool is_plain =
            step && !character_is(code, CHARACTER_CONTROL | CHARACTER_BIDI);

        step = step ? step : 1;
        memcpy(cell + size, is_plain ? text : "?", is_plain ? step : 1);
        size += is_plain ? step : 1;
        text += step;
    }
    cell[size] = '\0';
    return cell;
}

const char *terminal_write_first_line(terminal_cell_t *self, const char *text,
                                      size_t width)
{
    terminal_cell_t line;

    text += strspn(text, " \t\r\n");
    snprintf(line.text, sizeof line.text, "%.*s", (int) strcspn(text, "\r\n"),
             text);
    return terminal_write_cell(self, line.text, width);
}
