/* Leaves out of a terminal's output what has the terminal answer: the answer
 * would be typed into the shell. A program that asks gets its answer from the
 * clients that are there. One that comes later gets the recent output, and must
 * not answer again.
 *
 * Left out are requests for reports (ENQ, and CSI as in ECMA-48 and xterm),
 * colours and the clipboard (OSC). So are all strings for the device: DCS, SOS,
 * PM and APC. Plain data, initialised to zero. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_QUERIES_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_QUERIES_H

#include "base/buffer.h"
#include "base/control_sequence.h"

#include <stdbool.h>

#define TERMINAL_SEQUENCE_MAX 4096 /* bytes; longer ones are left out */

typedef struct {
    control_sequence_t reader; /* of the text so far */
    bool is_long;      /* the sequence has more bytes than it may have */
    buffer_t sequence; /* owned; a control sequence that has not ended */
} terminal_queries_t;

/* Appends UTF-8 text to *out without the queries. A control sequence comes when
 * it has ended. */
void terminal_queries_leave_out(terminal_queries_t *self, bytes_t text,
                                buffer_t *out);
void terminal_queries_clear(terminal_queries_t *self);

#endif
