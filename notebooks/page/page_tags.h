/* Which elements and attributes of a session's HTML are kept: those that
 * gateway/http/window/page/frame.js keeps, without styles, names and classes,
 * since what is kept is in the page itself. */
#ifndef HEARTH_NOTEBOOKS_PAGE_PAGE_TAGS_H
#define HEARTH_NOTEBOOKS_PAGE_PAGE_TAGS_H

#include "base/bytes.h"

#include <stdbool.h>

typedef enum {
    TAG_KEPT,    /* with what is in it */
    TAG_VOID,    /* kept; nothing can be in it */
    TAG_OPENED,  /* left out; what is in it stays */
    TAG_GONE,    /* left out with what is in it */
    TAG_RAW,     /* the same; what is in it is text up to its end tag */
    TAG_IGNORED, /* left out; nothing can be in it */
} tag_kind_t;

/* Returns what becomes of an element; its name may have any case. */
tag_kind_t tag_kind(bytes_t name);
/* Returns the name of a kept element as it is written; NULL for another. */
const char *tag_name(bytes_t name);
/* Returns true if the beginning of element `next` ends `open`, both kept. */
bool tag_ends(const char *next, const char *open);

typedef enum {
    ATTRIBUTE_NONE,   /* it is left out */
    ATTRIBUTE_TEXT,   /* any text */
    ATTRIBUTE_FLAG,   /* without a value */
    ATTRIBUTE_NUMBER, /* up to five digits, and % */
    ATTRIBUTE_WORD,   /* up to 20 letters and hyphens */
} attribute_kind_t;

attribute_kind_t attribute_kind(bytes_t name);
/* Returns the name as it is written, of one that is kept. */
const char *attribute_name(bytes_t name);

#endif
