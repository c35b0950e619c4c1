/* A line of output as a terminal would show it in the end: control sequences
 * are taken out, and a carriage return, a backspace and the erasing of a line
 * are applied. Characters that no reader sees (direction marks, zero-width
 * spaces, tags) are taken out, because a model reads them all the same. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_PLAIN_LINE_H
#define HEARTH_NOTEBOOKS_MODELVIEW_PLAIN_LINE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a text line by line. */
typedef struct {
    const char *at;    /* borrowed; the next line */
    const char *end;   /* after the last byte */
    bytes_t line;      /* the line that was read last, lent until the next */
    bool is_copy;      /* `line` is in `out`, not in the text */
    buffer_t out;      /* owned; a line that was changed */
    uint32_t *columns; /* owned; of the line that is being changed, or NULL */
    size_t cursor;     /* where the next character goes */
    size_t width;      /* columns in use */
} plain_line_t;

void plain_line_init(plain_line_t *self, const char *text, size_t size);
void plain_line_clear(plain_line_t *self);
#define cleanup_plain_line CLEANUP(plain_line_clear)

/* Reads the next line into self->line; false at the end of the text. A newline
 * at the very end begins no further line. */
bool plain_line_next(plain_line_t *self);

#endif
