/* Digits of hexadecimal numbers. */
#ifndef HEARTH_BASE_HEX_H
#define HEARTH_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* By their values, as hearth writes them. */
#define HEX_DIGITS "0123456789abcdef"

/* Returns the value of a hexadecimal digit of either case, or -1. */
static inline int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* Returns the number of that many digits, at most seven, or -1. Reads nothing
 * after the first byte that is no digit, which may be a text's end. */
static inline int hex_number(const char *digits, size_t count)
{
    int number = 0;

    for (size_t i = 0; i < count; i++) {
        int value = hex_value(digits[i]);
        if (value < 0)
            return -1;
        number = number << 4 | value;
    }
    return number;
}

/* Returns the number of the four digits of a JSON text after \u, or -1. `end`
 * is the text's. */
static inline int hex_unit(const char *digits, const char *end)
{
    return end - digits >= 4 ? hex_number(digits, 4) : -1;
}

/* Returns true if the text is that many digits, all in lower case. */
static inline bool hex_is(const char *text_or_null, size_t count)
{
    return text_or_null && strlen(text_or_null) == count
           && strspn(text_or_null, HEX_DIGITS) == count;
}

#endif
