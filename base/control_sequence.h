/* Reads the control sequences in a terminal's output (ECMA-48), one byte at a
 * time, and decides nothing about them. A sequence begins with ESC and a
 * character, or with a C1 control, which in UTF-8 is 0xC2 and a byte. Like a
 * terminal, the reader ends a sequence where another begins, and at CAN and
 * SUB. */
#ifndef HEARTH_BASE_CONTROL_SEQUENCE_H
#define HEARTH_BASE_CONTROL_SEQUENCE_H

#include <stdbool.h>

#define CONTROL_SEQUENCE_ESCAPE 0x1b
#define CONTROL_SEQUENCE_C1     0xc2

/* The meaning of a byte. */
typedef enum {
    CONTROL_SEQUENCE_NONE,   /* outside of sequences; an unfinished one has no
                                effect */
    CONTROL_SEQUENCE_BEGIN,  /* the first byte; an unfinished sequence before it
                                has no effect */
    CONTROL_SEQUENCE_PART,   /* a further byte */
    CONTROL_SEQUENCE_END,    /* the last byte */
    CONTROL_SEQUENCE_CANCEL, /* the last byte, by which the sequence has no
                                effect */
} control_sequence_step_t;

/* Plain data, initialised to zero. The members but `state` are those of the
 * sequence to which the last byte belongs. */
typedef struct {
    int state;              /* of the reader; 0 outside of sequences */
    unsigned char first;    /* ESC or 0xC2 */
    unsigned char name;     /* the character after ESC, also of a C1 control; 0:
                               it is not known, or intermediate bytes name it */
    bool has_intermediates; /* bytes between ESC and the last one */
    bool is_renewed;        /* it begins with the byte before the last one, by
                               which a string ended without effect */
} control_sequence_t;

control_sequence_step_t control_sequence_step(control_sequence_t *self,
                                              unsigned char byte);
/* Returns true for a string: DCS, SOS, OSC, PM, APC. It ends with ESC \, the
 * C1 control ST or, if it is OSC, with BEL. */
bool control_sequence_is_string(const control_sequence_t *self);

#endif
