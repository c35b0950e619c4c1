/* Digits of hexadecimal numbers. */
#ifndef HEARTH_BASE_HEX_H
#define HEARTH_BASE_HEX_H

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

#endif
