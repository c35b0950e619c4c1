/* The style sheet of a saved page, converted to C when hearth is built
 * (build-aux/embed.sh). */
#ifndef HEARTH_NOTEBOOKS_PAGE_PAGE_STYLE_H
#define HEARTH_NOTEBOOKS_PAGE_PAGE_STYLE_H

#include <stddef.h>

extern const char page_style[];
extern const size_t page_style_size;

#endif
