/* Text that an agent or its kernel wrote, as text of an HTML page: never
 * markup, and without characters that one cannot see (as
 * gateway/http/window/page/text.js shows it). */
#ifndef HEARTH_NOTEBOOKS_PAGE_PAGE_TEXT_H
#define HEARTH_NOTEBOOKS_PAGE_PAGE_TEXT_H

#include "base/buffer.h"

#include <stdint.h>

/* Appends a character. One that cannot be seen, or that changes the order of
 * others, becomes its code in brackets; a newline and a tab stay. */
void page_text_character(uint32_t code, buffer_t *out);
/* Appends a text; what is not UTF-8 in it becomes U+FFFD. */
void page_text(bytes_t text, buffer_t *out);
/* Appends a text as one line; of more than `max` bytes the rest is counted. */
void page_text_line(const char *text, size_t max, buffer_t *out);
/* Appends what a terminal would show of a text: colours and weights become
 * classes of the page's own, and what a carriage return took back is gone.
 * Backgrounds are left out, so that nothing is hidden in its ground. */
void page_text_coloured(bytes_t text, buffer_t *out);

#endif
