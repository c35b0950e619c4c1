/* Prints text for people. Text that comes from a kernel, or names that a kernel
 * chose, are hostile. On a terminal only colours (SGR) pass; every other
 * control sequence is removed, also when it comes in pieces. Characters that
 * reorder text are removed too. */
#ifndef HEARTH_GATEWAY_CLI_CORE_TERMINAL_H
#define HEARTH_GATEWAY_CLI_CORE_TERMINAL_H

#include "base/buffer.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct terminal terminal_t;

/* Writes to `file`, which stays the caller's. */
terminal_t *terminal_new(FILE *file);
void terminal_destroy(terminal_t **self_p);
#define cleanup_terminal CLEANUP(terminal_destroy)

bool terminal_is_tty(const terminal_t *self);
/* Prints untrusted text; unchanged if the output is not a terminal. */
void terminal_text(terminal_t *self, const char *text, size_t size);
/* Prints untrusted text with colours; without them on a file or with NO_COLOR.
 */
void terminal_colored(terminal_t *self, const char *text, size_t size);
/* Prints a newline, unless the output is at the start of a line. */
void terminal_fresh_line(terminal_t *self);
bool terminal_at_line_start(const terminal_t *self);
/* Notes that something else, for example an echoed newline, began a new line.
 */
void terminal_mark_line_start(terminal_t *self);
/* Resets colours, forgets a cut sequence, and writes everything out. */
void terminal_end(terminal_t *self);

/* Writes one line of text for a table: controls become '?', at most `width`
 * characters. Returns the cell's text. */
typedef struct {
    char text[512];
} terminal_cell_t;
const char *terminal_write_cell(terminal_cell_t *self, const char *text,
                                size_t width);
/* Writes the first line of a program's text that is not blank. */
const char *terminal_write_first_line(terminal_cell_t *self, const char *text,
                                      size_t width);
/* Writes a cell in storage that lasts as long as the block where it is written.
 */
#define terminal_cell(text, width)                                             \
    terminal_write_cell(&(terminal_cell_t){{0}}, (text), (width))
#define terminal_first_line(text, width)                                       \
    terminal_write_first_line(&(terminal_cell_t){{0}}, (text), (width))

#endif
