/* See decimal.h. */
#include "gateway/http/core/decimal.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 18

bool decimal_take(const char **at, uint64_t *ret_number)
{
    size_t size = strspn(*at, "0123456789");

    if (!size || size > DIGITS_MAX)
        return false;
    *ret_number = strtoull(*at, NULL, 10);
    *at += size;
    return true;
}

bool decimal_read(const char *text_or_null, uint64_t *ret_number)
{
    const char *at = text_or_null;
    uint64_t number;

    if (!at || !decimal_take(&at, &number) || *at)
        return false;
    *ret_number = number;
    return true;
}
