/* See terminal_queries.h. Control sequences begin with ESC and a character, or
 * with a C1 control, which in UTF-8 is 0xC2 and a byte. Terminals end one where
 * another begins, and by CAN and SUB. */
#include "gateway/http/terminals/terminal_queries.h"

#include <string.h>

#define ENQUIRY    0x05
#define BELL       0x07
#define CANCEL     0x18
#define SUBSTITUTE 0x1a
#define ESCAPE     0x1b
#define DELETE     0x7f
#define C1_PREFIX  0xc2
#define C1_END     0x9c /* ST */

enum {
    TEXT,
    AFTER_ESCAPE,
    AFTER_PREFIX,
    IN_CONTROL,     /* CSI */
    IN_COMMAND,     /* OSC: a string for the terminal's program */
    IN_STRING,      /* DCS, SOS, PM, APC */
    COMMAND_ESCAPE, /* ESC in such a string */
    STRING_ESCAPE,
    COMMAND_PREFIX,
    STRING_PREFIX,
};

static void keep(terminal_queries_t *self, unsigned char byte)
{
    self->is_long =
        self->is_long || self->sequence.size >= TERMINAL_SEQUENCE_MAX;
    if (!self->is_long)
        buffer_append(&self->sequence, &byte, 1);
}

static void begin(terminal_queries_t *self, unsigned char byte)
{
    buffer_clear(&self->sequence);
    self->is_long = false;
    keep(self, byte);
    self->state = byte == ESCAPE ? AFTER_ESCAPE : AFTER_PREFIX;
}

static void end(terminal_queries_t *self, bool is_query, buffer_t *out)
{
    if (!is_query && !self->is_long)
        buffer_append(out, self->sequence.data, self->sequence.size);
    buffer_clear(&self->sequence);
    self->state = TEXT;
}

static bool has(const terminal_queries_t *self, const char *characters)
{
    for (size_t i = 0; i < self->sequence.size; i++)
        if (self->sequence.data[i]
            && strchr(characters, self->sequence.data[i]))
            return true;
    return false;
}

/* Returns true if the control sequence that ends with `final` requests a
 * report: DA, DSR, DECREQTPARM, of the window; XTVERSION; a keyboard's flags;
 * of graphics; and, with an intermediate byte, DECRQM, DECRQCRA and others. */
static bool asks(const terminal_queries_t *self, unsigned char final)
{
    return strchr("cntx", final) || has(self, "$*&'")
           || (final == 'q' && has(self, ">"))
           || (strchr("uS", final) && has(self, "?"));
}

/* Returns true if the command requests a colour, or what is in the clipboard:
 * it has "?" for a value. The URL of a link (8) may have one, too. */
static bool is_asking_command(const terminal_queries_t *self)
{
    const char *bytes = (const char *) self->sequence.data;
    size_t size = self->sequence.size;

    return has(self, "?") && (size < 4 || memcmp(bytes + 2, "8;", 2) != 0);
}

/* Takes the byte that names a sequence, after ESC, or in a C1 control. */
static void name_sequence(terminal_queries_t *self, unsigned char name,
                          buffer_t *out)
{
    if (name == '[')
        self->state = IN_CONTROL;
    else if (name == ']')
        self->state = IN_COMMAND;
    else if (strchr("PX^_", name))
        self->state = IN_STRING;
    else
        end(self, name == 'Z', out); /* DECID */
}

static void step_escape(terminal_queries_t *self, unsigned char byte,
                        buffer_t *out)
{
    bool is_named = !has(self, " !\"#$%&'()*+,-./"); /* by this byte */

    keep(self, byte);
    if (byte == CANCEL || byte == SUBSTITUTE)
        end(self, true, out);
    else if (byte >= '0' && byte != DELETE && is_named)
        name_sequence(self, byte, out);
    else if (byte >= '0' && byte != DELETE)
        end(self, false, out); /* of a character set and the like */
}

static void step_prefix(terminal_queries_t *self, unsigned char byte,
                        buffer_t *out)
{
    keep(self, byte);
    if (byte >= 0x80 && byte < 0xa0)
        name_sequence(self, byte - 0x40, out);
    else
        end(self, false, out);
}

static void step_control(terminal_queries_t *self, unsigned char byte,
                         buffer_t *out)
{
    if (byte >= 0x80) { /* it begins a character */
        end(self, true, out);
        buffer_append(out, &byte, 1);
        return;
    }
    keep(self, byte);
    if (byte == CANCEL || byte == SUBSTITUTE)
        end(self, true, out);
    else if (byte >= '@' && byte != DELETE)
        end(self, asks(self, byte), out);
}

static void end_string(terminal_queries_t *self, buffer_t *out)
{
    bool is_command = self->state == IN_COMMAND || self->state == COMMAND_ESCAPE
                      || self->state == COMMAND_PREFIX;

    end(self, !is_command || is_asking_command(self), out);
}

static void step_string(terminal_queries_t *self, unsigned char byte,
                        buffer_t *out)
{
    bool is_command = self->state == IN_COMMAND;

    keep(self, byte);
    if (byte == ESCAPE)
        self->state = is_command ? COMMAND_ESCAPE : STRING_ESCAPE;
    else if (byte == C1_PREFIX)
        self->state = is_command ? COMMAND_PREFIX : STRING_PREFIX;
    else if (byte == CANCEL || byte == SUBSTITUTE)
        end(self, true, out);
    else if (byte == BELL && is_command)
        end_string(self, out);
}

static void step(terminal_queries_t *self, unsigned char byte, buffer_t *out);

/* Takes the byte after ESC in a string: its end, or another sequence's name. */
static void step_string_escape(terminal_queries_t *self, unsigned char byte,
                               buffer_t *out)
{
    if (byte == '\\') {
        keep(self, byte);
        end_string(self, out);
        return;
    }
    end(self, true, out);
    begin(self, ESCAPE);
    step(self, byte, out);
}

/* Takes the byte after 0xC2 in a string: its end, another sequence's name, or
 * the rest of a character. */
static void step_string_prefix(terminal_queries_t *self, unsigned char byte,
                               buffer_t *out)
{
    bool is_command = self->state == COMMAND_PREFIX;

    if (byte == C1_END) {
        keep(self, byte);
        end_string(self, out);
    } else if (byte >= 0xa0) {
        keep(self, byte);
        if (byte != C1_PREFIX) /* the former was no character then */
            self->state = is_command ? IN_COMMAND : IN_STRING;
    } else {
        end(self, true, out);
        begin(self, C1_PREFIX);
        step(self, byte, out);
    }
}

static void step_text(unsigned char byte, buffer_t *out)
{
    if (byte != ENQUIRY)
        buffer_append(out, &byte, 1);
}

static void step(terminal_queries_t *self, unsigned char byte, buffer_t *out)
{
    bool is_string = self->state >= IN_COMMAND;

    if (!is_string && (byte == ESCAPE || byte == C1_PREFIX))
        begin(self, byte);
    else if (self->state == TEXT)
        step_text(byte, out);
    else if (self->state == AFTER_ESCAPE)
        step_escape(self, byte, out);
    else if (self->state == AFTER_PREFIX)
        step_prefix(self, byte, out);
    else if (self->state == IN_CONTROL)
        step_control(self, byte, out);
    else if (self->state <= IN_STRING)
        step_string(self, byte, out);
    else if (self->state <= STRING_ESCAPE)
        step_string_escape(self, byte, out);
    else
        step_string_prefix(self, byte, out);
}

void terminal_queries_leave_out(terminal_queries_t *self, bytes_t text,
                                buffer_t *out)
{
    const unsigned char *at = text.bytes;

    for (size_t i = 0; i < text.size; i++)
        step(self, at[i], out);
}

void terminal_queries_clear(terminal_queries_t *self)
{
    buffer_reset(&self->sequence);
    self->is_long = false;
    self->state = TEXT;
}
