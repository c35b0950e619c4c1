/* The text of a page that has no plainer form: without tags, scripts and
 * styles, cells of a table apart. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_HTML_TEXT_H
#define HEARTH_NOTEBOOKS_MODELVIEW_HTML_TEXT_H

#include "base/buffer.h"

/* Appends the text of the page to *out. */
void html_text(bytes_t page, buffer_t *out);

#endif
