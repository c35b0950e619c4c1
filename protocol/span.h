/* A piece of checked JSON text. Separate from protocol/jspan.h so that files
 * which also use jansson can include it. */
#ifndef HEARTH_PROTOCOL_SPAN_H
#define HEARTH_PROTOCOL_SPAN_H

#include <stddef.h>

typedef enum {
    JSPAN_ABSENT, /* no such member */
    JSPAN_NULL,
    JSPAN_FALSE,
    JSPAN_TRUE,
    JSPAN_NUMBER,
    JSPAN_STRING,
    JSPAN_ARRAY,
    JSPAN_OBJECT,
} jspan_kind_t;

/* A piece of checked JSON text, borrowed from the owner of the text. */
typedef struct {
    const char *text; /* first byte, after white space */
    size_t size;      /* bytes, without white space at the end */
    jspan_kind_t kind;
} jspan_t;

#endif
