/* See range.h. */
#include "gateway/http/core/range.h"

#include "gateway/http/core/decimal.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define UNIT "bytes="

/* Reads "-N": the last N bytes. */
static range_kind_t read_suffix(const char *at, uint64_t size,
                                byte_range_t *ret_range)
{
    uint64_t count;

    if (!decimal_take(&at, &count) || *at)
        return RANGE_WHOLE;
    if (!count || !size)
        return RANGE_NONE;
    ret_range->size = count < size ? count : size;
    ret_range->from = size - ret_range->size;
    return RANGE_PART;
}

range_kind_t range_read(const char *text, uint64_t size,
                        byte_range_t *ret_range)
{
    uint64_t from, last = UINT64_MAX;
    const char *at;

    *ret_range = (byte_range_t){0, size};
    if (!text || strncasecmp(text, UNIT, strlen(UNIT)) != 0)
        return RANGE_WHOLE;
    at = text + strlen(UNIT);
    if (*at == '-')
        return read_suffix(at + 1, size, ret_range);
    if (!decimal_take(&at, &from) || *at++ != '-')
        return RANGE_WHOLE;
    if (*at && (!decimal_take(&at, &last) || *at || last < from))
        return RANGE_WHOLE;
    if (from >= size)
        return RANGE_NONE;
    ret_range->from = from;
    ret_range->size = (last < size - 1 ? last : size - 1) - from + 1;
    return RANGE_PART;
}
