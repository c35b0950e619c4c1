/* The part of a file that a request asks for (RFC 9110, section 14): one
 * range. Several at once, and what is none, mean the whole. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_RANGE_H
#define HEARTH_GATEWAY_HTTP_CORE_RANGE_H

#include <stdint.h>

typedef enum {
    RANGE_WHOLE,
    RANGE_PART,
    RANGE_NONE, /* it begins behind the end */
} range_kind_t;

typedef struct {
    uint64_t from, size;
} range_t;

/* `text` is the header's value, or NULL. */
range_kind_t range_read(const char *text, uint64_t size, range_t *ret_range);

#endif
