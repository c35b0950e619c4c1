/* What is known of a piece of checked JSON text. Apart from protocol/json.h,
 * whose functions bear names that are macros of jansson's. */
#ifndef HEARTH_PROTOCOL_SPAN_H
#define HEARTH_PROTOCOL_SPAN_H

#include <stddef.h>

typedef enum {
    JSON_KIND_ABSENT, /* no such member */
    JSON_KIND_NULL,
    JSON_KIND_FALSE,
    JSON_KIND_TRUE,
    JSON_KIND_NUMBER,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
} json_kind_t;

/* A piece of checked JSON text; borrowed from whoever owns the text. */
typedef struct {
    const char *text; /* first byte, no white space before it */
    size_t size;      /* bytes, no white space behind */
    json_kind_t kind;
} json_span_t;

#endif
