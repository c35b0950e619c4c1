/* The part of a file that a request asks for (RFC 9110, section 14): one range.
 * Several ranges, and an invalid one, mean the whole file. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_RANGE_H
#define HEARTH_GATEWAY_HTTP_CORE_RANGE_H

#include <stdint.h>

typedef enum {
    RANGE_WHOLE,
    RANGE_PART,
    RANGE_NONE, /* it begins after the end */
} range_kind_t;

typedef struct {
    uint64_t from, size;
} byte_range_t;

/* Reads a range; `text` is the header's value, or NULL. */
range_kind_t range_read(const char *text, uint64_t size,
                        byte_range_t *ret_range);

#endif
