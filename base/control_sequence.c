/* See control_sequence.h. */
#include "base/control_sequence.h"

#include <string.h>

#define BELL       0x07
#define CANCEL     0x18
#define SUBSTITUTE 0x1a
#define DELETE     0x7f
#define C1_END     0x9c /* ST */

enum {
    TEXT,
    AFTER_ESCAPE,
    AFTER_C1,
    IN_CONTROL, /* CSI */
    IN_STRING,
    IN_STRING_ESCAPE, /* after ESC in a string */
    IN_STRING_C1,
};

static control_sequence_step_t begin(control_sequence_t *self,
                                     unsigned char byte)
{
    self->first = byte;
    self->name = 0;
    self->has_intermediates = false;
    self->state = byte == CONTROL_SEQUENCE_ESCAPE ? AFTER_ESCAPE : AFTER_C1;
    return CONTROL_SEQUENCE_BEGIN;
}

static control_sequence_step_t end(control_sequence_t *self,
                                   control_sequence_step_t what)
{
    self->state = TEXT;
    return what;
}

static bool cancels(unsigned char byte)
{
    return byte == CANCEL || byte == SUBSTITUTE;
}

bool control_sequence_is_string(const control_sequence_t *self)
{
    return self->name && strchr("PX]^_", self->name);
}

/* Takes the byte that names a sequence: after ESC, or in a C1 control. */
static control_sequence_step_t name_it(control_sequence_t *self,
                                       unsigned char name)
{
    self->name = name;
    if (name != '[' && !control_sequence_is_string(self))
        return end(self, CONTROL_SEQUENCE_END);
    self->state = name == '[' ? IN_CONTROL : IN_STRING;
    return CONTROL_SEQUENCE_PART;
}

/* Takes a byte after ESC. A terminal executes a control in the middle of a
 * sequence and reads on. */
static control_sequence_step_t step_escape(control_sequence_t *self,
                                           unsigned char byte)
{
    if (byte >= 0x80) /* it begins a character */
        return end(self, CONTROL_SEQUENCE_NONE);
    if (cancels(byte))
        return end(self, CONTROL_SEQUENCE_CANCEL);
    if (byte < ' ' || byte == DELETE)
        return CONTROL_SEQUENCE_PART;
    if (byte < '0') {
        self->has_intermediates = true;
        return CONTROL_SEQUENCE_PART;
    }
    return self->has_intermediates ? end(self, CONTROL_SEQUENCE_END)
                                   : name_it(self, byte);
}

/* Takes the byte after 0xC2: a control, or the rest of a character. */
static control_sequence_step_t step_c1(control_sequence_t *self,
                                       unsigned char byte)
{
    if (byte < 0x80 || byte >= 0xc0) /* 0xC2 was no UTF-8 then */
        return end(self, CONTROL_SEQUENCE_NONE);
    return byte < 0xa0 ? name_it(self, byte - 0x40)
                       : end(self, CONTROL_SEQUENCE_END);
}

static control_sequence_step_t step_control(control_sequence_t *self,
                                            unsigned char byte)
{
    if (byte >= 0x80) /* it begins a character */
        return end(self, CONTROL_SEQUENCE_NONE);
    if (cancels(byte))
        return end(self, CONTROL_SEQUENCE_CANCEL);
    return byte >= '@' && byte != DELETE ? end(self, CONTROL_SEQUENCE_END)
                                         : CONTROL_SEQUENCE_PART;
}

static control_sequence_step_t step_string(control_sequence_t *self,
                                           unsigned char byte)
{
    if (cancels(byte))
        return end(self, CONTROL_SEQUENCE_CANCEL);
    if (byte == BELL && self->name == ']')
        return end(self, CONTROL_SEQUENCE_END);
    if (byte == CONTROL_SEQUENCE_ESCAPE)
        self->state = IN_STRING_ESCAPE;
    else if (byte == CONTROL_SEQUENCE_C1)
        self->state = IN_STRING_C1;
    return CONTROL_SEQUENCE_PART;
}

static control_sequence_step_t step(control_sequence_t *self,
                                    unsigned char byte);

/* Takes the second byte of a sequence that has ended a string. */
static control_sequence_step_t renew(control_sequence_t *self,
                                     unsigned char first, unsigned char byte)
{
    (void) begin(self, first);
    self->is_renewed = true;
    return step(self, byte);
}

/* Takes the byte after ESC in a string: its end, or another sequence. */
static control_sequence_step_t step_string_escape(control_sequence_t *self,
                                                  unsigned char byte)
{
    return byte == '\\' ? end(self, CONTROL_SEQUENCE_END)
                        : renew(self, CONTROL_SEQUENCE_ESCAPE, byte);
}

/* Takes the byte after 0xC2 in a string: its end, another sequence, or the rest
 * of a character. */
static control_sequence_step_t step_string_c1(control_sequence_t *self,
                                              unsigned char byte)
{
    if (byte == C1_END)
        return end(self, CONTROL_SEQUENCE_END);
    if (byte < 0xa0)
        return renew(self, CONTROL_SEQUENCE_C1, byte);
    if (byte != CONTROL_SEQUENCE_C1) /* the former was no character then */
        self->state = IN_STRING;
    return CONTROL_SEQUENCE_PART;
}

static control_sequence_step_t step(control_sequence_t *self,
                                    unsigned char byte)
{
    static control_sequence_step_t (*const steps[])(control_sequence_t * self,
                                                    unsigned char byte) = {
        [AFTER_ESCAPE] = step_escape,
        [AFTER_C1] = step_c1,
        [IN_CONTROL] = step_control,
        [IN_STRING] = step_string,
        [IN_STRING_ESCAPE] = step_string_escape,
        [IN_STRING_C1] = step_string_c1,
    };
    bool is_first =
        byte == CONTROL_SEQUENCE_ESCAPE || byte == CONTROL_SEQUENCE_C1;

    if (is_first && self->state < IN_STRING)
        return begin(self, byte);
    return self->state == TEXT ? CONTROL_SEQUENCE_NONE
                               : steps[self->state](self, byte);
}

control_sequence_step_t control_sequence_step(control_sequence_t *self,
                                              unsigned char byte)
{
    self->is_renewed = false;
    return step(self, byte);
}
