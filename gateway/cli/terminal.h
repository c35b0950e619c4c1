/* Text for people. What comes from a kernel or names something there is
 * hostile: on a terminal only colours (SGR) pass, every other control
 * sequence is taken out, also when it comes in pieces. So are the characters
 * that reorder text. */
#ifndef HEARTH_GATEWAY_CLI_TERMINAL_H
#define HEARTH_GATEWAY_CLI_TERMINAL_H

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
/* Untrusted text. Not on a terminal: as it came. */
void terminal_text(terminal_t *self, const char *text, size_t size);
/* Untrusted text with colours: on a file or with NO_COLOR without them. */
void terminal_colored(terminal_t *self, const char *text, size_t size);
/* A newline, unless the output stands at a line's start. */
void terminal_fresh_line(terminal_t *self);
bool terminal_at_line_start(const terminal_t *self);
/* Something else, an echoed newline, brought it there. */
void terminal_mark_line_start(terminal_t *self);
/* Colours off, a cut sequence forgotten, everything written out. */
void terminal_end(terminal_t *self);

/* Returns true if the three bytes are a character that changes the order in
 * which others are shown: U+202A to U+202E, U+2066 to U+2069. What is shown
 * would not be what is there. */
bool terminal_is_bidi(const unsigned char *bytes);

/* One line of text for a table: controls become '?', at most `width`
 * characters; the result is lent until the fourth call after this one. */
const char *terminal_cell(const char *text, size_t width);

#endif
