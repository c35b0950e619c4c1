/* Text of HTML with its character references. */
#ifndef HEARTH_NOTEBOOKS_PAGE_PAGE_REFERENCE_H
#define HEARTH_NOTEBOOKS_PAGE_PAGE_REFERENCE_H

#include "base/buffer.h"

/* Appends text of an HTML document as text of the page. A reference by number
 * becomes its character, as page_text_character shows it. Common references by
 * name stay, and all others are shown as they were written. */
void page_reference_text(bytes_t text, buffer_t *out);

#endif
