/* See terminal_queries.h. */
#include "gateway/http/terminals/terminal_queries.h"

#include <string.h>

#define ENQUIRY 0x05

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
}

static void end(terminal_queries_t *self, bool is_query, buffer_t *out)
{
    if (!is_query && !self->is_long)
        buffer_append(out, self->sequence.data, self->sequence.size);
    buffer_clear(&self->sequence);
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

/* Returns true if the sequence that ends with `final` has the terminal answer,
 * or is a string for the device. */
static bool is_query(const terminal_queries_t *self, unsigned char final)
{
    if (self->reader.name == '[')
        return asks(self, final);
    if (self->reader.name == ']')
        return is_asking_command(self);
    return self->reader.name == 'Z' /* DECID */
           || control_sequence_is_string(&self->reader);
}

static void step(terminal_queries_t *self, unsigned char byte, buffer_t *out)
{
    control_sequence_step_t what = control_sequence_step(&self->reader, byte);

    if (what != CONTROL_SEQUENCE_BEGIN && self->reader.is_renewed)
        begin(self, self->reader.first);
    switch (what) {
    case CONTROL_SEQUENCE_NONE:
        buffer_clear(&self->sequence);
        if (byte != ENQUIRY)
            buffer_append(out, &byte, 1);
        break;
    case CONTROL_SEQUENCE_BEGIN:
        begin(self, byte);
        break;
    case CONTROL_SEQUENCE_PART:
        keep(self, byte);
        break;
    case CONTROL_SEQUENCE_END:
    case CONTROL_SEQUENCE_CANCEL:
        keep(self, byte);
        end(self, what == CONTROL_SEQUENCE_CANCEL || is_query(self, byte), out);
        break;
    }
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
    self->reader = (control_sequence_t){0};
}
