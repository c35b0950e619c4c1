/* The latest output of a terminal's program, as text that a new client gets:
 * without what would have that client's terminal answer. Plain data,
 * initialised to zero. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_RECENT_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_RECENT_H

#include "gateway/http/terminals/terminal_queries.h"

#define TERMINAL_RECENT_MAX (64u << 10) /* bytes */

typedef struct {
    buffer_t torn;              /* the beginning of a character */
    buffer_t text;              /* the latest output, whole characters */
    terminal_queries_t queries; /* what is left out of it */
} terminal_recent_t;

/* Adds output, and appends to `ret_whole` what is new in whole characters. */
void terminal_recent_add(terminal_recent_t *self, bytes_t bytes,
                         buffer_t *ret_whole);
/* Appends what a new client gets: the latest output, and the beginning of a
 * control sequence whose end it gets with all clients. */
void terminal_recent_write(const terminal_recent_t *self, buffer_t *out);
void terminal_recent_clear(terminal_recent_t *self);

#endif
