/* A regular expression that is sought in lines, in a time that no pattern can
 * make long: states and lines multiplied. It has what agents write: . [] ()
 * (?:) | * + ? {m,n} ^ $ \d \w \s \b and their opposites, and (?i) at the
 * beginning. There are no captures and no back-references. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_LINE_PATTERN_H
#define HEARTH_NOTEBOOKS_MODELVIEW_LINE_PATTERN_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_PATTERN_STATES_MAX 1000
#define LINE_PATTERN_SIZE_MAX   1000 /* bytes of the expression */

typedef struct line_pattern line_pattern_t;

/* Returns NULL if the text is no such expression; *ret_flaw, lent, says why. */
line_pattern_t *line_pattern_new(const char *text, const char **ret_flaw);
void line_pattern_destroy(line_pattern_t **self_p);
#define cleanup_line_pattern CLEANUP(line_pattern_destroy)

/* Returns true if the expression is found anywhere in the line. */
bool line_pattern_finds(line_pattern_t *self, bytes_t line);
/* Returns how many steps all searches so far have taken. */
uint64_t line_pattern_steps(const line_pattern_t *self);

#endif
