/* HTML that a session wrote, as harmless HTML: built anew of listed elements
 * and attributes, in which no script runs and which asks no server for
 * anything. */
#ifndef HEARTH_NOTEBOOKS_PAGE_PAGE_CLEAN_H
#define HEARTH_NOTEBOOKS_PAGE_PAGE_CLEAN_H

#include "base/buffer.h"

typedef enum {
    PAGE_CLEAN_WHOLE,
    PAGE_CLEAN_CUT,   /* it has too many elements; its end is missing */
    PAGE_CLEAN_EMPTY, /* nothing that could be seen is left */
} page_clean_t;

/* Appends what is left of it. Every element that is opened is closed. What
 * comes out ends no element around it, as long as none of those is of a kind
 * that is kept (page_tags.h). */
page_clean_t page_clean(bytes_t html, buffer_t *out);

#endif
