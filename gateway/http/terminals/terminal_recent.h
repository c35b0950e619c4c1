/* The latest output of a terminal's program, as text that a new client gets.
 * Plain data, initialised to zero. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_RECENT_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_RECENT_H

#include "base/buffer.h"

#define TERMINAL_RECENT_MAX (64u << 10) /* bytes */

typedef struct {
    buffer_t torn; /* the beginning of a character */
    buffer_t text; /* the latest output, whole characters */
} terminal_recent_t;

/* Adds output, and appends to `ret_whole` what is new in whole characters. */
void terminal_recent_add(terminal_recent_t *self, bytes_t bytes,
                         buffer_t *ret_whole);
void terminal_recent_clear(terminal_recent_t *self);

#endif
