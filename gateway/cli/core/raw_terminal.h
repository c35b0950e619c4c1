/* A person's terminal while it belongs to a program in a sandbox: keys go there
 * as they are pressed, and what the program shows comes here. */
#ifndef HEARTH_GATEWAY_CLI_CORE_RAW_TERMINAL_H
#define HEARTH_GATEWAY_CLI_CORE_RAW_TERMINAL_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/control_sequence.h"

#include <stdbool.h>

#define RAW_TERMINAL_LEAVE '\x1d' /* Ctrl-] */

typedef struct raw_terminal raw_terminal_t;

/* Takes over the terminal at descriptors 0 and 1. Returns NULL if they are
 * something else. */
raw_terminal_t *raw_terminal_new(void);
/* Gives it back as it was; keys and answers that were not read are dropped, so
 * that no other program takes them for commands. */
void raw_terminal_destroy(raw_terminal_t **self_p);
#define cleanup_raw_terminal CLEANUP(raw_terminal_destroy)

/* Reads the terminal's size; false if it reports no size. */
bool raw_terminal_size(unsigned *ret_rows, unsigned *ret_columns);
/* Appends the bytes that may be shown. A program in a sandbox must not send
 * strings for the terminal itself: titles, the clipboard, device control. These
 * are left out, and so are ESC % with its byte and an ESC or 0xC2 that begins
 * nothing. Remembers a sequence that is cut. */
void raw_terminal_filter(raw_terminal_t *self, bytes_t bytes, buffer_t *out);

/* The filter that decides that. Plain data, initialised to zero. */
typedef struct {
    control_sequence_t sequence; /* the reader, with the last sequence */
    bool is_held;                /* its first byte was not shown yet */
    bool leaves_utf8;            /* it is ESC % and a byte */
} raw_filter_t;

/* Does the same without a terminal. */
void raw_filter_show(raw_filter_t *self, bytes_t bytes, buffer_t *out);

#endif
